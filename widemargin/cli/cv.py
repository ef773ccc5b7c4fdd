"""`widemargin cv`: cross-validation, for one choice of parameters or over a grid of C and gamma.

Parts are drawn at random with a fixed seed, with equal shares of the classes. In a grid C grows while everything else
is fixed, so that each fit starts at the previous answer. As in LIBSVM's grid.py, both grids are powers of two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from widemargin.cli.command import FINE, INTERRUPTED, new_command, option
from widemargin.cli.options import LogRange, Whole, data_options, machine_options
from widemargin.cli.paths import FILE
from widemargin.cli.screen import Screen
from widemargin.storage.errors import FileError

if TYPE_CHECKING:
    from rich.table import Table

WITHOUT_GAMMA = ("linear", "precomputed", "cosine")
SHADES = ("red", "yellow", "green", "bold green")  # colours of a grid's cells, from worst to best


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
    """The best of a grid of C and gamma."""
    import numpy as np
    from sklearn.base import clone

    from widemargin.cli.machines import is_classifier
    from widemargin.cli.models import agreement

    if options.machine not in ("svc", "svr", "nusvr"):
        raise ValueError(f"--grid is for machines with C: svc, svr and nusvr; {options.machine} has none.")
    model, X, y, parts = _begin(options, screen)
    gammas = [None] if options.kernel in WITHOUT_GAMMA or isinstance(X, list) else sorted(options.log2g)
    prices = sorted(options.log2c)

    def settings(C: float, gamma: float | None) -> dict[str, float]:
        return {"C": C} if gamma is None else {"C": C, "gamma": gamma}

    scores = np.full((len(prices), len(gammas)), np.nan)  # of pairs that were not tried

    def fill(advance: Callable[..., None]) -> None:
        for column, gamma in enumerate(gammas):
            machines = [clone(model).set_params(warm_start=True) for _ in parts]
            for row, C in enumerate(prices):
                chosen = settings(C, gamma)
                for machine in machines:
                    machine.set_params(**chosen)
                label = ", ".join(f"{name} = {value:g}" for name, value in chosen.items())
                answers = _answers(machines, X, y, parts, partial(advance, label=label))
                agreed = agreement(machines[0], answers, y)
                scores[row, column] = agreed.get("accuracy", -agreed.get("mean_squared_error", 0.0))

    code = FINE
    with screen.progress("grid", scores.size * len(parts)) as steps:
        try:
            fill(steps.advance)
        except KeyboardInterrupt:
            done = np.count_nonzero(np.isfinite(scores))
            if not done:
                raise
            code = INTERRUPTED
    if code == INTERRUPTED:
        screen.note(f"Interrupted after {done} of {scores.size} pairs: this is the best of those.")
    row, column = divmod(int(np.nanargmax(scores)), len(gammas))  # the first of equals: the smallest C
    best, score = settings(prices[row], gammas[column]), scores[row, column]
    screen.show(_heat_map(scores, prices, gammas))
    words = f"accuracy {score:.4%}" if is_classifier(options.machine) else f"mean squared error {-score:.6g}"
    letters = " ".join(f"-{name[0].lower()} {value:g}" for name, value in best.items())
    screen.show(f"best: {letters}   {words}")
    screen.finish(command="cv", data=options.data, folds=len(parts), best=best, score=score, C=prices, gamma=gammas,
                  scores=scores)  # fmt: skip
    return code


def _begin(options: SimpleNamespace, screen: Screen) -> tuple[Any, Any, Any, list]:
    """Return estimator, samples, targets and parts."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    from widemargin.cli.data import read_training
    from widemargin.cli.machines import is_classifier, prepared_machine

    data = read_training(options, screen)
    model, y = prepared_machine(options, data)
    if y is None:  # a one-class SVM is judged by the labels, 1 usual and -1 not
        if data.y is None:
            raise FileError(f"{options.data} has no labels, 1 for usual and -1 for unusual, to compare answers with.")
        y = data.y
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
    return model, data.X, y, list(folds.split(np.zeros(len(y)), y))


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


def _heat_map(scores: Any, prices: list[float], gammas: list[Any]) -> Table:
    """The grid in colours: a row for each C, a column for each gamma; pairs that were not tried stay empty."""
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    table = Table(title="C by gamma" if gammas[0] is not None else "C", title_justify="left")
    table.add_column("C \\ gamma" if gammas[0] is not None else "C", style="dim")
    for gamma in gammas:
        table.add_column("" if gamma is None else f"{gamma:.3g}", justify="right")
    low, high = np.nanmin(scores), np.nanmax(scores)
    for price, row in zip(prices, scores):
        share = (row - low) / (high - low) if high > low else np.zeros_like(row)
        shades = np.nan_to_num((len(SHADES) - 1) * share).astype(int)
        cells = ["" if np.isnan(value) else f"{value:.2%}" if low >= 0 else f"{-value:.3g}" for value in row]
        table.add_row(f"{price:g}", *(Text(cell, style=SHADES[shade]) for cell, shade in zip(cells, shades)))
    return table
