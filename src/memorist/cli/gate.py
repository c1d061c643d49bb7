"""Implements `memorist gate`, which shows and sets what may be written."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from ..errors import UsageError
from ..values import JsonObject
from .display import echo
from .grouping import group
from .session import Session, session_of


@group()
def gate() -> None:
    """Decide what may be stored: secrets, personal data and retention."""


@gate.command("show")
@session_of
def show_policy(session: Session) -> None:
    """Show the org's policy."""
    with session.memory() as memory:
        policy = memory.gate.get().to_dict()
        session.fields(policy)


@gate.command("set")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--secret", "secrets", multiple=True, metavar="KIND=ACTION", help="Mask, refuse or allow this kind of secret."
)
@click.option("--messages", type=click.Choice(["keep", "mask", "refuse"]), help="What to do with secrets in messages.")
@click.option(
    "--personal",
    multiple=True,
    metavar="CLASS=RULE",
    help="What to do with this class: allow, review, refuse or 'expire 30d'.",
)
@click.option("--reset", is_flag=True, help="Remove the stored policy first.")
@session_of
def set_policy(
    session: Session,
    file: Path | None,
    secrets: tuple[str, ...],
    messages: str | None,
    personal: tuple[str, ...],
    reset: bool,
) -> None:
    """Store the org's policy from a JSON or TOML FILE and from options. Options override the file."""
    with session.memory(create=True) as memory:
        if reset:
            memory.gate.reset()
        current = memory.gate.get()
        parts: JsonObject = {} if file is None else _read(file)
        if secrets:
            parts["secrets"] = {**parts.get("secrets", current.secrets), **dict(map(_pair, secrets))}
        if personal:
            parts["personal"] = {**parts.get("personal", current.personal), **dict(map(_pair, personal))}
        if messages is not None:
            parts["messages"] = messages
        try:
            policy = memory.gate.set(**parts) if parts else current
        except TypeError as problem:
            raise UsageError(
                f"the file contains a field that a policy does not have; it contains {', '.join(parts)}"
            ) from problem
        session.fields(policy.to_dict())


@gate.command("check")
@click.argument("text")
@session_of
def check_text(session: Session, text: str) -> None:
    """Show which secrets and personal data the gate finds in TEXT, and how TEXT would be stored."""
    with session.memory() as memory:
        check = memory.gate.check(text)
        session.fields(check.to_dict())


@gate.command("report")
@session_of
def show_report(session: Session) -> None:
    """Count the gate's actions by kind of secret and class of personal data."""
    with session.memory() as memory:
        report = memory.gate.report()
        session.fields(report.to_dict())
        if not session.as_json and not any(report.to_dict().values()):
            echo("nothing has been masked, refused or held back yet")


def _read(file: Path) -> JsonObject:
    text = file.read_text("utf-8")
    if file.suffix == ".toml":
        import tomllib

        return tomllib.loads(text)
    try:
        parts = msgspec.json.decode(text)
    except msgspec.DecodeError as problem:
        raise UsageError(f"{file.name} is not JSON: {problem}") from problem
    if not isinstance(parts, dict):
        raise UsageError(f"{file.name} contains no policy; see docs/gate.md")
    return parts


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise UsageError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()
