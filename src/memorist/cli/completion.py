"""Shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script: eval "$(memorist completion bash)"."""
    from .main import cli

    completion_class = get_completion_class(shell)
    if completion_class is not None:
        click.echo(completion_class(cli, {}, "memorist", "_MEMORIST_COMPLETE").source())
