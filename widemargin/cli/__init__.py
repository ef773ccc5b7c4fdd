"""The command line, `widemargin COMMAND`: one module per command, imported when its command is used."""
