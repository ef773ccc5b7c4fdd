"""The problems of the benchmark: one table. Data and their scaling are in datasets.py; tol is 1e-3 throughout.

Gammas. a9a, w8a and the two sets of Platt: a Gaussian of variance 10 (Platt 1998). ijcnn1: 1, covtype: 1 / n_features.
mnist: 2^-5, a point of the grid LIBSVM's guide searches, for pixels in [0, 1]. svmguide1: 2, the guide's own example.
Text of norm 1: 1. All others: 1 / (n_features * variance) to one or two digits.

`quick` is the number of rows of the short run, 0 where the problem is left out of it. `group` says which floor of
floors.py a problem belongs to. `long` problems run only when named or with --long.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

TOL = 1e-3
PEER_CACHE_MB = 2000  # kernel cache of the peers that take one: scikit-learn's default of 200 would cost it up to 4.6x


@dataclass(frozen=True)
class Problem:
    """One training problem.

    Parameters
    ----------
    name, data : str
        Name in tables, and the set of datasets.py.
    machine : {"svc", "nu_svc", "svr", "nu_svr", "one_class"}
    kernel : {"rbf", "poly", "linear"}
    group : {"binary", "classes", "regression", "nu", "text", "other"}
    cache_size : float or None
        Megabytes our own row cache may take; None leaves the choice to the library.
    """

    name: str
    data: str
    machine: str = "svc"
    kernel: str = "rbf"
    gamma: float = 1.0
    C: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    nu: float = 0.5
    epsilon: float = 0.1
    tol: float = TOL
    group: str = "binary"
    quick: int = 0
    long: bool = False
    cache_size: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def _over_C(
    data: str, penalties: tuple[float, ...], quick: dict[float, int] | None = None, **rest: Any
) -> list[Problem]:
    """One problem per value of C."""
    label = "" if rest.get("kernel", "rbf") == "rbf" else f" {rest['kernel']}"
    machine = {"svr": " SVR", "nu_svr": " nu-SVR"}.get(rest.get("machine", ""), "")
    return [
        Problem(f"{data}{machine}{label} C={C:g}", data, C=C, quick=(quick or {}).get(C, 0), **rest) for C in penalties
    ]


PROBLEMS: list[Problem] = [
    # two classes, Gaussian
    *_over_C("a9a", (1, 10, 100), {1: 5000}, gamma=0.05),
    *_over_C("a9a.t", (1, 10, 100, 1000), gamma=0.05),
    *_over_C("w8a", (1, 10, 100), {1: 5000}, gamma=0.05),
    *_over_C("ijcnn1", (1, 10, 100, 1000), {100: 6000}, gamma=1.0),
    *_over_C("covtype-10k", (1, 10, 100, 1000), gamma=1 / 54),
    *_over_C("covtype-50k", (1, 10), gamma=1 / 54),
    *_over_C("covtype-100k", (1,), gamma=1 / 54),
    *_over_C("letter-A", (1, 10, 100, 1000), gamma=0.4),
    *_over_C("mnist-4-9", (1, 10, 100), gamma=2.0**-5),
    *_over_C("phishing", (1, 10, 100, 1000), {1: 5000}, gamma=1.8),
    *_over_C("svmguide1", (1, 10, 100, 1000), gamma=2.0),
    *_over_C("splice", (1, 10, 100), gamma=0.03),
    *_over_C("moons-10000", (1, 10, 100, 1000), {100: 10_000}, gamma=1.0),
    *_over_C("noise-8000", (1, 10), gamma=0.05),
    *_over_C("separable-12000", (1, 100), {100: 5000}, gamma=0.05),
    # many classes, one against one
    *_over_C("letter", (1, 10, 100), {10: 3000}, gamma=0.4, group="classes"),
    *_over_C("usps", (1, 10, 100), gamma=0.0066, group="classes"),
    *_over_C("satimage", (1, 10, 100), {10: 4435}, gamma=0.17, group="classes"),
    *_over_C("mnist-10k", (1, 10), gamma=2.0**-5, group="classes"),
    *_over_C("mnist-60k", (10,), gamma=2.0**-5, group="classes"),
    *_over_C("shuttle", (1, 10, 100, 1000), gamma=1.5, group="classes"),
    # sparse text
    *_over_C("reuters", (1, 10), gamma=1.0, group="text"),
    *_over_C("20newsgroups", (1, 10), gamma=1.0, group="text"),
    *_over_C("basehock", (1, 10), {1: 1993}, gamma=1.0, group="text"),
    *_over_C("pcmac", (1, 10), gamma=1.0, group="text"),
    # other kernels
    *_over_C("a9a.t", (1,), kernel="linear", group="other"),
    *_over_C("ijcnn1", (1,), kernel="linear", group="other"),
    *_over_C("w8a", (1,), kernel="linear", group="other"),
    *_over_C("separable-12000", (100,), {100: 2000}, kernel="linear", group="other"),
    *_over_C("mnist-4-9", (1,), kernel="poly", gamma=2.0**-5, group="other"),
    *_over_C("a9a.t", (1,), {1: 3000}, kernel="poly", gamma=0.05, coef0=1.0, group="other"),
    # regression
    *_over_C("cadata", (1, 10, 100), {1: 4000}, machine="svr", gamma=0.125, group="regression"),
    *_over_C("cpusmall", (1, 10, 100), machine="svr", gamma=0.083, group="regression"),
    *_over_C("kin40k-10k", (1, 10, 100), machine="svr", gamma=0.125, group="regression"),
    *_over_C("kin40k", (10,), machine="svr", gamma=0.125, group="regression"),
    *_over_C("abalone", (1, 10, 100), machine="svr", gamma=0.45, group="regression"),
    # nu-machines and one class
    Problem("a9a.t nu-SVC nu=0.3", "a9a.t", "nu_svc", gamma=0.05, nu=0.3, group="nu", quick=3000),
    Problem("letter-A nu-SVC nu=0.02", "letter-A", "nu_svc", gamma=0.4, nu=0.02, group="nu"),
    Problem("satimage nu-SVC nu=0.05", "satimage", "nu_svc", gamma=0.17, nu=0.05, group="nu"),
    Problem("cpusmall nu-SVR nu=0.3", "cpusmall", "nu_svr", gamma=0.083, C=10, nu=0.3, group="nu", quick=2000),
    Problem("cadata nu-SVR nu=0.5", "cadata", "nu_svr", gamma=0.125, C=1, nu=0.5, group="nu"),
    Problem("shuttle-1 one-class nu=0.1", "shuttle-1", "one_class", gamma=1.5, nu=0.1, group="nu", quick=6000),
    # once, for ourselves only: all 581,012 rows within 6 GiB
    Problem("covtype-all C=1", "covtype-all", gamma=1 / 54, group="scale", long=True, cache_size=2000),
]


def chosen(only: list[str] | None, quick: bool, with_files: bool, long: bool = False) -> list[Problem]:
    """Problems named by `only` (a whole name, or the beginning of several), or all of the full or the short run.

    Raises ValueError for a name that fits none.
    """
    if only:
        for name in only:
            if not any(problem.name.startswith(name) for problem in PROBLEMS):
                known = ", ".join(sorted({problem.data for problem in PROBLEMS}))
                raise ValueError(f"--only {name} fits no problem: give the beginning of a name; the sets are {known}.")
        exact = {problem.name for problem in PROBLEMS} & set(only)
        beginnings = tuple(name for name in only if name not in exact)
        return [p for p in PROBLEMS if p.name in exact or p.name.startswith(beginnings)]
    listed = [problem for problem in PROBLEMS if long or not problem.long]
    if quick:
        listed = one_of_each_first([problem for problem in listed if problem.quick])
    return listed if with_files else [problem for problem in listed if is_generated(problem)]


def one_of_each_first(problems: list[Problem]) -> list[Problem]:
    """Groups in turn, so that a run which is out of time has seen a problem of each kind."""
    seen: dict[str, int] = {}
    turn = []
    for problem in problems:
        seen[problem.group] = seen.get(problem.group, -1) + 1
        turn.append(seen[problem.group])
    return [problem for _, problem in sorted(zip(turn, problems), key=lambda pair: pair[0])]


def is_generated(problem: Problem) -> bool:
    """Whether a problem needs no data folder."""
    return problem.data.split("-")[0] in ("moons", "noise", "separable")
