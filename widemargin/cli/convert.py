"""`widemargin convert`: models between our files, LIBSVM's, scikit-learn's and ONNX."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.paths import FILE, OUTPUT
from widemargin.cli.screen import Screen
from widemargin.storage.atomic import replacing
from widemargin.storage.errors import FileError

FORMATS = ("widemargin", "libsvm", "onnx", "sklearn")
BY_ENDING = {
    ".model": "widemargin",
    ".libsvm": "libsvm",
    ".onnx": "onnx",
    ".pkl": "sklearn",
    ".pickle": "sklearn",
    ".joblib": "sklearn",
}


@new_command("convert")
@click.argument("source", type=FILE, metavar="FROM")
@click.argument("destination", type=OUTPUT, metavar="TO")
@option("--to", "to", type=click.Choice(FORMATS), help="Format of TO.  [by its ending]")
@option("--trust-pickle", is_flag=True, help="FROM is a pickle and may run code: read it all the same.")
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Convert a model FROM one format TO another.

    FROM is a file of ours, of LIBSVM, or with --trust-pickle a pickled estimator of sklearn.svm.

    Examples
    --------
    widemargin convert a9a.model a9a.libsvm
        For svm-predict and everything else that reads LIBSVM's models.
    widemargin convert a9a.model a9a.onnx
        For onnxruntime.
    widemargin convert libsvm.model ours.model
        A model of LIBSVM in our format.
    widemargin convert --trust-pickle theirs.pkl ours.model
        A fitted sklearn.svm estimator; afterwards it can be verified.
    """
    source, destination = options.source, options.destination
    to = options.to or BY_ENDING.get(Path(destination).suffix.lower())
    if to is None:
        endings = ", ".join(f"{ending} ({kind})" for ending, kind in BY_ENDING.items())
        raise ValueError(
            f"{destination} does not end in a way that says its format: expected {endings}, or --to FORMAT."
        )
    model = _read(options)
    _write(model, destination, to)
    machine = type(model).__name__
    screen.say(f"{source} ({machine}) written as {to} to {destination}")
    screen.finish(command="convert", source=source, destination=destination, format=to, machine=machine)
    return FINE


def _read(options: SimpleNamespace) -> Any:
    from widemargin.cli.models import kind_of_model, open_model

    if not (options.trust_pickle and kind_of_model(options.source) == "pickle"):
        return open_model(options.source)
    import joblib

    from widemargin.io import from_sklearn

    try:
        theirs = joblib.load(options.source)
    except Exception as refused:  # a pickle may raise anything
        raise FileError(f"{options.source} cannot be unpickled ({refused}).") from None
    return from_sklearn(theirs)


def _write(model: Any, path: str, to: str) -> None:
    from widemargin import io

    if to == "sklearn":
        import joblib

        theirs = io.to_sklearn(model)
        with replacing(Path(path)) as stream:
            joblib.dump(theirs, stream)
    else:
        {"libsvm": io.write_libsvm_model, "onnx": io.to_onnx, "widemargin": io.save}[to](model, path)
