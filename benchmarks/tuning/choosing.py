"""Jobs: SVCCV, which finds its own values of C and gamma, against our search of LIBSVM's whole grid, on twenty sets.

Each set is halved; the standard error is that of the grid's accuracy on the test half, sqrt(p (1 - p) / n) with
p = (correct + 1) / (n + 2), so that it is not zero where nothing is wrong.
"""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

from benchmarks.peers.comparison import WARM_UP_ROWS
from benchmarks.tuning import sets
from benchmarks.tuning.bench import Bench
from benchmarks.tuning.grids import LIBSVM_GRID, Job
from benchmarks.tuning.rounds import Action
from benchmarks.tuning.searchers import OURS

GRID, SVCCV = "grid", "svccv"


def jobs() -> dict[str, Job]:
    return {f"svccv/{name}": partial(chosen, name) for name in sets.TWENTY}


def chosen(name: str, bench: Bench) -> dict[str, Any]:
    """The record of one set: both searches in turn, and their accuracies on the other half."""
    halves = sets.load_halves(name, bench.folder, bench.rows())
    search, rounds = bench.size(LIBSVM_GRID), bench.rounds
    data = rounds.write(name, halves.X, halves.y, test=(halves.X_test, halves.y_test))
    actions = {GRID: rounds.searching(OURS, search, data, {})}
    choose = {"do": "choose", "data": str(data)}
    missing = rounds.worker(OURS).ask({**choose, "rows": WARM_UP_ROWS}, rounds.effort.timeout).get("missing")
    if missing:
        bench.leave_out("SVCCV", missing)
    else:
        actions[SVCCV] = Action(lambda: rounds.worker(OURS).ask(dict(choose), rounds.effort.timeout), compiles=True)
    runs = rounds.interleave(actions)
    record: dict[str, Any] = {"set": name, "n": len(halves.y), "d": halves.X.shape[1], "runs": runs}
    if all(runs.get(who, {}).get("wall") for who in (GRID, SVCCV)):
        record["difference"] = in_standard_errors(runs[SVCCV]["correct"], runs[GRID]["correct"], len(halves.y_test))
    return record


def in_standard_errors(correct: int, reference: int, n: int) -> float:
    """Accuracy above that of the reference, in standard errors of the reference."""
    p = (reference + 1) / (n + 2)
    return (correct - reference) / n / sqrt(p * (1.0 - p) / n)
