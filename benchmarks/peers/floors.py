"""What the figures must reach, computed from the results: each floor with what was measured, met or missed.

Ratios and whose time counts: ratios.py. "Not measured" stands where a run left out what a floor needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.libraries import LIBRARIES, OURS, ScikitLearn, ScikitLearnIntelex
from benchmarks.peers.ratios import best_run, geometric_mean, ratio, ratios

LEAST_SAMPLES = 5000  # of the two-class problems that count
SKLEARN, INTELEX = ScikitLearn.name, ScikitLearnIntelex.name
PEERS = [name for name in LIBRARIES if name != OURS]

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Floor:
    """One line of the summary. `met` is None where nothing was measured."""

    name: str
    wanted: str
    measured: str
    met: bool | None

    @property
    def verdict(self) -> str:
        return "not measured" if self.met is None else "met" if self.met else "**missed**"


def floors(results: dict[str, Any]) -> list[Floor]:
    """Every floor, in order."""
    records: Records = results.get("problems", [])
    return [
        *_exactness(records),
        *_two_classes(records),
        *_many_classes(records),
        *_regression_and_nu(records),
        *_limit(records),
        *_small(results.get("small", {})),
        *_prediction(results.get("prediction", [])),
        *_text(records),
        *_scale(records),
        *_start_up(results.get("start_up", {})),
        *_memory(results.get("memory", [])),
        *_threads(results.get("threads", [])),
    ]


def at_least(name: str, values: list[float], wanted: float, combine: Callable = geometric_mean, of: str = "") -> Floor:
    """A floor on ratios: `combine` turns them into one figure."""
    target = f"at least {wanted:g}x"
    if not values:
        return Floor(name, target, "", None)
    figure = combine(values)
    return Floor(name, target, f"{figure:.2f}x {of}(of {len(values)})".strip(), figure >= wanted)


def mean_ratio(name: str, records: Records, peer: str, wanted: float, form: str | None = None) -> Floor:
    """A floor on a geometric mean; beside it the mean with the times of wrong answers, where there are any."""
    floor = at_least(name, ratios(records, peer, form), wanted)
    everything = ratios(records, peer, form, with_wrong=True)
    if len(everything) == len(ratios(records, peer, form)):
        return floor
    more = f"{geometric_mean(everything):.2f}x with wrong answers (of {len(everything)})"
    return Floor(floor.name, floor.wanted, "; ".join(filter(None, [floor.measured, more])), floor.met)


def at_most(name: str, value: float | None, wanted: float, unit: str = "") -> Floor:
    target = f"at most {wanted:g}{unit}"
    if value is None:
        return Floor(name, target, "", None)
    return Floor(name, target, f"{value:.3g}{unit}", value <= wanted)


def _binary(records: Records) -> Records:
    """Gaussian C-SVC of two classes with enough samples, text apart."""
    return [
        record
        for record in records
        if record["problem"]["group"] == "binary" and record["classes"] == 2 and record["n"] >= LEAST_SAMPLES
    ]


def _group(records: Records, group: str, *data: str) -> Records:
    return [r for r in records if r["problem"]["group"] == group and (not data or r["problem"]["data"] in data)]


def _exactness(records: Records) -> list[Floor]:
    mine = [(record["problem"]["name"], best_run(record, OURS)) for record in records]
    wrong = [name for name, run in mine if run is None or run["status"] != "exact"]
    measured = f"{len(mine) - len(wrong)} of {len(mine)}" + (f"; not: {', '.join(wrong)}" if wrong else "")
    return [Floor("Exact: float64 violation at most tol", "every problem", measured, not wrong if mine else None)]


def _two_classes(records: Records) -> list[Floor]:
    binary = _binary(records)
    slower = [
        f"{record['problem']['name']} ({peer} {found.value:.2f})"
        for record in binary
        for peer in PEERS
        if (found := ratio(record, peer)) is not None and found.counts and found.value is not None and found.value < 1
    ]
    return [
        mean_ratio("1. Two classes, Gaussian, against scikit-learn (geometric mean)", binary, SKLEARN, 12),
        mean_ratio("1. ... against scikit-learn-intelex (geometric mean)", binary, INTELEX, 5),
        Floor(
            "1. ... slower than a peer with an exact answer",
            "nowhere",
            "; ".join(slower) or "nowhere",
            not slower if binary else None,
        ),
    ]


def _many_classes(records: Records) -> list[Floor]:
    lines = []
    for data, wanted in (("letter", 6), ("usps", 7), ("satimage", 6), ("mnist-10k", 15)):
        own = _group(records, "classes", data)
        lines.append(mean_ratio(f"2. {data}, one against one, against scikit-learn", own, SKLEARN, wanted))
        lines.append(mean_ratio(f"2. {data} against scikit-learn-intelex", own, INTELEX, 8))
    return lines


def _regression_and_nu(records: Records) -> list[Floor]:
    regression = _group(records, "regression", "cadata", "kin40k-10k", "kin40k", "cpusmall")
    lines = [
        mean_ratio("3. SVR against scikit-learn (geometric mean)", regression, SKLEARN, 8),
        mean_ratio("3. SVR against scikit-learn-intelex (geometric mean)", regression, INTELEX, 4),
    ]
    for machine, name in (("nu_svc", "NuSVC"), ("nu_svr", "NuSVR"), ("one_class", "OneClassSVM")):
        own = [record for record in records if record["problem"]["machine"] == machine]
        lines.append(mean_ratio(f"3. {name} against scikit-learn (geometric mean)", own, SKLEARN, 6))
    return lines


def _limit(records: Records) -> list[Floor]:
    lines = []
    for penalty, wanted in ((1, 4), (100, 12)):
        shares = []
        for record in _binary(records):
            run = best_run(record, OURS)
            if record["problem"]["C"] == penalty and record.get("limit_seconds") and run and run["status"] == "exact":
                shares.append(run["seconds"] / record["limit_seconds"])
        name = f"4. Fit over verification limit at C={penalty} (geometric mean)"
        lines.append(at_most(name, geometric_mean(shares), wanted))
    return lines


def _small(small: dict[str, Any]) -> list[Floor]:
    lines = []
    for key, name in (("fit", "whole fit"), ("predict_one", "predict of one row")):
        values = [row[key][SKLEARN] / row[key][OURS] for row in small.get("rows", [])]
        lines.append(at_least(f"5. Small data, {name}, against scikit-learn", values, 1, min, "at worst "))
    return lines


def _prediction(rows: list[dict[str, Any]]) -> list[Floor]:
    times = [row["seconds"] for row in rows if "seconds" in row]
    own = [t[SKLEARN] / t[OURS] for t in times]
    intelex = [t[INTELEX] / t[OURS] for t in times if INTELEX in t]
    bare = [t[OURS] / t["bare float64"] for t in times if "bare float64" in t]
    single = [t["widemargin, float32 input"] / t["bare float32"] for t in times if "bare float32" in t]
    return [
        at_least("6. Decision values of 10,000 rows against scikit-learn (geometric mean)", own, 15),
        at_least("6. ... against scikit-learn-intelex", intelex, 1, min, "at worst "),
        at_most("6. ... over the bare GEMM + exp, float64 input (worst)", max(bare, default=None), 1.5),
        at_most("6. ... the same, float32 input (worst)", max(single, default=None), 1.5),
    ]


def _text(records: Records) -> list[Floor]:
    text = _group(records, "text")
    web = _group(records, "binary", "w8a")
    return [
        mean_ratio("7. Sparse text against scikit-learn (geometric mean, CSR)", text, SKLEARN, 15, "csr"),
        mean_ratio("7. ... against scikit-learn-intelex (geometric mean, CSR)", text, INTELEX, 1.5, "csr"),
        mean_ratio("7. w8a as CSR against scikit-learn (geometric mean)", web, SKLEARN, 10, "csr"),
    ]


def _scale(records: Records) -> list[Floor]:
    lines = []
    for data in ("mnist-60k", "covtype-100k"):
        own = [record for record in records if record["problem"]["data"] == data]
        lines.append(mean_ratio(f"8. {data} against scikit-learn-intelex", own, INTELEX, 3))
    whole = [best_run(record, OURS) for record in records if record["problem"]["data"] == "covtype-all"]
    run = whole[0] if whole else None
    peak = None if run is None or run["status"] != "exact" else run["facts"].get("peak_mb")
    lines.append(at_most("8. covtype, all 581,012 rows, exact: peak memory", peak, 6 * 1024, " MB"))
    return lines


def _start_up(figures: dict[str, float]) -> list[Floor]:
    return [
        at_most("9. import widemargin beyond scikit-learn", figures.get("import"), 0.4, " s"),
        at_most("9. First fit, empty disk cache", figures.get("cold"), 6.0, " s"),
        at_most("9. First fit, full disk cache", figures.get("warm"), 0.4, " s"),
    ]


def _memory(rows: list[dict[str, Any]]) -> list[Floor]:
    shares = [row["extra_mb"] / row["allowed_mb"] for row in rows if "extra_mb" in row]
    name = "10. Peak extra memory over cache_size + O(n) (worst)"
    return [at_most(name, max(shares, default=None), 1.0)]


def _threads(groups: list[dict[str, Any]]) -> list[Floor]:
    rows = [row for group in groups for row in group["rows"] if "objective_difference" in row]
    worst = max((row["objective_difference"] for row in rows), default=None)
    several = [row["speed_up"] for row in rows if row["threads"] > 1]
    all_exact = all(row["status"] == "exact" for group in groups for row in group["rows"])
    difference = at_most("Threads: relative difference of the objective, all exact", worst, 1e-3)
    if worst is not None and not all_exact:
        difference = Floor(difference.name, difference.wanted, difference.measured + ", not all exact", False)
    speed = geometric_mean(several)
    return [
        difference,
        Floor("Threads: speed-up of two (geometric mean)", "reported", "" if speed is None else f"{speed:.2f}x", None)
        if speed is None
        else Floor("Threads: speed-up of two (geometric mean)", "above 1", f"{speed:.2f}x", speed > 1),
    ]
