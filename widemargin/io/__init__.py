"""Files: LIBSVM text in, models out and in again."""

from widemargin.io.errors import FileError
from widemargin.io.libsvm_text import read_libsvm

__all__ = ["FileError", "read_libsvm"]
