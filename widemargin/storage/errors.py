"""The error class of files; its message is a sentence for the user."""


class FileError(ValueError):
    """Raised if a file cannot be read or written, or has the wrong content."""
