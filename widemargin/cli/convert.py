"""`widemargin convert`: models between our files, LIBSVM's, scikit-learn's and ONNX."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option, said_options
from widemargin.cli.parameters import FILE
from widemargin.cli.screen import Screen

FORMATS = ("widemargin", "libsvm", "onnx", "sklearn")
BY_ENDING = {".onnx": "onnx", ".libsvm": "libsvm", ".pkl": "sklearn", ".pickle": "sklearn", ".joblib": "sklearn"}

EXAMPLES = (
    ("convert a9a.model a9a.libsvm", "For svm-predict and everything else that reads LIBSVM's models."),
    ("convert a9a.model a9a.onnx", "For onnxruntime."),
    ("convert libsvm.model ours.model", "A model of LIBSVM in our format."),
    ("convert --trust-pickle theirs.pkl ours.model", "A fitted sklearn.svm estimator; afterwards it can be verified."),
)


@new_command("convert", examples=EXAMPLES)
@click.argument("source", type=FILE, metavar="FROM")
@click.argument("destination", type=FILE, metavar="TO")
@option("--to", "to", type=click.Choice(FORMATS), help="Format of TO.  [by its ending; widemargin]")
@option("--trust-pickle", is_flag=True, help="FROM is a pickle and may run code: read it all the same.")
@said_options
def command(**given: Any) -> int:
    """Convert a model FROM one format TO another.

    FROM is a file of ours, of LIBSVM, or with --trust-pickle a pickled estimator of sklearn.svm.
    """
    return convert(SimpleNamespace(**given))


def convert(options: SimpleNamespace) -> int:
    """Read, write, say what was done."""
    from pathlib import Path

    from widemargin.storage.archive import check_writable

    screen = Screen(quiet=options.quiet, as_json=options.as_json)
    to = options.to or BY_ENDING.get(Path(options.destination).suffix.lower(), "widemargin")
    check_writable(options.destination)
    model = _read(options)
    _write(model, options.destination, to)
    screen.say(f"{options.source} ({type(model).__name__}) written as {to} to {options.destination}")
    screen.finish(command="convert", source=options.source, destination=options.destination, format=to,
                  machine=type(model).__name__)  # fmt: skip
    return FINE


def _read(options: SimpleNamespace) -> Any:
    from widemargin.cli.models import kind_of_model, open_model
    from widemargin.storage.errors import FileError

    if not (options.trust_pickle and kind_of_model(options.source) == "pickle"):
        return open_model(options.source)
    from widemargin.io.sklearn_models import from_sklearn

    try:
        import joblib

        theirs = joblib.load(options.source)
    except Exception as refused:  # a pickle may raise anything
        raise FileError(f"{options.source} cannot be unpickled ({refused}).") from None
    return from_sklearn(theirs)


def _write(model: Any, path: str, to: str) -> None:
    if to == "libsvm":
        from widemargin.io.libsvm_model import write_libsvm_model

        write_libsvm_model(model, path)
    elif to == "onnx":
        from widemargin.io.onnx_export import to_onnx

        to_onnx(model, path)
    elif to == "sklearn":
        import joblib

        from widemargin.io.sklearn_models import to_sklearn

        joblib.dump(to_sklearn(model), path)
    else:
        from widemargin.io.model_file import save

        save(model, path)
