"""Implements shell completion."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, get_completion_class

from .grouping import common_options_first

SHELLS = ("bash", "zsh", "fish")
_COMMON = {"--user": "Whose memory, and only what this user may see.", "--json": "JSON for programs."}
"""Options that are allowed after any command."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script for a shell, to use as eval "$(memorist completion bash)"."""
    from .main import cli

    completion_class = get_completion_class(shell)
    if completion_class is not None:
        click.echo(completion_class(cli, {}, "memorist", "_MEMORIST_COMPLETE").source())


def complete_common_options() -> None:
    """Offer the options that are allowed after any command. Shells call this when they ask for completions."""
    for shell in SHELLS:
        add_completion_class(_with_common_options(get_completion_class(shell)), shell)


def _with_common_options(shell_class: type[ShellComplete] | None) -> type[ShellComplete]:
    assert shell_class is not None

    class Completing(shell_class):  # type: ignore[valid-type, misc]
        def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
            items: list[CompletionItem] = super().get_completions(common_options_first(args), incomplete)
            names = {item.value for item in items}
            common = [(name, help_) for name, help_ in _COMMON.items() if incomplete.startswith("-") and args]
            return items + [
                CompletionItem(name, help=help_)
                for name, help_ in common
                if name.startswith(incomplete) and name not in names
            ]

    return Completing
