"""Command groups that suggest similar names for a mistyped command."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click


class Suggesting(click.Group):
    """A group that suggests the nearest commands for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or a UsageError with suggestions."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            meant = self.elsewhere(ctx, name) or nearest(name, self.list_commands(ctx))
            hint = f"; did you mean {' or '.join(repr(one) for one in meant)}?" if meant else ""
            raise click.UsageError(f"No such command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def elsewhere(self, ctx: click.Context, name: str) -> list[str]:
        """Commands of that name in other groups."""
        return []


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three similar names, nearest first."""
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=3, cutoff=0.6)


def json_first(args: Iterable[str]) -> list[str]:
    """The arguments with `--json` moved to the front, wherever it was; arguments after `--` are unchanged."""
    given = list(args)
    end = given.index("--") if "--" in given else len(given)
    if "--json" not in given[:end]:
        return given
    return ["--json", *(one for one in given[:end] if one != "--json"), *given[end:]]


def group() -> Callable[[Callable[..., Any]], Suggesting]:
    """A decorator that makes a `Suggesting` group."""
    return click.group(cls=Suggesting)
