"""What was trained, on what, what became of it, and how to do it again."""

from __future__ import annotations

import hashlib
import platform
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import widemargin
from widemargin.report.charts import Series, axis, chart
from widemargin.report.html import Html, Section, facts, number, percent, section, table, tag

PARAMETER_WORDS = {
    "C": "weight of the errors against the width of the margin",
    "kernel": "what similar means",
    "gamma": "how quickly similarity fades",
    "degree": "degree of the polynomial",
    "coef0": "constant of the kernel",
    "nu": "share of samples that may lie on the wrong side",
    "epsilon": "errors up to this size cost nothing",
    "tol": "accuracy asked for",
    "class_weight": "factor on C of each class",
    "loss": "how errors count",
    "multi_class": "how many classes become two",
}
CROWDED = 0.8  # share of the samples above which so many support vectors are worth a remark
SPREAD = 1e-9  # relative: coefficients this close to the largest are at their bound


def trained_section(model: Any, X: Any, y: Any, training: bool | None) -> Section:
    """The part of the page on the model and the data."""
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    rows: list[tuple[str, Any]] = [("Machine", type(model).__name__)]
    kernel = getattr(getattr(model, "_expansion", None), "kernel", None)
    if kernel is not None:
        rows.append(("Kernel", tag("code", repr(kernel))))
    n_training = training_size(model)
    if n_training is not None:
        rows.append(("Samples in training", number(n_training)))
    if hasattr(model, "n_features_in_"):
        rows.append(("Features", number(int(model.n_features_in_))))
    if hasattr(model, "classes_"):
        listed = ", ".join(map(str, model.classes_[:12])) + (", ..." if len(model.classes_) > 12 else "")
        rows.append(("Classes", f"{len(model.classes_)}: {listed}"))
    kind = "sparse" if sp.issparse(X) else "dense" if isinstance(X, np.ndarray) else type(X).__name__
    rows.append(("Samples in this report", f"{n_samples:,} ({kind}), {_which(training)}"))
    if y is not None and hasattr(model, "classes_"):
        labels, counts = np.unique(y, return_counts=True)
        shares = [f"{label}: {count:,} ({percent(count / n_samples)})" for label, count in zip(labels, counts)]
        rows.append(("Classes among them", "; ".join(shares[:12]) + (" ..." if len(shares) > 12 else "")))
    preparation = getattr(model, "preparation_", None)
    if preparation:
        words = [f"{key}: {value}" for key, value in preparation.items() if isinstance(value, str | int | float)]
        rows.append(("Preparation of the data", ", ".join(words) or "kept in the model"))
    given = _changed(model)
    settings = [(name, _value(value), PARAMETER_WORDS.get(name, "")) for name, value in given]
    return section(
        "trained",
        "What was trained",
        facts(rows, "Model and data"),
        table(
            ("Parameter", "Value", "Meaning"), settings, "Parameters that differ from the defaults, and the main ones"
        ),
    )


def training_size(model: Any) -> int | None:
    """Number of training samples; None if it is not known, as of models from LIBSVM's files, which hold no others than
    support vectors.
    """
    if not hasattr(model, "shape_fit_"):
        return None
    size = int(model.shape_fit_[0])
    return None if size == len(getattr(model, "support_", ())) and not hasattr(model, "certificate_") else size


def _which(training: bool | None) -> str:
    """What these samples are to the model."""
    if training is None:
        return "of which it is not known whether the model was trained on them"
    return "the training data" if training else "other data than those of training"


def _changed(model: Any) -> list[tuple[str, Any]]:
    """Parameters that were chosen, and those that are usually asked for."""
    defaults = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    main = ("C", "nu", "epsilon", "kernel", "gamma", "tol")
    return [
        (name, value)
        for name, value in sorted(given.items(), key=lambda item: (item[0] not in main, item[0]))
        if name in main or _value(value) != _value(defaults.get(name))
    ]


def _value(value: Any) -> str:
    return number(value) if isinstance(value, float) and np.isfinite(value) else str(value)


# ---- support vectors -------------------------------------------------------------------------------------------------


