"""The format of commands: options under headings, examples, exit codes; and a group that imports commands on use.

`widemargin --help` lists a dozen commands without importing them: importing scikit-learn takes over a second.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

from widemargin._lazy import no_garbage_collection
from widemargin.cli.paths import OutputPath, check_paths
from widemargin.cli.screen import Screen

FINE, NOT_CERTIFIED, UNUSABLE, BUG = 0, 1, 2, 3
INTERRUPTED, READER_GONE, TERMINATED = 130, 141, 143  # 128 + number of the signal, as shells count

EXIT_CODES = (
    ("0", "done; where there is a certificate it holds"),
    ("1", "done, but the certificate does not hold, as of a fit that Ctrl-C or SIGTERM ended"),
    ("2", "wrong usage, or a file that cannot be used"),
    ("3", "internal error (a bug in widemargin); --debug shows the traceback"),
    ("130", "ended by Ctrl-C before the result was complete"),
    ("141", "standard output was closed by its reader, as by `head -1`"),
    ("143", "ended by SIGTERM before the result was complete"),
)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Option(click.Option):
    """An option with the heading under which the help shows it."""

    def __init__(self, *arguments: Any, heading: str = "Options", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.heading = heading


class Command(click.Command):
    """A command whose help groups options by heading and ends with examples and exit codes.

    The help text is the docstring of the command's function, up to its section "Examples", which is shown as it is.
    """

    def __init__(self, name: str, help: str | None = None, **settings: Any) -> None:
        settings.setdefault("context_settings", {})["help_option_names"] = ["--help"]  # -h 0 is LIBSVM's shrinking
        text, _, self.examples = inspect.cleandoc(help or "").partition("\nExamples\n--------\n")
        super().__init__(name, help=text, **settings)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """One section for each heading, in the order in which they first occur; "Options" comes last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "heading", "Options"), []).append(record)
        sections["Options"] = sections.pop("Options")
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples and exit codes last, where they are visible in a terminal."""
        with formatter.section("Examples"):
            formatter.write(textwrap.indent(self.examples, " " * formatter.current_indent) + "\n")
        write_exit_codes(formatter)


class LazyGroup(click.Group):
    """A group with a name and one line per command, which imports a command's module when it is called."""

    def __init__(self, *arguments: Any, modules: dict[str, tuple[str, str]], **settings: Any) -> None:
        settings.setdefault("context_settings", {})["max_content_width"] = 110
        super().__init__(*arguments, **settings)
        self.modules = modules  # name -> (module, what it does)

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.modules:
            return None
        with no_garbage_collection():
            return importlib.import_module(self.modules[name][0]).command

    def resolve_command(self, context: click.Context, arguments: list[str]) -> Any:
        """Resolve a command; for an unknown one, suggest the nearest name."""
        name = arguments[0]
        if name not in self.modules and not name.startswith("-"):
            near = difflib.get_close_matches(name, self.modules, 1)
            advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.modules)}."
            raise click.UsageError(f"No command is called {name!r}; {advice}", context)
        return super().resolve_command(context, arguments)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, meaning) for name, (_, meaning) in self.modules.items()])

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        write_exit_codes(formatter)


def write_exit_codes(formatter: click.HelpFormatter) -> None:
    """Add the section "Exit codes" to a help text."""
    with formatter.section("Exit codes"):
        formatter.write_dl(EXIT_CODES)


def new_command(name: str) -> Callable[..., click.Command]:
    """Decorator that turns a function (options, screen) -> exit code into a command; its docstring is the help text.

    Every command has --quiet, --json and --debug beside its own options. Before it runs, its outputs are checked: they
    can be written, and are none of its inputs.
    """

    def decorate(function: Callable[[SimpleNamespace, Screen], int]) -> click.Command:
        @functools.wraps(function)
        def run(**given: Any) -> int:
            paths = [one for one in made.params if isinstance(one.type, click.Path)]
            outputs = [given[str(one.name)] for one in paths if isinstance(one.type, OutputPath)]
            inputs = [given[str(one.name)] for one in paths if not isinstance(one.type, OutputPath)]
            check_paths(inputs, outputs)
            return function(SimpleNamespace(**given), Screen(quiet=given["quiet"], as_json=given["as_json"]))

        made = click.command(name, cls=Command)(run)
        made.params += [
            Option(["-q", "--quiet"], is_flag=True, help="Say nothing but errors."),
            Option(["--json", "as_json"], is_flag=True, help="Write one JSON object to standard output."),
            Option(["--debug"], is_flag=True, hidden=True),
        ]
        return made

    return decorate


def option(*names: str, heading: str = "Options", **settings: Any) -> Decorator:
    """Decorator for one option."""
    return click.option(*names, cls=Option, heading=heading, **settings)


def together(*parameters: Decorator) -> Decorator:
    """Decorator for several options and arguments, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for add in reversed(parameters):
            function = add(function)
        return function

    return decorate
