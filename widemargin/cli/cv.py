"""`widemargin cv`: cross-validation, for one choice of parameters or over a grid of C and gamma.

Parts are drawn at random with a fixed seed, with equal shares of the classes. As in LIBSVM's grid.py, both grids are
powers of two; `widemargin tune` searches in the same way, and trains with what it finds.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, INTERRUPTED, new_command, option
from widemargin.cli.options import LogRange, Whole, data_options, machine_options
from widemargin.cli.paths import FILE
from widemargin.cli.screen import Screen
from widemargin.storage.errors import FileError

GRID = "The grid"
FAR = 5.0  # standard deviations of a Laplace distribution, sqrt(2) sigma each, beyond which an error is left out


@new_command("cv")
@click.argument("data", type=FILE, metavar="FILE")
@option("-v", "--folds", type=Whole(2), default="5", metavar="N", help="Number of parts.  [5]")
@option("--seed", type=Whole(0), default="0", metavar="N", help="Which random parts.  [0]")
@option("--grid", is_flag=True, heading=GRID, help="Try all pairs of C and gamma.")
@option("--log2c", type=LogRange(), default="-5,15,2", metavar="RANGE", heading=GRID,
        help="begin,end,step of log2 C.  [-5,15,2]")  # fmt: skip
@option("--log2g", type=LogRange(), default="-15,3,2", metavar="RANGE", heading=GRID,
        help="begin,end,step of log2 gamma.  [-15,3,2]")  # fmt: skip
@machine_options
@data_options
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Cross-validate a model on FILE: train on all parts but one, predict that one, in turn.

    Examples
    --------
    widemargin cv heart_scale -v 10 -c 10
        Accuracy in ten parts, each predicted by a model trained on the others.
    widemargin cv heart_scale --grid
        Which C and gamma? As LIBSVM's grid.py. Ctrl-C shows the best so far.
    widemargin cv heart_scale --grid --log2c 0,10,1 --log2g -10,0,1
        A finer grid.
    """
    return search(options, screen) if options.grid else cross_validate(options, screen)


def cross_validate(options: SimpleNamespace, screen: Screen, *, as_libsvm: bool = False) -> int:
    """Accuracy or error of one choice of parameters; in the words of svm-train, which LIBSVM's grid.py reads."""
    from widemargin.cli.models import agreement

    model, X, y, parts = _begin(options, screen)
    with screen.progress("cross-validation", len(parts)) as steps:
        answers = _answers([model] * len(parts), X, y, parts, steps.advance)
    agreed = agreement(model, answers, y)
    words = agreed.pop("words")
    screen.show(_as_svm_train(agreed) if as_libsvm else f"cross-validation in {len(parts)} parts: {words}")
    screen.finish(command="cv", data=options.data, folds=len(parts), **agreed)
    return FINE


def _as_svm_train(agreed: dict[str, Any]) -> str:
    """The lines of svm-train -v.

    Examples
    --------
    >>> _as_svm_train({"accuracy": 0.953125})
    'Cross Validation Accuracy = 95.3125%'
    """
    if "accuracy" in agreed:
        return f"Cross Validation Accuracy = {100 * agreed['accuracy']:g}%"
    return (
        f"Cross Validation Mean squared error = {agreed['mean_squared_error']:g}\n"
        f"Cross Validation Squared correlation coefficient = {agreed['squared_correlation']:g}"
    )


def scale_of_errors(model: Any, X: Any, y: Any) -> Any:
    """sigma of LIBSVM's probabilities of a regression: errors as e^(-|z| / sigma) / (2 sigma), from at most five parts.

    The mean of the absolute errors without those beyond five standard deviations (svm_svr_probability in svm.cpp).
    """
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    parts = list(KFold(min(5, len(y)), shuffle=True, random_state=0).split(y))
    errors = np.abs(y - _answers([clone(model) for _ in parts], X, y, parts, lambda: None))
    usual = errors[errors <= FAR * np.sqrt(2.0) * errors.mean()]
    return np.array([usual.mean()])


