"""Damaged files of every format, read and used: `python -m tests.fuzz.file_attack FOLDER FIRST COUNT` is one process.

Prints a line of JSON before and after each file, so that who started it knows which file ended the process. Reading may
raise FileError; using what was read may raise ValueError. Anything else is a finding.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tests.fuzz import file_mutations as mutations
from tests.fuzz.batches import begin
from widemargin import LSSVC, RVC, SVC, SVR, KernelLMS, KernelPerceptron, KernelRidge, LinearSVC, OneClassSVM, io
from widemargin.io.transformers import takes_texts
from widemargin.kernels import Linear, Spectrum
from widemargin.storage.errors import FileError

OWN_MEMORY = Path("/proc/self/status")  # on Linux
FORGET_PEAK = Path("/proc/self/clear_refs")  # where 5 sets the peak to what is in use
LONGEST = 60.0  # seconds of CPU time for one file, loading of compiled functions included
MOST_MEMORY = 3 << 30  # bytes of address space beyond those of the idle process
MOST_FEATURES = 1000  # of a model that is asked to predict
TABLE = b"age,town,weight\n31,Oslo,1.5\n47,Rome,2.5\n,Oslo,-1e3\n12,Bonn,0\n"
FASTA = b">a label=+1\nACGT\nAC\n>b label=-1\nTTT\n>c label=+1\nGATTACA\n"


class Format(NamedTuple):
    """How a kind of file is damaged and used; `ending` of its originals."""

    ending: str
    damage: Callable[[Path, Path, Any], None]
    read: Callable[[Path], Any]
    use: Callable[[Any], Any]


def use_model(model: Any) -> None:
    """Predict with a loaded model, in every way that it has."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if getattr(getattr(last, "kernel", None), "accepts_objects", False):
        samples: Any = ["ACGT", ""]
    elif 0 < getattr(model, "n_features_in_", 0) <= MOST_FEATURES:
        samples = np.vstack([np.zeros(model.n_features_in_), np.linspace(-1.0, 2.0, model.n_features_in_)])
    else:
        return
    if hasattr(model, "steps") and takes_texts(model[:-1]):
        samples = samples.astype(object)
    for method in ("predict", "decision_function", "predict_proba", "score_samples"):
        if hasattr(model, method):
            getattr(model, method)(samples)
    str(getattr(last, "certificate_", ""))


def use_table(table: io.Table) -> None:
    prepared = io.Preparation.fit(table, None, impute=True)
    prepared.matrix(table)


def use_rows(data: tuple[Any, Any]) -> None:
    Linear()(data[0][:5])


def use_strings(data: tuple[list[str], Any]) -> None:
    Spectrum(2)(data[0][:5])


text, anything = mutations.on_bytes(mutations.damage_text), mutations.on_bytes(mutations.damage_bytes)
FORMATS = {
    "model": Format(".model", mutations.damage_model, io.load, use_model),
    "LIBSVM model": Format(".libsvm-model", text, io.read_libsvm_model, use_model),
    "LIBSVM text": Format(".libsvm", text, io.read_libsvm, use_rows),
    "compressed": Format(".packed", mutations.on_bytes(mutations.damage_packed), io.read_libsvm, use_rows),
    "CSV": Format(".csv", text, io.read_table, use_table),
    "npz": Format(".npz", mutations.damage_npz, io.read_arrays, use_rows),
    "npy": Format(".npy", anything, io.read_arrays, use_rows),
    "FASTA": Format(".fasta", text, io.read_fasta, use_strings),
    "Arrow": Format(".arrow", anything, io.read_table, use_table),
    "Parquet": Format(".parquet", anything, io.read_table, use_table),
}