def support_section(model: Any) -> Section | None:
    """The part of the page on the support vectors; None for models without any."""
    expansion = getattr(model, "_expansion", None)
    if expansion is None or not hasattr(model, "n_support_"):
        return None
    coefficients = np.abs(expansion.coefficients)
    count, n_samples = coefficients.shape[1], training_size(model)
    share = "" if n_samples is None else f" of {n_samples:,} samples ({percent(count / n_samples)})"
    rows: list[tuple[str, Any]] = [("Support vectors", f"{count:,}{share}")]
    if hasattr(model, "classes_"):
        per_class = [f"{label}: {int(own):,}" for label, own in zip(model.classes_, model.n_support_)]
        rows.append(("Per class", "; ".join(per_class[:12]) + (" ..." if len(per_class) > 12 else "")))
    certificate = getattr(model, "certificate_", None)
    if certificate is not None and certificate.n_support:
        bound = certificate.n_support - certificate.n_free
        many = " (counted in each two-class machine)" if certificate.parts else ""
        rows.append(("On the margin (free)", f"{certificate.n_free:,}{many}"))
        rows.append(("Within the margin or wrong (at the bound)", f"{bound:,}{many}"))
    vectors = expansion.vectors
    if hasattr(vectors, "nbytes") or sp.issparse(vectors):
        size = vectors.data.nbytes + vectors.indices.nbytes if sp.issparse(vectors) else vectors.nbytes
        rows.append(("Memory of the support vectors", f"{number(size / 1e6, 3)} MB"))
    told = (
        "The model is made of these samples; all others could be left out and training would give the same model. "
        "Prediction takes time in proportion to their number."
    )
    if n_samples is not None and count > CROWDED * n_samples:
        told += " Here nearly all samples are needed: gamma may be too large, C too small, or the classes overlap."
    parts = [tag("p", told), facts(rows, "Support vectors")]
    sizes = coefficients[coefficients > 0]
    if len(sizes) > 4 and sizes.max() > sizes.min():
        parts.append(tag("div", _sizes(sizes), class_="figures"))
    return section("support", "Support vectors", *parts)


def _sizes(sizes: NDArray[np.float64]) -> Html:
    """Histogram of the sizes of the coefficients."""
    counts, edges = np.histogram(sizes, bins=25)
    at_most = int(np.sum(sizes >= sizes.max() * (1 - SPREAD)))
    text = f"Number of coefficients by size; {at_most:,} of {len(sizes):,} have the largest, {number(sizes.max())}"
    bars = Series((edges[:-1] + edges[1:]) / 2, counts, "", "bars", width=float(edges[1] - edges[0]))
    return chart(
        "Sizes of the coefficients",
        text,
        axis("size of the coefficient", edges, zero=True),
        axis("coefficients", counts, zero=True),
        [bars],
    )


# ---- how to do it again ----------------------------------------------------------------------------------------------


def reproduce_section(model: Any, X: Any, y: Any) -> Section:
    """The part of the page on versions, data and code."""
    import numba
    import sklearn

    module = type(model).__module__.split(".")[0]
    given = [f"{name}={value!r}" for name, value in sorted(_non_default(model).items())]
    fit = "fit(X)" if y is None else "fit(X, y)"
    code = f"from {module} import {type(model).__name__}\n\nmodel = {type(model).__name__}({', '.join(given)}).{fit}"
    rows = [
        ("widemargin", widemargin.__version__),
        ("scikit-learn", sklearn.__version__),
        ("NumPy", np.__version__),
        ("Numba", numba.__version__),
        ("Python", platform.python_version()),
        ("Computer", f"{platform.system()} {platform.machine()}"),
        ("Fingerprint of X", tag("code", fingerprint(X))),
    ]
    if y is not None:
        rows.append(("Fingerprint of y", tag("code", fingerprint(np.asarray(y)))))
    return section(
        "reproduce",
        "How to reproduce this",
        tag("pre", tag("code", code)),
        facts(rows, "Versions and data of this report; fingerprints are SHA-256 of the values"),
    )


def _non_default(model: Any) -> dict[str, Any]:
    defaults = type(model)().get_params(deep=False)
    return {
        name: value for name, value in model.get_params(deep=False).items() if repr(value) != repr(defaults.get(name))
    }


def fingerprint(data: Any) -> str:
    """The first 16 digits of a SHA-256 of the values of an array or a sparse matrix."""
    digest = hashlib.sha256()
    if sp.issparse(data):
        matrix = data.tocsr()
        for part in (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)):
            digest.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(data, np.ndarray) and not data.dtype.hasobject:
        digest.update(np.ascontiguousarray(data).tobytes())
    else:
        digest.update("\n".join(map(str, data)).encode())
    return digest.hexdigest()[:16]
