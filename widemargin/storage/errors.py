"""The one error of files: its message is a sentence for the person who gave the file."""


class FileError(ValueError):
    """A file cannot be read or written, or does not hold what it should."""
