"""`widemargin completion`: a script that completes commands, options and their values in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from widemargin.cli.command import FINE, Command


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script for a SHELL.

    Examples
    --------
    widemargin completion bash >> ~/.bashrc
        For bash; open a new shell afterwards.
    widemargin completion zsh >> ~/.zshrc
        For zsh.
    widemargin completion fish > ~/.config/fish/completions/widemargin.fish
        For fish.
    """
    from widemargin.cli.main import widemargin

    kind = get_completion_class(shell)
    assert kind is not None  # the three are click's own
    click.echo(kind(widemargin, {}, "widemargin", "_WIDEMARGIN_COMPLETE").source())
    return FINE
