"""`recollect`: the entry point, its global options, and the commands, each loaded when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from .. import __version__
from .grouping import Suggesting, json_first
from .problems import end
from .session import Session

_COMMANDS = {
    "facts": ("facts", "Namespaced values: list, get, set, delete, history, correct, reject."),
    "memory": ("facts", "The same facts, by namespace: memory list NS."),
    "threads": ("threads", "Conversations: list, show, create, append, delete, summaries."),
    "learnings": ("people", "What was learned of a user: list, add, delete."),
    "profile": ("people", "Everything known of one user: profile show USER."),
    "state": ("state", "Small key-values and counters: get, set, delete, increment."),
    "records": ("records", "What integrations keep, under ordered keys: list, get, put, delete."),
    "tasks": ("tasks", "Resumable tasks: list, show, delete."),
    "documents": ("documents", "Long-form knowledge: add, list, delete."),
    "recall": ("finding", "Find what matters for a query, with reasons."),
    "extract": ("extracting", "What a text would be remembered for; --explain says why."),
    "context": ("finding", "The request for an input, and where its tokens go."),
    "process": ("care", "Run maintenance processors."),
    "worker": ("care", "Index and derive what was appended, and clean up, until stopped."),
    "forget": ("care", "Remove a thing and all that was derived from it."),
    "why": ("care", "Where something came from, back to the messages."),
    "audit": ("care", "Who changed what, when; newest first."),
    "scrub": ("care", "Rewrite the store's files without the bytes of deleted rows."),
    "export": ("transfer", "Write everything to a file of JSON lines, or for another tool."),
    "move-org": ("moving", "Move the org to another database while it is used."),
    "import": ("transfer", "Load a file that export wrote, or what another tool has kept."),
    "stats": ("health", "What is remembered, by kind."),
    "namespaces": ("health", "The namespaces that hold something."),
    "watch": ("health", "Say what any process changes, as it happens: kinds and namespaces."),
    "doctor": ("health", "What stands under this memory, and what is wrong with it."),
    "migrate": ("health", "Bring the store's schema up to date."),
    "analyze": ("analyze", "How other frameworks manage memory, from their source."),
    "serve": ("serve", "Serve the memory over HTTP, with the inspector at /."),
    "open": ("serve", "Look at a memory in the browser: open FILE."),
    "mcp": ("mcp", "Serve the memory to an assistant over MCP, on stdio."),
    "skills": ("skills", "Skills that teach an assistant to use all this: list, install DIR."),
    "keys": ("keys", "Keys of the server: create, list, rotate, revoke."),
    "demo": ("demo", "A guided first look; asks nothing, needs no key and no network."),
    "chat": ("chat", "Talk to a model, or to an echo, with memory: /why, /forget, /context."),
    "browse": ("browse", "Look around in a memory on the terminal: users, threads, facts."),
    "completion": ("completion", "Shell completion: recollect completion bash|zsh|fish."),
}


class Commands(Suggesting):
    """Commands by name, imported on use, so that `recollect --help` and each command stay quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"recollect.cli.{_COMMANDS[cmd_name][0]}")
        named = {"analyze": "command", "import": "import_", "open": "open_", "move-org": "move_org"}
        found = getattr(module, named.get(cmd_name, cmd_name))
        return found if isinstance(found, click.Command) else None

    def elsewhere(self, ctx: click.Context, name: str) -> list[str]:
        groups = [(one, self.get_command(ctx, one)) for one in _COMMANDS]
        return [f"{one} {name}" for one, group in groups if isinstance(group, click.Group) and name in group.commands]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in _COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--url",
    envvar="RECOLLECT_URL",
    help="Where the memory is: a path, postgresql://…, redis://…  [default: recollect.db]",
)
@click.option("--hot", envvar="RECOLLECT_HOT_URL", help="A hot store in front, such as redis://…")
@click.option("--org", default="default", show_default=True, help="The tenant.")
@click.option("--user", default=None, help="Only what this user may see.")
@click.option("--json", "as_json", is_flag=True, help="JSON for programs, instead of tables for people.")
@click.version_option(__version__, prog_name="recollect")
@click.pass_context
def cli(ctx: click.Context, url: str | None, hot: str | None, org: str, user: str | None, as_json: bool) -> None:
    """Memory and context for LLM agents.

    Exit status: 0 done, 1 not found or falls short, 2 wrong usage.
    """
    ctx.obj = Session(url, hot, org, user, as_json)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; errors become one clear line on stderr (JSON under --json) and an exit status."""
    given = json_first(sys.argv[1:] if args is None else args)
    try:
        result: Any = cli.main(args=given, prog_name="recollect", standalone_mode=False)
    except Exception as problem:
        end(problem, as_json=given[:1] == ["--json"])
    except KeyboardInterrupt as problem:
        end(problem, as_json=given[:1] == ["--json"])
    sys.exit(result if isinstance(result, int) else 0)


if __name__ == "__main__":
    main()
