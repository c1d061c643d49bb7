"""Implements `memorist install`, `uninstall`, `status` and `hook` for coding agents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..agents.errors_log import state_folder
from ..agents.hook import DEFAULT_USER, absolute_url, create_folder, default_url, run_hook
from ..agents.installing import Change, Installer
from ..agents.payloads import AGENTS, Agent
from ..errors import NotFound
from .display import echo
from .session import Session, confirm, session_of

WHERE = click.option("--where", type=click.Choice(["project", "user"]), default="project", show_default=True,
                     help="Only this repository, or all of your repositories.")  # fmt: skip
AGENT = click.argument("agent", type=click.Choice(AGENTS))
ROOT = click.option("--root", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".",
                    help="The folder of the repository.  [default: the current folder]")  # fmt: skip


def _agents_url(session: Session) -> str:
    """Return the URL of the agents' memory, which is one file for all repositories, separate from other memories."""
    return default_url() if session.url_option is None else absolute_url(session.url_option)


def agents_session(session: Session) -> Session:
    """Return the session for the agents' memory."""
    url = _agents_url(session)
    create_folder(url)
    return Session(url, org=session.org, as_json=session.as_json)


def _installer(session: Session, agent: Agent, where: Any, root: Path) -> Installer:
    from ..agents.hosts import Commands

    commands = Commands(sys.executable, _agents_url(session), agent, session.user or DEFAULT_USER)
    return Installer(commands, where, root.absolute(), home=Path.home(), state=state_folder())


@click.command()
@AGENT
@WHERE
@ROOT
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@session_of
def install(session: Session, agent: Agent, where: str, root: Path, yes: bool, dry_run: bool) -> None:
    """Give a coding agent a memory by adding the MCP server and hooks to its configuration.

    The command shows the changes first. It keeps a backup of every file, which `memorist uninstall` restores.
    """
    from ..agents.hosts import AFTERWARDS

    installer = _installer(session, agent, where, root)
    changes = [change for change in installer.plan() if change.is_needed]
    _show(session, changes)
    if dry_run:
        return
    if changes and not yes:
        confirm(f"Write {len(changes)} files?")
    url = _agents_url(session)
    if "://" not in url:
        Path(url).parent.mkdir(parents=True, exist_ok=True)
    installer.install()
    result = {"agent": agent, "where": where, "files": [str(change.path) for change in changes], "memory": url}
    session.done(
        result, f"{agent} has a memory at {url}. {AFTERWARDS[agent]}" if changes else f"{agent} had it already"
    )


@click.command()
@AGENT
@WHERE
@ROOT
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@session_of
def uninstall(session: Session, agent: Agent, where: str, root: Path, yes: bool, dry_run: bool) -> None:
    """Remove the memory from a coding agent's configuration. Stored memories are kept."""
    installer = _installer(session, agent, where, root)
    changes = [change for change in installer.plan_removal() if change.is_needed]
    _show(session, changes)
    if dry_run:
        return
    if not changes and installer.state() == "not installed":
        raise NotFound(f"{agent} has no memory here; `memorist status` lists what is installed")
    if changes and not yes:
        confirm(f"Change {len(changes)} files?")
    installer.uninstall()
    result = {"agent": agent, "where": where, "files": [str(change.path) for change in changes]}
    session.done(result, f"{agent} no longer has a memory here")


@click.command()
@click.argument("agent", type=click.Choice(AGENTS), required=False)
@ROOT
@session_of
def status(session: Session, agent: Agent | None, root: Path) -> None:
    """Show which coding agents use the memory, in this repository and in your user configuration."""
    names: tuple[Agent, ...] = AGENTS if agent is None else (agent,)
    rows = [
        {"agent": name, "where": where, "state": _installer(session, name, where, root).state()}
        for name in names
        for where in ("project", "user")
    ]
    session.show(rows, ["agent", "where", "state"])


def _show(session: Session, changes: list[Change]) -> None:
    if not session.as_json:
        for change in changes:
            echo(change.diff())


@click.command()
@click.argument("event")
@click.option(
    "--agent",
    type=click.Choice(AGENTS),
    default="claude-code",
    show_default=True,
    help="The agent that calls the hook.",
)
@session_of
def hook(session: Session, event: str, agent: Agent) -> None:
    """Answer a coding agent's hook: read its JSON from stdin and write the reply to stdout.

    An error never stops the agent: the command prints nothing and exits with 0. `memorist doctor` shows the error.
    """
    text = run_hook(
        event, sys.stdin.read(), agent=agent, url=_agents_url(session), user=session.user or DEFAULT_USER,
        org=session.org,
    )  # fmt: skip
    if text:
        echo(text)
