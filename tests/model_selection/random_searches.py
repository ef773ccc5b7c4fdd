"""Random searches over parameters, each determined by its seed, for comparisons with scikit-learn's classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.decomposition import PCA
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from widemargin import SVC, SVR, NuSVC

TOL = 1e-6


@dataclass
class RandomSearch:
    """A search to be made by any class: `options` are those of GridSearchCV, `fit_params` those of `fit`."""

    estimator: Any
    grid: Any
    X: Any
    y: Any
    options: dict[str, Any]
    fit_params: dict[str, Any] = field(default_factory=dict)
    routing: bool = False


def draw(seed: int) -> RandomSearch:
    """The search of a seed."""
    rng = np.random.default_rng(seed)
    regression = rng.random() < 0.25
    n, p = int(rng.integers(40, 121)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, p))
    y = targets(X, rng) if regression else labels(X, rng)
    machine = rng.choice(["SVC", "SVC", "SVC", "NuSVC"]) if not regression else "SVR"
    in_pipeline = rng.random() < 0.4
    estimator, grid, container = candidates(machine, in_pipeline, rng)
    options: dict[str, Any] = {"return_train_score": bool(rng.random() < 0.4)}
    options["cv"], groups = splits(n, regression, y, rng)
    options["scoring"] = scoring(regression, estimator, rng)
    options["refit"] = refit(options["scoring"], rng)
    options["error_score"] = [np.nan, np.nan, -7.0, "raise"][rng.integers(4)]
    case = RandomSearch(estimator, grid, inside(container, X), y, options)
    if groups is not None:
        case.fit_params["groups"] = groups
    elif rng.random() < 0.3:
        weigh(case, in_pipeline, rng)
    return case


def labels(X: np.ndarray, rng: np.random.Generator) -> Any:
    """Two or three noisy classes: numbers, strings, truth values, a series; sorted, so that folds miss classes."""
    n_classes = int(rng.choice([2, 2, 3]))
    value = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=len(X))
    index = np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))
    if rng.random() < 0.15:
        index = np.sort(index)
    names = [np.array([-1, 1, 3]), np.array([0.0, 1.0, 2.0]), np.array(["no", "yes", "what"])][rng.integers(3)]
    if n_classes == 2 and rng.random() < 0.1:
        names = np.array([False, True])
    return pd.Series(names[index]) if rng.random() < 0.2 else names[index]


def targets(X: np.ndarray, rng: np.random.Generator) -> Any:
    """Noisy targets: float64, float32 or integers."""
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=len(X))
    return [y, y, y.astype(np.float32), np.round(5 * y).astype(int)][rng.integers(4)]


def candidates(machine: str, in_pipeline: bool, rng: np.random.Generator) -> tuple[Any, Any, str]:
    """Estimator, grid and the kind of X."""
    classes = {"SVC": SVC, "NuSVC": NuSVC, "SVR": SVR}
    estimator = classes[machine](tol=TOL)
    container = str(rng.choice(["array", "array", "float32", "sparse", "frame", "list"]))
    if not in_pipeline and rng.random() < 0.15:
        container = "gram"
        estimator.set_params(kernel="precomputed")
    Cs: list[Any] = sorted(np.round(10.0 ** rng.uniform(-2, 2, size=int(rng.integers(2, 4))), 3).tolist())
    if rng.random() < 0.2:
        Cs.insert(int(rng.integers(len(Cs))), -1.0)  # a candidate that fails
    grid: Any = {"nu": [0.05, 0.2, 0.5]} if machine == "NuSVC" else {"C": Cs}
    if machine == "SVR" and rng.random() < 0.5:
        grid["epsilon"] = [0.05, 0.2]
    if machine == "SVC" and rng.random() < 0.3:
        grid["class_weight"] = [None, "balanced"]
    if machine != "SVR" and rng.random() < 0.15:
        estimator.set_params(probability=True, random_state=0)
    if container != "gram":
        grid = with_kernels(grid, rng)
    if not in_pipeline:
        return estimator, grid, container
    scaler = MaxAbsScaler() if container == "sparse" else StandardScaler()
    estimator = Pipeline([("first", scaler), ("last", estimator)])
    grids = [{f"last__{name}": values for name, values in one.items()} for one in as_list(grid)]
    if rng.random() < 0.6:
        other = "passthrough" if container == "sparse" or rng.random() < 0.5 else PCA(2)
        grids = [{"first": [scaler, other], **one} for one in grids]
    return estimator, grids if isinstance(grid, list) else grids[0], container


def with_kernels(grid: dict[str, Any], rng: np.random.Generator) -> Any:
    """The grid with values of gamma, or as a list of two grids with a kernel each."""
    gammas = [[0.1, 1.0], ["scale"], ["scale", "auto", 0.5], [0.03, 0.3, "scale"]][rng.integers(4)]
    how = rng.integers(4)
    if how == 0:
        return grid
    if how == 1:
        return [{"kernel": ["linear"], **grid}, {"kernel": ["rbf", "poly"], "gamma": gammas[:2], **grid}]
    return {"gamma": gammas, **grid}


def as_list(grid: Any) -> list[dict[str, Any]]:
    return grid if isinstance(grid, list) else [grid]


def inside(container: str, X: np.ndarray) -> Any:
    """X in the container."""
    if container == "float32":
        return X.astype(np.float32)
    if container == "sparse":
        return sparse.csr_matrix(np.where(np.abs(X) < 0.3, 0.0, X))
    if container == "frame":
        return pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    if container == "gram":
        return X @ X.T + 1.0
    return X.tolist() if container == "list" else X


def splits(n: int, regression: bool, y: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A value of `cv`, and the groups it needs, or None."""
    kind = rng.integers(11)
    if kind == 0:
        return GroupKFold(3), rng.integers(0, 6, size=n)
    if kind == 1:  # rows repeated, in both parts, in neither
        return [(rng.integers(0, n, size=n), rng.permutation(n)[: n // 4]) for _ in range(3)], None
    if kind == 2:
        test = rng.random((3, n)) < 0.3
        return [(~row, row) for row in test], None
    if kind == 3 and not regression:
        return StratifiedShuffleSplit(3, test_size=0.3, random_state=1), None
    others = [
        3,
        None,
        KFold(3),
        KFold(4, shuffle=True, random_state=0),
        ShuffleSplit(3, test_size=0.2, random_state=2),
        TimeSeriesSplit(3),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        KFold(3) if regression else StratifiedKFold(3, shuffle=True, random_state=3),
    ]
    return others[rng.integers(len(others))], None


def mean_and_count(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    """A scorer with two values."""
    return {"share": float(np.mean(np.asarray(estimator.predict(X)) == np.asarray(y))), "count": float(len(y))}


def first_class(estimator: Any, X: Any, y: Any) -> float:
    """A scorer that raises for some candidates."""
    if estimator.get_params().get("gamma") == "auto":
        raise RuntimeError("no score for this one")
    return float(np.mean(estimator.predict(X) == np.asarray(y)[0]))


def scoring(regression: bool, estimator: Any, rng: np.random.Generator) -> Any:
    """A value of `scoring`."""
    if regression:
        choices: list[Any] = [None, None, "r2", "neg_mean_squared_error", "neg_mean_absolute_error"]
        choices += [["r2", "neg_mean_squared_error"], {"a": "r2", "b": "neg_median_absolute_error"}]
    else:
        choices = [None, None, None, "accuracy", "accuracy", "f1_macro", "roc_auc", mean_and_count, first_class]
        choices += [["accuracy", "balanced_accuracy"], {"a": "accuracy", "b": get_scorer("f1_macro")}]
        choices += [{"one": "accuracy"}]
        if any(value is True for name, value in estimator.get_params().items() if name.endswith("probability")):
            choices += ["neg_log_loss"] * 10
    return choices[rng.integers(len(choices))]


def last_candidate(cv_results: dict[str, Any]) -> int:
    """A function as `refit`."""
    return len(cv_results["params"]) - 1


def refit(scoring: Any, rng: np.random.Generator) -> Any:
    """A value of `refit` that suits the scorers, or, rarely, one that does not."""
    names = [*scoring] if isinstance(scoring, list | dict) else ["share"] if scoring is mean_and_count else None
    if names is None:
        return [True, True, True, False, last_candidate][rng.integers(5)]
    return [names[0], names[-1], False, last_candidate, True][rng.choice(5, p=[0.4, 0.25, 0.15, 0.15, 0.05])]


def weigh(case: RandomSearch, in_pipeline: bool, rng: np.random.Generator) -> None:
    """Give samples weights, through metadata routing or by the older way."""
    weight = rng.uniform(0.5, 2.0, size=len(case.y))
    if rng.random() < 0.5:
        case.fit_params["last__sample_weight" if in_pipeline else "sample_weight"] = weight
        return
    case.routing = True
    case.fit_params["sample_weight"] = weight
    if rng.random() < 0.9:  # else some scorers have not said whether they want weights, which is an error
        case.options["scoring"] = [None, None, "weighted accuracy"][rng.integers(3)]
        case.options["refit"] = True


def with_requests(case: RandomSearch, score: bool) -> RandomSearch:
    """The search with requests of metadata, which can be made only where routing is enabled."""
    steps = [step for _, step in case.estimator.steps] if isinstance(case.estimator, Pipeline) else [case.estimator]
    for step in steps[:-1]:
        if hasattr(step, "set_fit_request"):  # StandardScaler takes weights too
            step.set_fit_request(sample_weight=False)
    steps[-1].set_fit_request(sample_weight=True).set_score_request(sample_weight=score)
    if case.options["scoring"] == "weighted accuracy":
        name = "accuracy" if is_classifier(steps[-1]) else "r2"
        case.options["scoring"] = get_scorer(name).set_score_request(sample_weight=score)
    return case
