"""`widemargin predict`: one answer per line, and how well the answers agree with the labels in the file."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from widemargin.cli.command import FINE, new_command, option
from widemargin.cli.data import FORMAT_OPTION, HEADER_OPTION, Data, labels_as_written, read_like
from widemargin.cli.parameters import FILE, SWITCH
from widemargin.cli.screen import Screen, open_output

ROWS_PER_BLOCK = 16_384  # large enough that prediction runs at full speed

EXAMPLES = (
    ("predict a9a.t a9a.model > answers.txt", "One answer per line."),
    ("predict a9a.t a9a.model answers.txt -b 1", "With probabilities, as svm-predict writes them."),
    ("predict new.csv people.csv.model --json", "Answers and accuracy as JSON."),
)


@new_command("predict", examples=EXAMPLES)
@click.argument("data", type=FILE)
@click.argument("model", type=FILE)
@click.argument("answers", type=FILE, metavar="[OUTPUT]", required=False)
@option("-o", "--output", type=FILE, metavar="OUT", help="File for the answers.  [standard output]")
@option(
    "-b", "--probability", type=SWITCH, default="0", help="1: probabilities of the classes behind each answer.  [0]"
)
@option("--decision", is_flag=True, help="Decision values behind each answer.")
@FORMAT_OPTION
@HEADER_OPTION
def command(options: SimpleNamespace, screen: Screen) -> int:
    """Predict each sample of DATA with a saved MODEL, ours or LIBSVM's.

    Labels in DATA are compared with the answers, and the agreement is said on the error stream; where labels are not
    known, any number will do. Features that the model does not know are ignored, and that is said.
    """
    from widemargin.cli.models import open_model

    output = options.output or options.answers
    model = open_model(options.model)
    data = read_like(model, options, screen)
    for note in data.notes:
        screen.note(note)
    answers = in_blocks(model.predict, data, screen)
    heading, columns = _more(model, data, options, screen)
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


def in_blocks(function: Callable[[Any], Any], data: Data, screen: Screen) -> Any:
    """A function of the samples, some at a time, so that progress can be shown."""
    import numpy as np

    parts = []
    with screen.compiling(), screen.progress("predicting", len(data)) as steps:
        for begin in range(0, len(data), ROWS_PER_BLOCK):
            parts.append(function(data.X[begin : begin + ROWS_PER_BLOCK]))
            steps.advance(len(parts[-1]))
    return np.concatenate(parts)


def agreement(model: Any, answers: Any, y: Any) -> dict[str, Any]:
    """How well the answers agree with the labels: the share that is right, or a regression's error."""
    import numpy as np

    if y is None:
        return {}
    if hasattr(model, "classes_") or hasattr(model, "offset_"):
        given = labels_as_written(y)
        if (given.dtype.kind == "U") != (answers.dtype.kind == "U"):
            return {}
        right = int(np.sum(answers == given))
        words = f"accuracy {right / len(y):.4%} ({right:,} of {len(y):,})"
        return {"words": words, "accuracy": right / len(y), "right": right}
    if y.dtype.kind not in "fiub":
        return {}
    error = float(np.mean((answers - y) ** 2))
    varies = np.ptp(answers) > 0 and np.ptp(y) > 0
    correlation = float(np.corrcoef(answers, y)[0, 1] ** 2) if varies else float("nan")
    words = f"mean squared error {error:.6g}, squared correlation {correlation:.6g}"
    return {"words": words, "mean_squared_error": error, "squared_correlation": correlation}


def _more(model: Any, data: Data, options: SimpleNamespace, screen: Screen) -> tuple[str | None, Any]:
    """Heading and columns that stand behind the answers: probabilities as svm-predict writes them, decision values."""
    if options.probability:
        if not hasattr(model, "predict_proba"):
            raise ValueError(f"{options.model} gives no probabilities: train it with -b 1.")
        heading = " ".join(["labels", *map(_word, model.classes_)])
        return heading, in_blocks(model.predict_proba, data, screen)
    if options.decision:
        if not hasattr(model, "decision_function"):
            raise ValueError("A regression has no decision values beside its answers: leave --decision out.")
        values = in_blocks(model.decision_function, data, screen)
        return None, values.reshape(len(values), -1)
    return None, None


def _lines(answers: Any, heading: str | None, columns: Any) -> str:
    """The text of the answers."""
    words = [_word(answer) for answer in answers]
    if columns is not None:
        words = [" ".join([word, *map(_word, row)]) for word, row in zip(words, columns)]
    return "\n".join(([heading] if heading else []) + words) + "\n"


def _word(value: Any) -> str:
    """A label as it was written, a number in full."""
    return f"{value:.17g}" if getattr(value, "dtype", None) is not None and value.dtype.kind == "f" else str(value)
