"""Implements `memorist mcp`, which serves the memory over the Model Context Protocol on stdio."""

from __future__ import annotations

import json
import logging
import os
import sys

import click

from ..agents.hook import DEFAULT_USER
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
    help="The tool sets, separated by commas: core, review, tasks, graph or all.",
)
@click.option(
    "--max-tokens",
    default=4_000,
    show_default=True,
    type=click.IntRange(200),
    help="The maximum number of tokens in an answer.",
)
@click.option("--actor", metavar="NAME", help="Who makes the changes, such as agent:planner.  [default: assistant]")
@click.option(
    "--project",
    metavar="FOLDER",
    help="Share notes about the repository in this folder with the hooks, and store memories about it there.",
)
@click.option("--quiet", is_flag=True, help="Do not log each call to stderr.")
@session_of
def mcp(session: Session, tools: str, max_tokens: int, actor: str | None, project: str | None, quiet: bool) -> None:
    """Serve the memory to an assistant over MCP, on stdin and stdout.

    Claude, Cursor and VS Code start this command themselves. With --user, it serves only that user's memory. Without
    it, it serves the whole org, and `user:me` is the default namespace. With --project, it serves one user, `me` by
    default, and the notes of one repository.
    """
    try:
        with sparing():
            from ..mcp.server import Options
            from ..mcp.stdio import serve_stdio
            from ..mcp.tools import chosen_sets
    except ModuleNotFoundError as missing:
        raise UsageError(NEEDS) from missing
    from ..memory import AsyncMemory

    repository = None if project is None else project_of(folder_of(project))
    options = Options(sets=chosen_sets(tools), max_tokens=max_tokens, project=repository)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("memorist.mcp").setLevel(logging.WARNING if quiet else logging.INFO)
    is_remote = session.url.startswith(("http://", "https://"))
    # On a server the actor is that of the API key.
    default = "user" if is_remote else "assistant"
    # Without a user the server serves the whole org, and with it the notes of every repository.
    user = session.user if repository is None or is_remote else session.user or DEFAULT_USER
    grants = () if repository is None or user is None else (repository.namespace,)
    memory = AsyncMemory(
        session.url, hot=session.hot, org=session.org, user=user, actor=actor or default, write=grants,
        **session.settings(),
    )  # fmt: skip
    serve_stdio(memory, options)


def folder_of(project: str) -> str:
    """Return the folder of a repository. Claude Code and Cursor name it, because they may start servers elsewhere."""
    if project != ".":
        return project
    if folder := os.environ.get("CLAUDE_PROJECT_DIR"):
        return folder
    text = os.environ.get("WORKSPACE_FOLDER_PATHS", "")
    folders = json.loads(text) if text.startswith("[") else text.split(",")
    return next((folder for folder in folders if os.path.isdir(folder)), project)
