"""`widemargin tune`: find C, gamma and epsilon by cross-validation, train, save. `cv --grid` shares its table.

The model file is also the state of the search: --resume continues from it.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, INTERRUPTED, NOT_CERTIFIED, new_command, option
from widemargin.cli.options import LogRange, Whole, data_options, machine_options
from widemargin.cli.paths import FILE, OUTPUT, check_paths
from widemargin.cli.screen import Screen, certificate_facts, certificate_table

SEARCH = "The search"
GRID_C, GRID_GAMMA = "-5,15,2", "-15,3,2"  # of LIBSVM's grid.py, as exponents of two
DPI = 150  # dots per inch of the picture, as `widemargin plot` draws
TUNED = {"svc": "SVCCV", "svr": "SVRCV"}


@new_command("tune")
@click.argument("data", type=FILE, metavar="FILE")
@option("-o", "--output", type=OUTPUT, metavar="MODEL", help="Where to save.  [FILE's name + .model, here]")
@option("--picture", type=OUTPUT, metavar="PICTURE", help="Draw the scores as a heat map; .png, .pdf, .svg.")
@option("--resume", is_flag=True, heading=SEARCH, help="Continue the search saved in MODEL, if there is one.")
@option("-v", "--folds", type=Whole(2), default="5", metavar="N", heading=SEARCH, help="Number of parts.  [5]")
@option("--seed", type=Whole(0), default="0", metavar="N", heading=SEARCH, help="Which random parts.  [0]")
@option("--grid", is_flag=True, heading=SEARCH, help="All pairs of C and gamma of LIBSVM's grid.py.")
@option("--log2c", type=LogRange(), metavar="RANGE", heading=SEARCH,
        help=f"begin,end,step of log2 C.  [found from the data; --grid: {GRID_C}]")  # fmt: skip
@option("--log2g", type=LogRange(), metavar="RANGE", heading=SEARCH,
        help=f"begin,end,step of log2 gamma.  [found from the data; --grid: {GRID_GAMMA}]")  # fmt: skip
@option("--selection", type=click.Choice(["best", "one_se"]), default="best", heading=SEARCH,
        help="The best score, or the smallest C within one standard error of it.  [best]")  # fmt: skip
@machine_options
@data_options
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Find C and gamma (and epsilon of svr) on FILE by cross-validation, train with them and save the model.

    -c, -g and -p are what is searched and have no effect. Ctrl-C, SIGTERM and --time-limit train and save the best
    so far, and --resume continues.

    Examples
    --------
    widemargin tune heart_scale
        Ranges from the data, refined around the best; writes heart_scale.model.
    widemargin tune heart_scale --grid --picture scores.png
        The 110 pairs of LIBSVM's grid.py, and a picture of their scores.
    widemargin tune a9a --time-limit 60
        The best that can be found in a minute; then `widemargin tune a9a --resume`.
    widemargin tune housing -s svr -b 0
        Regression: epsilon is searched too.
    """
    from sklearn.model_selection import KFold

    from widemargin.cli.advice import dominant_feature
    from widemargin.cli.cv import parts_of
    from widemargin.cli.data import read_training
    from widemargin.cli.machines import fit
    from widemargin.cli.plot import picture_writer
    from widemargin.cli.train import default_output
    from widemargin.io.model_file import save

    if options.machine not in TUNED:
        raise ValueError(f"tune is for svc and svr, whose C it finds; {options.machine} has other parameters.")
    output = options.output or default_output(options.data)
    check_paths([options.data], [output, options.picture])  # the default is none of the options
    write = picture_writer() if options.picture else None  # fails before the search, not after it
    data = read_training(options, screen)
    model, y = _model(options, data)
    before = _saved(output, model, screen) if options.resume else None
    if isinstance(parts_of(options, data, y, screen)[0], KFold):
        model.set_params(cv=KFold(options.folds, shuffle=True, random_state=options.seed))
    code = FINE
    try:
        if before is None:
            seconds, notes = fit(model, data.X, y)
        else:
            model = before.set_params(verbose=model.verbose, on_interrupt="raise")
            seconds, notes = fit(_Resumed(model, options.time_limit), data.X, y)
    except KeyboardInterrupt:
        if not hasattr(model, "support_"):
            raise
        code, seconds, notes = INTERRUPTED, None, []
    tried = len(model.cv_results_["params"])
    if not model.search_complete_:
        screen.note(f"The search ended after {tried} pairs: this is the best of those. --resume continues.")
    model.set_params(verbose=False, on_interrupt="auto", cv=options.folds, time_limit=None)  # set for this fit only
    model.preparation_ = data.preparation
    save(model, output)
    show_scores(screen, _values_of(model), model.scores_.mean(axis=-1), as_errors=False)
    for note in notes:
        screen.note(note)
    screen.show(f"best: {letters(model.best_params_)}   {_judged(model)}")
    if not screen.as_json:
        screen.console.print(certificate_table(model.certificate_))
    if write is not None:
        _draw(model, options.picture, write, screen)
    took = "" if seconds is None else f" in {seconds:.2f} s"
    screen.say(f"{tried} pairs tried{took}, saved as {output}")
    if advised := dominant_feature(data, options):
        screen.say(f"advice: {advised}")
    screen.finish(
        command="tune", data=options.data, model=output, folds=options.folds, best=model.best_params_,
        score=model.best_score_, complete=model.search_complete_, pairs=tried, scores=model.scores_.mean(axis=-1),
        **_values_of(model), certificate=certificate_facts(model.certificate_),
    )  # fmt: skip
    return code or (FINE if model.certificate_.holds else NOT_CERTIFIED)