def write_originals(folder: Path) -> None:
    """Small files of every format."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 3)), np.arange(24) % 3
    two = (y > 0).astype(int)
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", OneHotEncoder(handle_unknown="ignore"), [2])])
    strings = ["ACGTAC", "TTT", "GATTACA", "CCG"]
    models = {
        "svc": SVC(probability=True).fit(X, y),
        "sparse": SVC(kernel="linear").fit(sp.csr_matrix(X), np.array(["low", "mid", "high"])[y]),
        "matrix": SVC(kernel="precomputed").fit(X @ X.T, two),
        "strings": SVC(kernel=Spectrum(2)).fit(strings, [0, 1, 0, 1]),
        "linear": LinearSVC().fit(X, y),
        "svr": SVR().fit(X, y),
        "ridge": KernelRidge(kernel="rbf").fit(X, y),
        "ls": LSSVC().fit(X, y),
        "one": OneClassSVM().fit(X),
        "lms": KernelLMS().fit(X, y),
        "perceptron": KernelPerceptron(variant="voted").fit(X, y),
        "relevance": RVC().fit(X, two),
        "pipeline": make_pipeline(columns, PCA(2), SVC()).fit(np.column_stack([X[:, :2], y]), two),
    }
    for name, model in models.items():
        io.save(model, folder / f"{name}.model")
    for name in ("svc", "svr", "one"):
        io.write_libsvm_model(models[name], folder / f"{name}.libsvm-model")
    lines = b"+1 1:0.5 3:-2 # a comment\n-1 2:1e-3 qid:4 7:3\n\n2.5\n-1 1:1 2:2 3:3\n"
    (folder / "rows.libsvm").write_bytes(lines)
    for ending, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        (folder / f"{ending}.packed").write_bytes(pack(lines * 20))
    (folder / "table.csv").write_bytes(TABLE)
    (folder / "strings.fasta").write_bytes(FASTA)
    np.save(folder / "rows.npy", X)
    np.savez(folder / "rows.npz", X=X, y=y)
    sparse = sp.csr_matrix(np.where(X > 0, X, 0.0))
    parts = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr, "shape": np.array(sparse.shape)}
    np.savez(folder / "sparse.npz", **parts)
    import pyarrow
    from pyarrow import feather, parquet

    table = pyarrow.table({"a": X[:, 0], "b": ["x", "y", None] * 8, "c": y, "d": (["p", "q"] * 12)})
    feather.write_feather(table, str(folder / "plain.arrow"), compression="uncompressed")
    feather.write_feather(table, str(folder / "packed.arrow"), compression="zstd")
    parquet.write_table(table, str(folder / "table.parquet"))


def attack(seed: int, folder: Path, target: Path) -> tuple[str, str]:
    """Damage, read and use one file; returns its format and what came of it: "read", "refused" or a finding."""
    rng = np.random.default_rng(seed)
    names = list(FORMATS)
    name = "model" if rng.random() < 0.5 else mutations.pick(rng, names)
    form = FORMATS[name]
    original = mutations.pick(rng, sorted(folder.glob(f"*{form.ending}")))
    path = target.with_name(f"damaged{form.ending}")
    form.damage(original, path, rng)
    try:
        found = form.read(path)
    except FileError:
        return name, "refused"
    except Exception:
        return name, f"{original.name}: reading: {traceback.format_exc(limit=-3)}"
    try:
        form.use(found)
    except ValueError:  # FileError, too
        return name, "refused in use"
    except Exception:
        return name, f"{original.name}: using: {traceback.format_exc(limit=-3)}"
    return name, "read"


def memory_of(line: str) -> int:
    """Bytes of a line of OWN_MEMORY, 0 where there is none; unlike ru_maxrss, VmHWM does not count the parent's."""
    if not OWN_MEMORY.exists():
        return 0
    return int(OWN_MEMORY.read_text().partition(f"{line}:")[2].split()[0]) << 10


def forget_peak() -> int:
    """Measure the peak from here on; returns the bytes that are in use."""
    if FORGET_PEAK.exists():
        FORGET_PEAK.write_text("5")
    return memory_of("VmRSS")


def limit_memory() -> None:
    """Limit the address space, where the system tells how much of it the idle process has."""
    own = memory_of("VmSize")
    if own:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (own + MOST_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main() -> None:
    folder, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    limit_memory()
    target = folder / f"process-{first}"
    target.mkdir(exist_ok=True)
    for seed in range(first, first + count):
        begin(seed, LONGEST)
        start, idle = time.perf_counter(), forget_peak()
        name, outcome = attack(seed, folder, target / "x")
        memory = memory_of("VmHWM") - idle >> 20
        seconds = time.perf_counter() - start
        print(
            json.dumps({"seed": seed, "name": name, "outcome": outcome, "seconds": seconds, "MB": memory}), flush=True
        )


if __name__ == "__main__":
    main()
