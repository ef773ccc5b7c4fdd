"""Jobs: the same grid searched by us and by the peers.

grid      grid.py's grid of LIBSVM: log2 C = -5, -3 ... 15, log2 gamma = -15, -13 ... 3, five folds
covtype   C = 10^-2 ... 10^3, gamma = 10^-3 ... 10^1, ten values each, five folds
svr       log2 C = -3 ... 5, log2 gamma = -7 ... 1, epsilon = 0.03, 0.1, 0.3, five folds
letter    26 classes, one against one: log2 C = -1 ... 7, log2 gamma = -3 ... 5, three folds
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.tuning import sets
from benchmarks.tuning.bench import Bench
from benchmarks.tuning.rounds import agreement
from benchmarks.tuning.search import Search, powers_of_ten, powers_of_two
from benchmarks.tuning.searchers import INTELEX, LOOP, OURS, SKLEARN

LIBSVM_GRID = Search("svc", {"C": powers_of_two(-5, 15), "gamma": powers_of_two(-15, 3)})
COVTYPE_GRID = Search("svc", {"C": powers_of_ten(-2, 3, 10), "gamma": powers_of_ten(-3, 1, 10)})
SVR_GRID = Search("svr", {"C": powers_of_two(-3, 5), "gamma": powers_of_two(-7, 1), "epsilon": [0.03, 0.1, 0.3]})
LETTER_GRID = Search("svc", {"C": powers_of_two(-1, 7), "gamma": powers_of_two(-3, 5)}, folds=3)
LETTER_SECONDS = 600.0  # scikit-learn gets for all rows of letter; if it takes longer, 5,000 rows are searched

Job = Callable[[Bench], dict[str, Any]]


def jobs() -> dict[str, Job]:
    everybody, some = (OURS, SKLEARN, INTELEX, LOOP), (OURS, SKLEARN, LOOP)
    found: dict[str, Job] = {}
    for name in ("svmguide1", "a9a-2000", "splice", "satimage", "ijcnn1-5000"):
        found[f"grid/{name}"] = partial(compared, name, LIBSVM_GRID, everybody)
    for name in ("covtype-1000", "covtype-5000"):
        found[f"covtype/{name}"] = partial(compared, name, COVTYPE_GRID, some)
    for name in ("cpusmall", "abalone"):
        found[f"svr/{name}"] = partial(compared, name, SVR_GRID, some)
    found["letter/letter"] = letter
    return found


def compared(
    name: str, search: Search, who: tuple[str, ...], bench: Bench, timeouts: dict[str, float] | None = None
) -> dict[str, Any]:
    """The record of one set: runs, and how well the scores agree."""
    X, y = sets.load(name, bench.folder, bench.rows())
    search = bench.size(search)
    data = bench.rounds.write(name, X, y)
    runs = bench.rounds.compare(bench.searchers(*who), search, data, timeouts)
    unit = search.folds / len(y) if search.machine == "svc" else 1.0
    return {
        "set": name,
        "n": X.shape[0],
        "d": X.shape[1],
        "search": search.as_dict(),
        "runs": runs,
        "unit": unit,
        "agreement": agreement(runs, unit),
    }


def letter(bench: Bench) -> dict[str, Any]:
    """All rows if scikit-learn searches them within its limit, otherwise 5,000."""
    record = compared("letter", LETTER_GRID, (SKLEARN, OURS, LOOP), bench, {SKLEARN: LETTER_SECONDS})
    if record["runs"].get(SKLEARN, {}).get("status") != "time-out":
        return record
    bench.leave_out("letter with all rows", f"scikit-learn took more than {LETTER_SECONDS:.0f} s; 5,000 rows instead")
    return compared("letter-5000", LETTER_GRID, (OURS, SKLEARN, LOOP), bench)
