"""Files: reading data, saving and loading models, and models of other libraries. Each is imported when first used."""

from typing import TYPE_CHECKING

from widemargin import _lazy
from widemargin.storage.errors import FileError

if TYPE_CHECKING:
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

__all__ = [
    "FileError", "Preparation", "Table", "from_sklearn", "load", "read_arrays", "read_fasta", "read_libsvm",
    "read_libsvm_model", "read_strings", "read_table", "register_with_skl2onnx", "save", "to_onnx", "to_sklearn",
    "write_libsvm", "write_libsvm_model",
]  # fmt: skip

_HOMES = {
    "Preparation": "preparation",
    "Table": "tables",
    "from_sklearn": "sklearn_models",
    "load": "model_file",
    "read_arrays": "arrays",
    "read_fasta": "sequences",
    "read_libsvm": "libsvm_text",
    "read_libsvm_model": "libsvm_model",
    "read_strings": "sequences",
    "read_table": "tables",
    "register_with_skl2onnx": "onnx_converter",
    "save": "model_file",
    "to_onnx": "onnx_export",
    "to_sklearn": "sklearn_models",
    "write_libsvm": "libsvm_text",
    "write_libsvm_model": "libsvm_model",
}

__getattr__ = _lazy.names_of(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