class _Resumed:
    """A model whose `fit` continues its search."""

    def __init__(self, model: Any, time_limit: float | None) -> None:
        self.model, self.time_limit = model, time_limit

    def fit(self, X: Any, y: Any) -> None:
        self.model.resume(X, y, time_limit=self.time_limit)


def _model(options: SimpleNamespace, data: Any) -> tuple[Any, Any]:
    """Return the unfitted SVCCV or SVRCV of the options, and the targets."""
    import widemargin
    from widemargin.cli.machines import prepared_machine
    from widemargin.model_selection.ranges import has_gamma

    plain, y = prepared_machine(options, data)
    kind = getattr(widemargin, TUNED[options.machine])
    known = kind._get_param_names()
    given = {name: value for name, value in plain.get_params(deep=False).items() if name in known}
    if given.get("probability") == "deprecated":  # scikit-learn's word for False
        given["probability"] = False
    Cs, gammas = options.log2c, options.log2g
    if options.grid:
        Cs, gammas = Cs or _range(GRID_C), gammas or _range(GRID_GAMMA)
    if not has_gamma(plain.kernel):
        gammas = None
    given |= {"Cs": Cs, "gammas": gammas, "cv": options.folds, "random_state": options.seed}
    given |= {"selection": options.selection, "on_interrupt": "raise", "verbose": 0 if options.quiet else 2}
    return kind(**given), y


def _saved(path: str, like: Any, screen: Screen) -> Any:
    """Return the search saved in a file, or None if there is no file."""
    if not os.path.exists(path):
        screen.note(f"{path} does not exist: a new search begins.")
        return None
    from widemargin.io.model_file import load

    model = load(path)
    if type(model) is not type(like):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, and --resume continues a {type(like).__name__}: choose another "
            "-o, or leave --resume out."
        )
    return model


def _range(text: str) -> list[float]:
    return LogRange().convert(text, None, None)


def letters(parameters: dict[str, float]) -> str:
    """Parameters as options of `train`.

    Examples
    --------
    >>> letters({"C": 10.0, "gamma": 0.5, "epsilon": 0.1})
    '-c 10 -g 0.5 -p 0.1'
    """
    words = {"C": "-c", "gamma": "-g", "epsilon": "-p"}
    return " ".join(f"{words[name]} {value:g}" for name, value in parameters.items())


def show_scores(screen: Screen, values: dict[str, Any], means: Any, *, as_errors: bool) -> None:
    """Write the table of mean scores, as wide as the terminal."""
    import numpy as np

    from widemargin.model_selection.progress import mean_table

    if not np.isfinite(means).any():
        return
    table, note = mean_table(values, means, as_errors=as_errors, width=screen.results.width)
    screen.show(table)
    if note:
        screen.say(note)


def _values_of(model: Any) -> dict[str, Any]:
    """All values tried, by parameter."""
    return {name: getattr(model, f"{name}s_") for name in model.best_params_}


def _judged(model: Any) -> str:
    """The cross-validated score in words."""
    return f"accuracy {model.best_score_:.4%}" if hasattr(model, "classes_") else f"R^2 {model.best_score_:.6g}"


def _draw(model: Any, path: str, write: Any, screen: Screen) -> None:
    """Save the heat map, or say why there is none."""
    from widemargin.plots import plot_grid_search

    if len(model.best_params_) < 2:
        screen.note("A heat map needs two parameters, and only C was searched: no picture was drawn.")
        return
    write(plot_grid_search(model).figure, path, DPI)
    screen.say(f"{path} written")
