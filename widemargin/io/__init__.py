"""Files: LIBSVM text in, models out and in again."""

from widemargin.io.errors import FileError
from widemargin.io.libsvm_text import read_libsvm
from widemargin.io.model_file import load, save

__all__ = ["FileError", "load", "read_libsvm", "save"]
