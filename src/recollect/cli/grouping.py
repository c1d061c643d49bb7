"""Groups of commands that suggest what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click


class Suggesting(click.Group):
    """A group that names the nearest command when there is none of the name given."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or an error that says which was probably meant."""
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
    """The names that differ by a slip or two, nearest first."""
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=3, cutoff=0.6)


def json_first(args: Iterable[str]) -> list[str]:
    """The arguments with `--json` before the command, wherever it stood; what comes after `--` is left alone."""
    given = list(args)
    end = given.index("--") if "--" in given else len(given)
    if "--json" not in given[:end]:
        return given
    return ["--json", *(one for one in given[:end] if one != "--json"), *given[end:]]


def group() -> Callable[[Callable[..., Any]], Suggesting]:
    """A decorator for a group of commands that suggests."""
    return click.group(cls=Suggesting)
