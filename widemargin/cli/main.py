"""The command `widemargin`: find the command, run it, and convert errors to a sentence and an exit code."""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO, cast

import click

from widemargin import __version__
from widemargin.cli.command import BUG, FINE, INTERRUPTED, READER_GONE, TERMINATED, UNUSABLE, LazyGroup
from widemargin.cli.screen import LAYOUT
from widemargin.cli.standard_output import StandardOutput
from widemargin.monitor.interrupt import Termination
from widemargin.monitor.printable import printable
from widemargin.storage.errors import FileError, ModelError

COMMANDS = {
    "train": ("widemargin.cli.train", "Train a model, certify it and save it."),
    "predict": ("widemargin.cli.predict", "Answers of a saved model for new data."),
    "scale": ("widemargin.cli.scale", "Bring every feature of a file into a range."),
    "cv": ("widemargin.cli.cv", "Cross-validation, also over a grid of C and gamma."),
    "tune": ("widemargin.cli.tune", "Find C and gamma by cross-validation, and train with them."),
    "verify": ("widemargin.cli.verify", "Recomputed certificate of a saved model."),
    "convert": ("widemargin.cli.convert", "Models from and to LIBSVM, scikit-learn and ONNX."),
    "plot": ("widemargin.cli.plot", "A picture of a model and its data."),
    "report": ("widemargin.cli.report", "One HTML page about a model."),
    "toy": ("widemargin.cli.toy", "Points and machines to play with, in the browser."),
    "bench": ("widemargin.cli.bench", "Fit and predict beside scikit-learn on your file."),
    "warmup": ("widemargin.cli.warmup", "Compile everything now rather than at first use."),
    "info": ("widemargin.cli.info", "What a model file holds; versions and hardware."),
    "completion": ("widemargin.cli.completion", "Script that completes commands and options in a shell."),
}


@click.group(cls=LazyGroup, modules=COMMANDS, no_args_is_help=True)
@click.version_option(__version__, message="widemargin %(version)s")
def widemargin() -> None:
    """Support vector machines, each answer with a certificate.

    \b
    widemargin train heart_scale                     writes heart_scale.model
    widemargin predict heart_scale.t heart_scale.model answers.txt
    widemargin verify heart_scale.model heart_scale

    Data: LIBSVM text, CSV, TSV, Parquet, Arrow, .npz, .npy, FASTA; .gz, .bz2 and .xz of the texts; - is standard
    input. LIBSVM's letters work beside the words. `widemargin COMMAND --help` has examples.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if sys.stdout is None:  # closed before we began (>&-)
        sys.stdout = open(os.devnull)  # whoever writes to it gets an error  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    given = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:  # the process is ours
        atexit.register(gc.freeze)  # or the interpreter, at its end, searches everything imported for garbage: 0.3 s
    if given[-1:] == ["-h"]:  # with a value it is LIBSVM's shrinking
        given[-1] = "--help"
    output = StandardOutput(sys.stdout)
    with terminated_like_ctrl_c() as termination, redirect_stdout(cast(TextIO, output)):
        try:
            return _run(given, termination)
        except (BrokenPipeError, SystemExit):  # click and rich turn the first into the second
            output.drop()
            return READER_GONE
        finally:
            if output.failed:
                output.drop()


@contextmanager
def terminated_like_ctrl_c() -> Iterator[Termination]:
    """Context in which SIGTERM acts as Ctrl-C does: containers send it ten seconds before they kill."""
    termination = Termination()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield termination
        return
    signal.signal(signal.SIGTERM, termination)
    try:
        yield termination
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _run(given: list[str], termination: Termination) -> int:
    try:
        code = widemargin.main(given, prog_name="widemargin", standalone_mode=False)
        if sys.stdout.writable():
            sys.stdout.flush()  # an error now is ours, one at the end of the process is a traceback
        if code == INTERRUPTED and termination.came:
            return TERMINATED
        return code if isinstance(code, int) else FINE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return UNUSABLE
    except click.UsageError as error:
        command = f"widemargin {given[0]}" if given[0] in COMMANDS else "widemargin"
        message = error.format_message().rstrip(".")
        return _complain(f"{message}. `{command} --help` shows what is possible.", given, UNUSABLE)
    except (click.Abort, KeyboardInterrupt):
        code = TERMINATED if termination.came else INTERRUPTED
        return _complain("interrupted before the result was complete.", given, code)
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in given:
            traceback.print_exc()
        message = str(error) or type(error).__name__
        if isinstance(error, ValueError | OSError | MemoryError | ImportError | ModelError):
            return _complain(message, given, UNUSABLE)
        message = f"{type(error).__name__}: {message}. This should not happen; --debug shows where it did."
        return _complain(message, given, BUG)


def _complain(message: str, given: Sequence[str], code: int) -> int:
    """Write one sentence to the error stream; with --json also an object to standard output."""
    with suppress(OSError):
        print(f"widemargin: {printable(message, LAYOUT)}", file=sys.stderr)
    if "--json" in given:
        with suppress(OSError, FileError):
            print(json.dumps({"error": message, "exit_code": code}), flush=True)
    return code
