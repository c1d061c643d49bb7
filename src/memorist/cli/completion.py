"""Shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script: eval "$(memorist completion bash)"."""
    from .main import cli

    made = get_completion_class(shell)
    if made is not None:
        click.echo(made(cli, {}, "memorist", "_MEMORIST_COMPLETE").source())
