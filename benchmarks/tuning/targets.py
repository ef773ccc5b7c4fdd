"""What the figures must reach, computed from the results: a floor and an aim each.

Whatever ran in place of a part of ours that is missing is not counted. A time-out of a peer is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.peers.ratios import geometric_mean
from benchmarks.peers.report import number
from benchmarks.tuning.choosing import GRID, SVCCV
from benchmarks.tuning.rounds import ratio
from benchmarks.tuning.searchers import INTELEX, LOOP, OURS, SKLEARN
from benchmarks.tuning.torchkm_workload import ACCURACY, PUBLISHED, TORCHKM

PEER_NAMES = {SKLEARN: "sklearn SVC, n_jobs", INTELEX: "sklearnex SVC", LOOP: "our own SVC"}
Records = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """One line: `value` must be at least (or, with `most`, at most) floor and aim; None if it was not measured."""

    name: str
    floor: float
    aim: float
    value: float | None
    unit: str = "x"
    most: bool = False
    of: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        if self.reaches(self.aim):
            return "aim met"
        return "floor met" if self.reaches(self.floor) else "**missed**"

    def reaches(self, wanted: float) -> bool:
        assert self.value is not None
        return self.value <= wanted if self.most else self.value >= wanted

    def cells(self) -> list[str]:
        measured = "" if self.value is None else f"{number(self.value)}{self.unit} {self.of}".strip()
        sign = "at most " if self.most else ""
        wanted = [f"{sign}{number(limit)}{self.unit}" for limit in (self.floor, self.aim)]
        return [self.name, *wanted, measured, self.verdict]


def targets(records: Records) -> list[Target]:
    """All of them, in order."""
    return [
        *_grids(records),
        *_published(records),
        _mean("TorchKM itself on these cores", records, "torchkm", TORCHKM, 20.0, 50.0),
        *_covtype(records),
        *_svccv(records),
        _mean("SVR grid, against sklearn's", records, "svr", SKLEARN, 15.0, 30.0),
        _mean("one-against-one grid on letter, against sklearn's", records, "letter", SKLEARN, 8.0, 15.0),
        *_memory(records),
    ]


def group(records: Records, name: str) -> list[dict[str, Any]]:
    """Records of a group of jobs."""
    return [record for job, record in records.items() if job.startswith(name + "/")]


def counts(run: dict[str, Any] | None) -> bool:
    """Whether a run of ours is ours, and ended."""
    return bool(run and run.get("wall") and not run.get("note"))


def ratios(records: list[dict[str, Any]], peer: str) -> list[float]:
    found = [ratio(r["runs"], peer) for r in records if "runs" in r and counts(r["runs"].get(OURS))]
    return [value for value in found if value is not None]


def _mean(name: str, records: Records, jobs: str, peer: str, floor: float, aim: float) -> Target:
    """A geometric mean of ratios."""
    found = ratios(group(records, jobs), peer)
    return Target(name, floor, aim, geometric_mean(found) if found else None, of=f"(of {len(found)})")


def _grids(records: Records) -> list[Target]:
    found = []
    for peer, floor, aim in ((SKLEARN, 25.0, 50.0), (INTELEX, 25.0, 50.0), (LOOP, 4.0, 10.0)):
        name = f"LIBSVM's grid, against GridSearchCV({PEER_NAMES[peer]}), geometric mean"
        found.append(_mean(name, records, "grid", peer, floor, aim))
    worst = ratios(group(records, "grid"), LOOP)
    least = min(worst) if worst else None
    found.append(Target(f"the same against {PEER_NAMES[LOOP]}, worst case", 2.0, 5.0, least, of=f"(of {len(worst)})"))
    return found


def _published(records: Records) -> list[Target]:
    """Published times over ours; the range of C by which TorchKM's Table 2 was computed."""
    found = []
    for job, seconds in PUBLISHED.items():
        record = records.get(job) or records.get(f"{job}-lambda") or {}
        run = record.get("runs", {}).get(OURS)
        of = f"({number(run['wall'])} s)" if run and run.get("wall") else ""
        faster = seconds / run["wall"] if run and counts(run) else None
        found.append(Target(f"{job}, TorchKM on an L40S {seconds:g} s", 1.0, 3.0, faster, of=of))
        if job in ACCURACY:
            accuracy = run["correct"] / run["tested"] if run and counts(run) else None
            found.append(Target(f"{job}, accuracy on the test file", ACCURACY[job], ACCURACY[job], accuracy, unit=""))
    return found


def _covtype(records: Records) -> list[Target]:
    found = []
    for rows, floor, aim in ((1000, 0.5, 0.2), (5000, 6.0, 3.0)):
        run = records.get(f"covtype/covtype-{rows}", {}).get("runs", {}).get(OURS)
        seconds = run["wall"] if run and counts(run) else None
        found.append(Target(f"covtype, {rows:,} rows, 10 x 10 cells", floor, aim, seconds, unit=" s", most=True))
    return found


def _svccv(records: Records) -> list[Target]:
    done = [r for r in group(records, "svccv") if "difference" in r and counts(r["runs"][GRID])]
    shares = [r["runs"][SVCCV]["wall"] / r["runs"][GRID]["wall"] for r in done]
    near = float(sum(r["difference"] >= -1.0 for r in done)) if done else None
    of = f"(of {len(done)})"
    mean = geometric_mean(shares) if shares else None
    return [
        Target("SVCCV's time over that of the grid", 0.25, 0.125, mean, unit="", most=True, of=of),
        Target("sets on which it is within a standard error", 18.0, 18.0, near, unit="", of=of),
    ]


def _memory(records: Records) -> list[Target]:
    """The worst of the cache sizes given."""
    found = [r["extra_mb"] / r["allowed_mb"] for r in group(records, "memory") if r["allowed_mb"] and not r["note"]]
    worst = max(found) if found else None
    return [Target("peak extra memory over cache_size + O(n)", 1.0, 1.0, worst, unit="", most=True)]
