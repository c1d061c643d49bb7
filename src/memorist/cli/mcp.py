"""Implements `memorist mcp`, which serves the memory over the Model Context Protocol on stdio."""

from __future__ import annotations

import logging
import os
import sys

import click

from ..agents.projects import project_of
from ..errors import UsageError
from ..extras import install_command
from ..mcp.sdk import sparing
from .session import Session, session_of

NEEDS = f"this needs packages that are not installed; run: {install_command('mcp')}"


@click.command()
@click.option(
    "--tools",
    default="core",
    show_default=True,
    help="Tool sets, separated by commas: core, review, tasks, graph or all.",
)
@click.option(
    "--max-tokens", default=4_000, show_default=True, type=click.IntRange(200), help="The maximum tokens of an answer."
)
@click.option("--actor", metavar="NAME", help="Who makes the changes, such as agent:planner.  [default: assistant]")
@click.option(
    "--project",
    metavar="FOLDER",
    help="Share the notes of this folder's repository with the hooks, and keep memories about it in it.",
)
@click.option("--quiet", is_flag=True, help="Do not log each call to stderr.")
@session_of
def mcp(session: Session, tools: str, max_tokens: int, actor: str | None, project: str | None, quiet: bool) -> None:
    """Serve the memory to an assistant over MCP, on stdin and stdout.

    Claude, Cursor and VS Code start this command themselves. With --user, it serves only that user's memory. Without
    it, it serves the whole org, and `user:me` is the default namespace.
    """
    try:
        with sparing():
            from ..mcp.server import Options
            from ..mcp.stdio import serve_stdio
            from ..mcp.tools import chosen_sets
    except ModuleNotFoundError as missing:
        raise UsageError(NEEDS) from missing
    from ..memory import AsyncMemory

    repository = None if project is None else project_of(_folder_of(project))
    options = Options(sets=chosen_sets(tools), max_tokens=max_tokens, project=repository)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("memorist.mcp").setLevel(logging.WARNING if quiet else logging.INFO)
    # On a server the actor is that of the API key.
    default = "user" if session.url.startswith(("http://", "https://")) else "assistant"
    grants = () if repository is None or session.user is None else (repository.namespace,)
    memory = AsyncMemory(
        session.url, hot=session.hot, org=session.org, user=session.user, actor=actor or default, write=grants,
        **session.settings(),
    )  # fmt: skip
    serve_stdio(memory, options)


def _folder_of(project: str) -> str:
    """Return the folder of a repository. Claude Code names it, because it may start servers elsewhere."""
    return os.environ.get("CLAUDE_PROJECT_DIR", project) if project == "." else project