def search(options: SimpleNamespace, screen: Screen) -> int:
    """The best of a grid of C and gamma, without a model: the search of `tune` on given values."""
    import numpy as np

    from widemargin.cli.machines import is_classifier
    from widemargin.cli.tune import letters, show_scores
    from widemargin.model_selection.cell_search import CellSearch
    from widemargin.model_selection.fold_scores import score_by
    from widemargin.model_selection.ranges import has_gamma
    from widemargin.model_selection.strategy import Axis, best
    from widemargin.monitor.interrupt import CtrlC

    if options.machine not in ("svc", "svr", "nusvr"):
        raise ValueError(f"--grid is for machines with C: svc, svr and nusvr; {options.machine} has none.")
    model, X, y, parts = _begin(options, screen)
    axes = [Axis("C", tuple(sorted(options.log2c)), is_free=False)]
    if has_gamma(model.kernel):
        axes.append(Axis("gamma", tuple(sorted(options.log2g)), is_free=False))
    classifies = is_classifier(options.machine)
    score = score_by(None if classifies else "neg_mean_squared_error", model, X, y, None)
    found = CellSearch(axes)
    n_cells = int(np.prod([len(axis.values) for axis in axes]))
    with screen.progress("grid", n_cells * len(parts)) as steps, CtrlC() as ctrl_c:
        watching = _Watching(steps.advance)
        found.run(model, (X, y, None), parts, score, lambda search: None, ctrl_c.requested, None, watching)
    if not found.scores:
        raise KeyboardInterrupt
    if not found.is_complete:
        screen.note(f"Interrupted after {len(found.scores)} of {n_cells} pairs: this is the best of those.")
    values = [np.array(axis.values) for axis in axes]
    means = np.full([len(one) for one in values], np.nan)
    for candidate, scores in found.scores.items():
        means[tuple(int(np.searchsorted(one, value)) for one, value in zip(values, candidate))] = scores.mean()
    chosen = best(axes, found.scores)
    if chosen is None:
        raise ValueError("Every score is nan: no pair could be judged on these parts.")
    mean = float(found.scores[chosen].mean())
    show_scores(screen, {axis.name: axis.values for axis in axes}, means, as_errors=not classifies)
    words = f"accuracy {mean:.4%}" if classifies else f"mean squared error {-mean:.6g}"
    screen.show(f"best: {letters(found.named(chosen))}   {words}")
    screen.finish(command="cv", data=options.data, folds=len(parts), best=found.named(chosen), score=mean,
                  C=axes[0].values, gamma=axes[1].values if len(axes) > 1 else [None],
                  scores=means.reshape(len(axes[0].values), -1))  # fmt: skip
    return FINE if found.is_complete else INTERRUPTED


class _Watching:
    """Progress of a search as steps of a command."""

    def __init__(self, advance: Callable[[], None]) -> None:
        self.advance = advance

    def begin_round(self, search: Any, n_cells: int) -> None: ...

    def end_round(self, search: Any) -> None: ...

    def cell_done(self, candidate: int, split: int, cell: Any) -> None:
        """A cell is trained."""
        self.advance()


def _begin(options: SimpleNamespace, screen: Screen) -> tuple[Any, Any, Any, list]:
    """Return estimator, samples, targets and parts."""
    from widemargin.cli.data import read_training
    from widemargin.cli.machines import prepared_machine

    data = read_training(options, screen)
    model, y = prepared_machine(options, data)
    if y is None:  # a one-class SVM is judged by the labels, 1 usual and -1 not
        if data.y is None:
            raise FileError(f"{options.data} has no labels, 1 for usual and -1 for unusual, to compare answers with.")
        y = data.y
    return model, data.X, y, parts_of(options, data, y, screen)[1]


def parts_of(options: SimpleNamespace, data: Any, y: Any, screen: Screen) -> tuple[Any, list]:
    """Return the splitter, with equal shares of the classes where they are large enough, and its parts."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    from widemargin.cli.machines import is_classifier

    if len(data) < options.folds:
        raise FileError(f"{options.data} has {len(data)} samples: fewer than the {options.folds} parts asked for.")
    kind = KFold
    if is_classifier(options.machine):
        rarest = np.unique(y, return_counts=True)[1].min()
        if rarest >= options.folds:
            kind = StratifiedKFold
        else:
            screen.note(f"A class has only {rarest} samples: parts are drawn without regard to classes.")
    folds = kind(options.folds, shuffle=True, random_state=getattr(options, "seed", 0))
    return folds, list(folds.split(np.zeros(len(y)), y))


def _answers(machines: list[Any], X: Any, y: Any, parts: list, advance: Callable[[], None]) -> Any:
    """Return predictions of each part by a model fitted on all others."""
    import numpy as np

    from widemargin._sklearn import safe_split
    from widemargin.cli.machines import fit_or_stop

    answers = np.empty(len(y), y.dtype)
    for machine, (train, test) in zip(machines, parts):
        fit_or_stop(machine, *safe_split(machine, X, y, train))
        answers[test] = machine.predict(safe_split(machine, X, y, test, train)[0])
        advance()
    return answers
