"""The command `widemargin`: parse, run one of the commands, and turn whatever goes wrong into a sentence.

Exit code   0  done, and where there is a certificate it holds
            1  done, but the certificate does not hold
            2  wrong usage, or a file that cannot be used
          130  interrupted before there was anything to keep
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from widemargin import __version__
from widemargin.cli.machines import add_machine_options, attach_weight_labels

FINE, NOT_CERTIFIED, UNUSABLE, INTERRUPTED = 0, 1, 2, 130

OVERVIEW = """\
Support vector machines on LIBSVM text files, each answer with a certificate.

  widemargin train heart_scale                  writes heart_scale.model
  widemargin predict heart_scale.t heart_scale.model -o answers.txt
  widemargin verify heart_scale.model heart_scale

Files may be compressed (.gz, .bz2, .xz); - is standard input. `widemargin train --help` has more examples."""

TRAIN = """\
Train a machine, certify it and save it. Letters, numbers and defaults are LIBSVM's.

  widemargin train a9a                          Gaussian kernel, C = 1, gamma = 1/features
  widemargin train a9a -c 10 -g 0.05 -o income.model
  widemargin train a9a -t linear -c inf         hard margin
  widemargin train a9a -w1 3                    errors on class 1 cost three times as much
  widemargin train -s svr -p 0.01 housing.xz    regression
  widemargin train -s oneclass -n 0.05 normal   what is usual?

Ctrl-C keeps the best machine so far: it is certified and saved like any other."""

PREDICT = """\
Predict each line of DATA with a saved MODEL; one answer per line.

  widemargin predict a9a.t a9a.model > answers.txt
  widemargin predict a9a.t a9a.model -o answers.txt

The labels in DATA are compared with the answers, and the agreement is said on the error stream."""

VERIFY = """\
Compute afresh, from the training data, how far a saved MODEL is from the optimum.

  widemargin verify a9a.model a9a

The exit code is 0 if the certificate holds and 1 if it does not."""

TRAINED = "exit code: 0 certified, 1 saved but the certificate does not hold, 2 wrong usage or file"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(attach_weight_labels(given))
    try:
        return options.run(options)
    except KeyboardInterrupt:
        return _complain("interrupted; nothing was saved.", INTERRUPTED)
    except BrokenPipeError:  # the reader of a pipe went away: nobody is left to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except Exception as error:
        if options.debug:
            raise
        message = str(error) or type(error).__name__
        if not isinstance(error, ValueError | OSError | MemoryError):
            message = f"{type(error).__name__}: {message}. This should not happen; --debug shows where it did."
        return _complain(message, UNUSABLE)


def _complain(message: str, code: int) -> int:
    """One sentence on the error stream."""
    print(f"widemargin: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    """All commands and options. What a command does stands in its own module, imported when it runs."""
    parser = _new(argparse.ArgumentParser, prog="widemargin", description=OVERVIEW)
    parser.add_argument("--version", action="version", version=f"widemargin {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    train = _new(commands.add_parser, "train", help="train a machine and save it", description=TRAIN, epilog=TRAINED)
    train.add_argument("data", metavar="FILE", help="training data, LIBSVM text")
    train.add_argument("-o", "--output", metavar="MODEL", help="where to save (FILE's name + .model, here)")
    train.add_argument("--features", type=int, metavar="N", help="number of features (the largest index in FILE)")
    add_machine_options(train)
    train.set_defaults(run=_train)

    predict = _new(commands.add_parser, "predict", help="answers for new data", description=PREDICT)
    predict.add_argument("data", metavar="DATA", help="LIBSVM text; labels may be 0 where unknown")
    predict.add_argument("model", metavar="MODEL", help="file written by train")
    predict.add_argument("-o", "--output", metavar="OUT", help="file for the answers (standard output)")
    predict.set_defaults(run=_predict)

    verify = _new(commands.add_parser, "verify", help="certificate of a saved machine", description=VERIFY)
    verify.add_argument("model", metavar="MODEL", help="file written by train")
    verify.add_argument("data", metavar="DATA", help="the data it was trained on")
    verify.set_defaults(run=_verify)

    for command in (train, predict, verify):
        command.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
        command.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return parser


def _new(make, *names: str, **settings):  # type: ignore[no-untyped-def]
    """Parsers keep the line breaks of their descriptions: the examples stand there."""
    return make(*names, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **settings)


def _train(options: argparse.Namespace) -> int:
    from widemargin.cli.train import train

    return FINE if train(options) else NOT_CERTIFIED


def _predict(options: argparse.Namespace) -> int:
    from widemargin.cli.predict import predict

    predict(options)
    return FINE


def _verify(options: argparse.Namespace) -> int:
    from widemargin.cli.verify import verify

    return FINE if verify(options) else NOT_CERTIFIED
