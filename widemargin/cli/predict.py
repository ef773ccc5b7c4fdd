"""`widemargin predict`: one answer per line, and how well the answers agree with the labels in the file."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.options import SWITCH, format_options
from widemargin.cli.paths import FILE, OUTPUT_OR_STREAM, one_output
from widemargin.cli.screen import Screen, open_output
from widemargin.monitor.printable import printable

ROWS_PER_BLOCK = 16_384  # samples per block: large enough for full speed


@new_command("predict")
@click.argument("data", type=FILE)
@click.argument("model", type=FILE)
@click.argument("answers", type=OUTPUT_OR_STREAM, metavar="[OUTPUT]", required=False)
@option("-o", "--output", type=OUTPUT_OR_STREAM, metavar="OUT", help="File for the answers.  [standard output]")
@option(
    "-b",
    "--probability",
    **SWITCH,
    default="0",
    help="1: probabilities behind each answer; the scale of errors of a regression.  [0]",
)
@option("--decision", is_flag=True, help="Decision values behind each answer.")
@format_options
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Predict each sample of DATA with a saved MODEL, ours or LIBSVM's.

    Labels in DATA are compared with the answers, and the agreement is written to the error stream; where labels are
    not known, any number will do. Features that the model does not have are ignored, with a note.

    Examples
    --------
    widemargin predict a9a.t a9a.model > answers.txt
        One answer per line.
    widemargin predict a9a.t a9a.model answers.txt -b 1
        With probabilities, as svm-predict writes them.
    widemargin predict new.csv people.csv.model --json
        Answers and accuracy as JSON.
    """
    from widemargin.cli.data import read_like
    from widemargin.cli.models import agreement, check_order, open_model

    output = one_output(options.answers, options.output)
    check_order(options)
    model = open_model(options.model)
    data = read_like(model, options, screen, every_row=True)
    for note in data.notes:
        screen.note(note)
    answers = in_blocks(model.predict, data.X, screen)
    heading, columns = _more(model, data.X, options, screen)
    if not screen.as_json or output not in (None, "-"):
        with open_output(output) as stream:
            stream.write(_lines(answers, heading, columns))
    agreed = agreement(model, answers, data.y)
    if agreed:
        screen.say(agreed.pop("words"))
    facts = {"command": "predict", "model": options.model, "data": options.data, "samples": len(data), **agreed}
    if output in (None, "-"):
        facts["answers"] = answers
        if columns is not None:
            facts["decision" if options.decision else "probability"] = columns
    screen.finish(**facts)
    return FINE


def in_blocks(function: Callable[[Any], Any], X: Any, screen: Screen) -> Any:
    """Apply a function to blocks of samples, so that progress can be shown."""
    import numpy as np

    parts = []
    n_samples = len(X) if isinstance(X, list) else X.shape[0]
    with screen.progress("predicting", n_samples) as steps:
        for begin in range(0, n_samples, ROWS_PER_BLOCK):
            parts.append(function(X[begin : begin + ROWS_PER_BLOCK]))
            steps.advance(len(parts[-1]))
    return np.concatenate(parts)


def _more(model: Any, X: Any, options: SimpleNamespace, screen: Screen) -> tuple[str | None, Any]:
    """Heading and columns behind the answers: probabilities as svm-predict writes them, decision values."""
    if options.probability:
        return _probabilities(model, X, options, screen)
    if options.decision:
        if not hasattr(model, "decision_function"):
            raise ValueError("A regression has no decision values beside its answers: leave --decision out.")
        values = in_blocks(model.decision_function, X, screen)
        return None, values.reshape(len(values), -1)
    return None, None


def _probabilities(model: Any, X: Any, options: SimpleNamespace, screen: Screen) -> tuple[str | None, Any]:
    """Heading and columns of -b 1 as svm-predict writes them.

    A classifier: probabilities of the classes in the model's order of labels, which is sorted unless LIBSVM trained it.
    A one-class SVM: the probability of a normal sample, and of an outlier. A regression: its answers alone; the scale
    of their errors is a note.
    """
    import numpy as np

    if hasattr(model, "predict_proba"):
        order = getattr(model, "tie_order_", np.arange(len(model.classes_)))
        heading = " ".join(["labels", *map(_word, model.classes_[order])])
        return heading, in_blocks(model.predict_proba, X, screen)[:, order]
    if hasattr(model, "inlier_probability"):
        normal = in_blocks(model.inlier_probability, X, screen)
        return "label normal outlier", np.column_stack([normal, 1.0 - normal])
    if len(getattr(model, "probA_", ())) == 1:
        screen.note(
            "Prob. model for test data: target value = predicted value + z, "
            f"z: Laplace distribution e^(-|z|/sigma)/(2sigma), sigma = {model.probA_[0]:g}"
        )
        return None, None
    raise ValueError(f"{options.model} gives no probabilities: train it with -b 1, as an svc, nusvc, svr or nusvr.")


def _lines(answers: Any, heading: str | None, columns: Any) -> str:
    """Return the text of the answers."""
    words = [_word(answer) for answer in answers]
    if columns is not None:
        words = [" ".join([word, *map(_word, row)]) for word, row in zip(words, columns)]
    return "\n".join(([heading] if heading else []) + words) + "\n"


def _word(value: Any) -> str:
    """A label as it was written, on one line and without control characters; a number in full."""
    is_real = getattr(value, "dtype", None) is not None and value.dtype.kind == "f"
    return f"{value:.17g}" if is_real else printable(str(value))
