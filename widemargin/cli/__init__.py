"""The command line: `widemargin train`, `widemargin predict`, `widemargin verify`."""
