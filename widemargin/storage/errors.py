"""The errors of files and models; their messages are sentences for the user."""


class FileError(ValueError):
    """Raised if a file cannot be read or written, or has the wrong content."""


class ModelError(TypeError):
    """Raised if a model is of a kind that a function or a format does not have."""
