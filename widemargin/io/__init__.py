"""Files: reading data, saving and loading models, and models of other libraries."""

from widemargin.io.arrays import read_arrays
from widemargin.io.libsvm_model import read_libsvm_model, write_libsvm_model
from widemargin.io.libsvm_text import read_libsvm, write_libsvm
from widemargin.io.model_file import load, save
from widemargin.io.onnx_converter import register_with_skl2onnx
from widemargin.io.onnx_export import to_onnx
from widemargin.io.preparation import Preparation
from widemargin.io.sequences import read_fasta, read_strings
from widemargin.io.sklearn_models import from_sklearn, to_sklearn
from widemargin.io.tables import Table, read_table
from widemargin.storage.errors import FileError

__all__ = [
    "FileError", "Preparation", "Table", "from_sklearn", "load", "read_arrays", "read_fasta", "read_libsvm",
    "read_libsvm_model", "read_strings", "read_table", "register_with_skl2onnx", "save", "to_onnx", "to_sklearn",
    "write_libsvm", "write_libsvm_model",
]  # fmt: skip
