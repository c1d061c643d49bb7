"""Defines the entry point `memorist`, with the global options and the table of commands, each imported on use."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import __version__
from .grouping import Suggesting, common_options_first
from .problems import end
from .session import Session

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Everyday": {
        "remember": ("memories", "Store a statement and show what was understood."),
        "recall": ("finding", "Find memories relevant to a query, with reasons."),
        "context": ("finding", "Assemble the request for an input and show where its tokens go."),
        "memories": ("memories", "Manage all memories: list, search, show, update, undo, delete."),
        "facts": ("facts", "Manage facts: list, get, set, delete, history, correct, end and so on."),
        "threads": ("threads", "Manage conversations: list, show, create, append, delete, summaries."),
        "profile": ("people", "Show everything known about one user: profile show USER."),
        "why": ("maintenance", "Show where a memory came from, back to the messages."),
        "forget": ("maintenance", "Delete something and everything derived from it."),
        "open": ("serve", "Open a memory in the browser: open FILE."),
    },
    "What is remembered": {
        "memory": ("facts", "List facts by namespace: memory list NS."),
        "events": ("memories", "Manage events, past and planned: list, add, cancel."),
        "learnings": ("people", "Manage learnings about a user: list, add, delete."),
        "documents": ("documents", "Manage documents: add, list, delete."),
        "state": ("state", "Manage small values and counters: get, set, delete, increment."),
        "records": ("records", "Manage the data of integrations: list, get, put, delete."),
        "tasks": ("tasks", "Manage resumable tasks: list, show, delete."),
        "namespaces": ("health", "List the namespaces that are not empty."),
    },
    "Review and clean up": {
        "extract": ("extracting", "Show which facts a text would produce."),
        "gate": ("gate", "Decide what may be stored: show, set, check, report."),
        "review": ("memories", "Approve or reject proposed memories: list, edit, approve, reject."),
        "tidy": ("memories", "Plan how to merge duplicates and end outdated memories."),
        "redteam": ("redteam", "Replay attempts to plant memories and report which ones succeed."),
        "audit": ("maintenance", "List who changed what and when."),
        "scrub": ("maintenance", "Rewrite the store's files without the bytes of deleted rows."),
    },
    "Test and measure": {
        "test": ("testing", "Test what the memory sends: cases in *.memory.yaml."),
        "eval": ("testing", "Measure how much of the evidence for known questions is sent to the model."),
    },
    "Models and agents": {
        "chat": ("chat", "Chat with memory, with a model or an echo: /why, /forget, /context."),
        "mcp": ("mcp", "Serve the memory to an assistant over MCP, on stdio."),
        "proxy": ("proxy", "Forward requests to a model provider and add memory to them."),
        "install": ("agents", "Give a coding agent a memory: install claude-code."),
        "uninstall": ("agents", "Remove the memory from a coding agent."),
        "status": ("agents", "Show which coding agents use the memory."),
        "mirror": (
            "mirroring",
            "Keep coding agents' notes in step with AGENTS.md, CLAUDE.md or MEMORY.md.",
        ),
        "hook": ("agents", "Answer a coding agent's hook. Agents call this command."),
        "skills": ("skills", "Install skills that teach an assistant to use Memorist: list, install DIR."),
    },
    "Operate": {
        "serve": ("serve", "Serve the memory over HTTP, with the inspector at /."),
        "keys": ("keys", "Manage the server's API keys: create, list, rotate, revoke."),
        "worker": ("maintenance", "Index messages, extract facts from them and clean up, until stopped."),
        "process": ("maintenance", "Run maintenance processors."),
        "reindex": ("maintenance", "Rebuild outdated index entries while the memory is in use."),
        "watch": ("health", "Print every process's changes as they happen: kinds and namespaces."),
        "browse": ("browse", "Browse a memory in the terminal: users, threads, facts."),
        "stats": ("health", "Count records by kind."),
        "doctor": ("health", "Check the store and print its details and problems."),
        "migrate": ("health", "Bring the store's schema up to date."),
        "export": ("transfer", "Export everything to a file of JSON lines, or for another tool."),
        "import": ("transfer", "Import a file that export wrote, or the data of another tool."),
    },
    "First steps": {
        "demo": ("demo", "Take a guided tour that needs no key and no network."),
        "completion": ("completion", "Print the script for shell completion: completion bash|zsh|fish."),
    },
}
_COMMANDS = {name: command for section in _SECTIONS.values() for name, command in section.items()}

_OPTIONAL_COMMANDS = {
    "analyze": ("memorist_analyze", "Analyse how a framework's source code manages memory."),
}
"""Commands from other distributions, each with the package that provides it and its help text. Reading entry points
would take as long as the rest of `--help`, so the help only checks whether the package is installed."""


def _optional_commands() -> dict[str, str]:
    return {name: help_ for name, (package, help_) in _OPTIONAL_COMMANDS.items() if find_spec(package)}


@cache
def _installed_commands() -> dict[str, EntryPoint]:
    """Return commands from other distributions, by name. They are looked up only when one is called."""
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group="memorist.commands")}


class Commands(Suggesting):
    """Imports each command on use, so that `memorist --help` and every single command start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *_optional_commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            installed = _installed_commands().get(cmd_name)
            if installed is None and cmd_name == "analyze":
                raise click.UsageError(
                    "the analyser is a separate package; in a checkout run: pip install ./packages/analyze"
                )
            return None if installed is None else installed.load()
        module = importlib.import_module(f"memorist.cli.{_COMMANDS[cmd_name][0]}")
        named = {"import": "import_", "open": "open_"}
        command = getattr(module, named.get(cmd_name, cmd_name))
        return command if isinstance(command, click.Command) else None

    def elsewhere(self, ctx: click.Context, name: str) -> list[str]:
        groups = {command: self.get_command(ctx, command) for command in _COMMANDS}
        return [
            f"{command} {name}"
            for command, group in groups.items()
            if isinstance(group, click.Group) and name in group.commands
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in _SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, help_) for name, (_, help_) in commands.items()], col_max=14)
        if optional := _optional_commands():
            with formatter.section("Installed beside Memorist"):
                formatter.write_dl(list(optional.items()), col_max=14)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--url",
    envvar="MEMORIST_URL",
    help="Where the memory is stored: a path, postgresql://… or redis://…  [default: memorist.db]",
)
@click.option("--hot", envvar="MEMORIST_HOT_URL", help="The URL of a hot store to use in front, such as redis://…")
@click.option("--org", default="default", show_default=True, help="The organisation (tenant) to work in.")
@click.option("--user", default=None, metavar="NAME", help="Use this user's memory and only what the user may see.")
@click.option(
    "--model", envvar="MEMORIST_MODEL", metavar="NAME",
    help="The model that writes memory and summaries: anthropic:MODEL, openai:MODEL or openai:MODEL@URL.",
)  # fmt: skip
@click.option(
    "--extraction", envvar="MEMORIST_EXTRACTION", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML or JSON file that configures extraction: instructions, schemas, only, never and so on.",
)  # fmt: skip
@click.option(
    "--embedder", envvar="MEMORIST_EMBEDDER", metavar="NAME",
    help="The embedder of recall: default, minilm, multilingual, onnx:NAME, openai:MODEL, voyage:MODEL or none.",
)  # fmt: skip
@click.option(
    "--reranker", envvar="MEMORIST_RERANKER", metavar="NAME",
    help="What reorders the best hits of recall: model (that of --model), onnx:NAME or the URL of a service.",
)  # fmt: skip
@click.option(
    "--key-file", envvar="MEMORIST_KEY_FILE", type=click.Path(dir_okay=False, path_type=Path),
    help="The key file of an encrypted memory.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.version_option(__version__, prog_name="memorist")
@click.pass_context
def cli(ctx: click.Context, /, url: str | None, **options: Any) -> None:
    """Memory and context for LLM agents.

    You can put --user and --json before or after the command. The exit status is 0 for success, 1 if something was not
    found or a check failed, and 2 for wrong usage.
    """
    ctx.obj = Session(url, **options)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line. Errors become one line on stderr (JSON with --json) and an exit status."""
    if "_MEMORIST_COMPLETE" in os.environ:
        from .completion import complete_common_options

        complete_common_options()
    arguments = common_options_first(sys.argv[1:] if args is None else args)
    try:
        result: object = cli.main(args=arguments, prog_name="memorist", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as problem:
        end(problem, as_json=arguments[:1] == ["--json"])
    sys.exit(result if isinstance(result, int) else 0)


if __name__ == "__main__":
    main()
