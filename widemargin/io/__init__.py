"""Files: LIBSVM text in, models out and in again, and models of other libraries."""

from widemargin.io.errors import FileError
from widemargin.io.libsvm_model import read_libsvm_model, write_libsvm_model
from widemargin.io.libsvm_text import read_libsvm
from widemargin.io.model_file import load, save
from widemargin.io.onnx_export import to_onnx
from widemargin.io.sklearn_models import from_sklearn, to_sklearn

__all__ = [
    "FileError",
    "from_sklearn",
    "load",
    "read_libsvm",
    "read_libsvm_model",
    "save",
    "to_onnx",
    "to_sklearn",
    "write_libsvm_model",
]
