"""Who searches: one line each, with the same `tol`, threads and folds.

widemargin     our GridSearchCV with our estimators, threads of the estimator
scikit-learn   its GridSearchCV with its estimators, one process per thread (`n_jobs`)
intelex        scikit-learn's GridSearchCV with scikit-learn-intelex's estimators, which use the threads themselves
loop           scikit-learn's GridSearchCV with our estimators, which use the threads themselves: nothing is shared

scikit-learn and scikit-learn-intelex get 2000 MB of kernel cache (per process); ours sizes its own unless said.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, StratifiedKFold

from benchmarks.peers.libraries import SKLEARN_NAMES
from benchmarks.peers.problems import PEER_CACHE_MB
from benchmarks.tuning.search import Search

OURS, SKLEARN, INTELEX, LOOP = "widemargin", "scikit-learn", "intelex", "loop"
MODULES = {OURS: "widemargin", SKLEARN: "sklearn.svm", INTELEX: "sklearnex.svm", LOOP: "widemargin"}
TITLES = {
    OURS: "widemargin.model_selection.GridSearchCV",
    SKLEARN: "GridSearchCV(sklearn, n_jobs)",
    INTELEX: "GridSearchCV(sklearnex)",
    LOOP: "sklearn's GridSearchCV(widemargin)",
}
NO_SEARCH = "widemargin.model_selection.GridSearchCV is missing: scikit-learn's ran in its place"


def installed(searcher: str) -> bool:
    return importlib.util.find_spec(MODULES[searcher].partition(".")[0]) is not None


def build(searcher: str, search: Search, fold: Any, threads: int, cache_size: float | None) -> tuple[Any, str]:
    """The search ready to be fitted, and a note where it is not what it should be."""
    options: dict[str, Any] = dict(search.fixed)
    if MODULES[searcher] == "widemargin":
        options |= {"cache_size": cache_size, "n_jobs": threads}
    else:
        options["cache_size"] = PEER_CACHE_MB
    estimator = estimator_of(searcher, search.machine)(**options)
    kind, note = our_search() if searcher == OURS else (GridSearchCV, "")
    n_jobs = threads if searcher == SKLEARN else None
    return kind(estimator, search.grid, cv=splits(search, fold), n_jobs=n_jobs), note


def estimator_of(searcher: str, machine: str) -> type[BaseEstimator]:
    return getattr(importlib.import_module(MODULES[searcher]), SKLEARN_NAMES[machine])


def our_search() -> tuple[Any, str]:
    """Our GridSearchCV, or scikit-learn's with a note where there is none."""
    try:
        from widemargin.model_selection import GridSearchCV as ours  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return GridSearchCV, NO_SEARCH
    return ours, ""


def splits(search: Search, fold: Any) -> Any:
    """Folds of consecutive rows, stratified for classes; or those given, one number per row."""
    if search.folds == 0:
        return PredefinedSplit(fold)
    return StratifiedKFold(search.folds) if search.machine == "svc" else KFold(search.folds)


def certified(fitted: Any) -> dict[str, int] | None:
    """Fits of the search (cells times folds), and how many of them have a certificate that holds; None without any."""
    found = [proof for cell in getattr(fitted, "certificates_", []) for proof in cell]
    return (
        {"fits": len(found), "hold": sum(proof is not None and bool(proof.holds) for proof in found)} if found else None
    )
