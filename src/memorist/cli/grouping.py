"""Defines command groups that suggest similar names for a mistyped command."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click


class Suggesting(click.Group):
    """Represents a group that suggests the nearest commands for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command, or raise a UsageError with suggestions."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            suggestion = self.elsewhere(ctx, name) or nearest(name, self.list_commands(ctx))
            hint = f"; did you mean {' or '.join(repr(command) for command in suggestion)}?" if suggestion else ""
            raise click.UsageError(f"No such command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def elsewhere(self, ctx: click.Context, name: str) -> list[str]:
        """Return the commands with that name in other groups."""
        return []


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three similar names, nearest first."""
    from difflib import get_close_matches

    return get_close_matches(name, list(names), n=3, cutoff=0.6)


def common_options_first(args: Iterable[str]) -> list[str]:
    """Return the arguments with `--json` and `--user NAME` moved to the front, wherever they were.

    Arguments after `--` are unchanged.
    """
    arguments = list(args)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    json: list[str] = []
    user: list[str] = []
    rest: list[str] = []
    words = iter(arguments[:end])
    for word in words:
        if word == "--json":
            json = [word]
        elif word == "--user":
            # Without a name after it, click says what is missing.
            user = [word, *([name] if (name := next(words, None)) is not None else [])]
        elif word.startswith("--user="):
            user = [word]
        else:
            rest.append(word)
    return [*json, *user, *rest, *arguments[end:]]


class InNamespace(click.Command):
    """Represents a command whose first argument, NAMESPACE, can be left out with `--user NAME`. The user's own
    namespace is then used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments with the user's namespace in front, if one argument is missing."""
        from .session import Session

        session = ctx.find_object(Session)
        required = [param for param in self.params if isinstance(param, click.Argument) and param.required]
        if session is not None and session.user is not None:
            values, _, _ = self.make_parser(ctx).parse_args(list(args))
            if not isinstance(values.get(str(required[-1].name)), str):
                args = [f"user:{session.user}", *args]
        return super().parse_args(ctx, args)


def group() -> Callable[[Callable[..., object]], Suggesting]:
    """Return a decorator that creates a `Suggesting` group."""
    return click.group(cls=Suggesting)
