"""`recollect`: the entry point, its global options, and the commands, each loaded when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from .. import __version__
from ..errors import NotFound, RecollectError, UsageError
from .session import Session, cell

_COMMANDS = {
    "facts": ("facts", "Namespaced values: list, get, set, delete, history, correct, reject."),
    "memory": ("facts", "The same facts, by namespace: memory list NS."),
    "threads": ("threads", "Conversations: list, show, create, append, delete, summaries."),
    "learnings": ("people", "What was learned of a user: list, add, delete."),
    "profile": ("people", "Everything known of one user: profile show USER."),
    "state": ("state", "Small key-values and counters: get, set, delete, increment."),
    "tasks": ("tasks", "Resumable tasks: list, show, delete."),
    "documents": ("documents", "Long-form knowledge: add, list, delete."),
    "recall": ("finding", "Find what matters for a query, with reasons."),
    "context": ("finding", "The request for an input, and where its tokens go."),
    "process": ("care", "Run maintenance processors."),
    "worker": ("care", "Work through the outbox until stopped."),
    "forget": ("care", "Remove a thing and all that was derived from it."),
    "why": ("care", "Where something came from, back to the messages."),
    "audit": ("care", "Who changed what, when."),
    "export": ("transfer", "Write everything to a file of JSON lines."),
    "import": ("transfer", "Load a file that export wrote."),
    "stats": ("health", "What is remembered, by kind."),
    "doctor": ("health", "What stands under this memory, and what is wrong with it."),
    "migrate": ("health", "Bring the store's schema up to date."),
    "analyze": ("analyze", "How other frameworks manage memory, from their source."),
    "demo": ("demo", "A guided first look; asks nothing, needs no key and no network."),
    "completion": ("completion", "Shell completion: recollect completion bash|zsh|fish."),
}


class Commands(click.Group):
    """Commands by name, imported on use, so that `recollect --help` and each command stay quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"recollect.cli.{_COMMANDS[cmd_name][0]}")
        found = getattr(module, "command" if cmd_name == "analyze" else cmd_name.replace("import", "import_"))
        return found if isinstance(found, click.Command) else None

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
    """Run the command line; errors become one clear line on stderr and an exit status."""
    try:
        result: Any = cli.main(
            args=list(args) if args is not None else None, prog_name="recollect", standalone_mode=False
        )
    except click.ClickException as problem:
        problem.show()
        sys.exit(2)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(130)
    except NotFound as problem:
        click.echo(f"recollect: {cell(str(problem))}", err=True)
        sys.exit(1)
    except UsageError as problem:
        click.echo(f"recollect: {cell(str(problem))}", err=True)
        sys.exit(2)
    except RecollectError as problem:
        click.echo(f"recollect: {cell(str(problem))}", err=True)
        sys.exit(1)
    except OSError as problem:
        if not isinstance(problem, BrokenPipeError):
            click.echo(f"recollect: {cell(str(problem))}", err=True)
            sys.exit(1)
        # The reader went away (as `| head` does); keep the interpreter from complaining about it at exit.
        sys.stderr.close()
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)


if __name__ == "__main__":
    main()
