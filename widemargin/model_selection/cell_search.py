"""A search over cells: rounds of strategy.py, trained by families.py, scored, kept in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from widemargin.linalg.arrays import Vector
from widemargin.model_selection.fold_scores import Score
from widemargin.model_selection.held_out import HeldOut, held_out
from widemargin.model_selection.splits import Splits
from widemargin.model_selection.strategy import Axis, Candidate, End, next_round
from widemargin.monitor import clock
from widemargin.monitor.interrupt import StopSignal

Select = Callable[["CellSearch"], Candidate | None]


@dataclass(eq=False)
class CellSearch:
    """Scores of all cells tried so far.

    Attributes
    ----------
    axes : parameters and their first values
    scores : candidate -> score of each split; of complete cells only
    seconds : candidate -> mean and standard deviation of the seconds of training, and the same of scoring, over splits
    kept : candidate and cells of the one selected at the end of a round, whose held-out values are wanted
    extensions : how often each end of an axis was extended
    is_complete : whether the strategy had nothing more to try
    """

    axes: Sequence[Axis]
    scores: dict[Candidate, Vector] = field(default_factory=dict)
    seconds: dict[Candidate, tuple[float, float, float, float]] = field(default_factory=dict)
    kept: tuple[Candidate, list[HeldOut]] | None = None
    extensions: dict[End, int] = field(default_factory=dict)
    is_complete: bool = False

    def named(self, candidate: Candidate) -> dict[str, float]:
        """A candidate as parameters."""
        return {axis.name: value for axis, value in zip(self.axes, candidate)}

    def run(
        self,
        machine: Any,
        data: tuple[Any, NDArray, Vector | None],
        splits: Splits,
        score: Score,
        select: Select,
        cancelled: StopSignal,
        deadline: float | None,
        progress: Any,
    ) -> None:
        """Try cells until the strategy ends, the deadline passes, or the search is cancelled.

        data : samples, targets and weights
        select : chooses among the cells tried; the held-out values of its choice are kept
        progress : gets `begin_round`, `cell_done` and `end_round`
        """
        X, y, weight = data
        while True:
            round = next_round(self.axes, self.scores)
            self.extensions = round.extensions
            missing = [one for one in round.candidates if one not in self.scores]
            if not missing:
                self.is_complete = True
                return
            progress.begin_round(self, len(missing) * len(splits))
            named = [self.named(one) for one in missing]
            cells = held_out(machine, X, y, named, splits, weight, cancelled, deadline, progress.cell_done)
            done = [(one, row) for one, row in zip(missing, cells) if all(cell is not None for cell in row)]
            for candidate, row in done:
                self._take(candidate, row, splits, score)  # type: ignore[arg-type]
            chosen = select(self)
            for candidate, row in done:
                if candidate == chosen:
                    self.kept = candidate, row  # type: ignore[assignment]
            progress.end_round(self)
            if len(done) < len(missing):
                return

    def _take(self, candidate: Candidate, row: Sequence[HeldOut], splits: Splits, score: Score) -> None:
        """Score a complete cell."""
        began = clock.now()
        self.scores[candidate] = np.array([score(cell, *split) for cell, split in zip(row, splits, strict=True)])
        scoring = (clock.now() - began) / len(row)
        training = np.array([getattr(cell.certificate, "seconds", None) or 0.0 for cell in row])
        self.seconds[candidate] = float(training.mean()), float(training.std()), scoring, 0.0

    def results(self) -> dict[str, Any]:
        """The table under the keys of scikit-learn's `cv_results_`, cells in the order in which they were tried."""
        table = np.array(list(self.scores.values()))
        means = table.mean(axis=1)
        columns = zip(*(self.seconds[candidate] for candidate in self.scores))
        names = ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")
        found: dict[str, Any] = {name: np.array(column) for name, column in zip(names, columns)}
        for number, axis in enumerate(self.axes):
            found[f"param_{axis.name}"] = np.ma.array([one[number] for one in self.scores], mask=False)
        found["params"] = [self.named(one) for one in self.scores]
        for split in range(table.shape[1]):
            found[f"split{split}_test_score"] = table[:, split]
        found["mean_test_score"], found["std_test_score"] = means, table.std(axis=1)
        found["rank_test_score"] = rankdata(-np.nan_to_num(means, nan=-np.inf), method="min").astype(np.int32)
        return found

    def take_results(self, results: Mapping[str, Any]) -> None:
        """Fill the table with the results of an earlier search over the same parameters."""
        n_splits = sum(name.startswith("split") for name in results)
        for number, parameters in enumerate(results["params"]):
            candidate = tuple(float(parameters[axis.name]) for axis in self.axes)
            scores = np.array([results[f"split{k}_test_score"][number] for k in range(n_splits)])
            if np.isnan(scores).all():  # stands for the cell of a search that had no time for any
                continue
            self.scores[candidate] = scores
            self.seconds[candidate] = tuple(
                float(results[name][number])
                for name in ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")
            )  # type: ignore[assignment]

    def grid(self) -> tuple[list[Vector], Vector]:
        """The values of each axis, ascending, and the scores at all their combinations, nan where none was tried."""
        values = [np.array(sorted({one[number] for one in self.scores})) for number in range(len(self.axes))]
        n_splits = len(next(iter(self.scores.values())))
        table = np.full((*map(len, values), n_splits), np.nan)
        for candidate, scores in self.scores.items():
            place = tuple(int(np.searchsorted(axis, value)) for axis, value in zip(values, candidate))
            table[place] = scores
        return values, table
