"""Implements `memorist recall` and `memorist context`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ..values import JsonObject
from .display import cell, human
from .session import Session, as_of_option, plain, read_filter, read_json, session_of, thread_id


@click.command()
@click.argument("query")
@click.option(
    "--in", "namespaces", multiple=True, help="Search this namespace. Repeatable.  [default: all you can read]"
)
@click.option(
    "--kind", "kinds", multiple=True,
    type=click.Choice(["message", "fact", "event", "learning", "summary", "document"]),
    help="Search only this kind. Repeatable.",
)  # fmt: skip
@click.option("--top", "top_k", type=int, default=10, show_default=True, help="Return at most this many.")
@click.option("--max-tokens", type=int, help="Return the most useful hits that fit into this many tokens.")
@click.option("--after", metavar="TIME", help="Return only items that are newer than this time.")
@click.option("--before", metavar="TIME", help="Return only items that are older than this time.")
@click.option("--where", help="A JSON filter on metadata.")
@click.option(
    "--min-score", type=float,
    help="Return only hits with at least this score. By default, an unknown subject returns nothing; 0 returns all.",
)  # fmt: skip
@click.option("--expand", is_flag=True, help="Also search for other wordings, which the model of --model proposes.")
@click.option(
    "--hops", type=int, default=1, show_default=True,
    help="With more than 1, the model of --model names missing information, and recall searches for that too.",
)  # fmt: skip
@as_of_option
@session_of
def recall(
    session: Session,
    /,
    query: str,
    namespaces: tuple[str, ...],
    kinds: tuple[str, ...],
    where: str | None,
    **options: Any,
) -> int:
    """Find memories relevant to QUERY. Exits with 1 if there are none."""
    with session.memory(settle=True) as memory:
        hits = memory.recall(
            query, namespaces=list(namespaces) or None, kinds=list(kinds) or None, where=read_filter(where), **options
        )
    rows = [{**plain(hit), "reasons": [str(r) for r in hit.reasons], "score": round(hit.score, 4)} for hit in hits]
    if not session.as_json:
        rows = [{**row, "text": _readable(row), "why": ", ".join(_names(row["reasons"]))} for row in rows]
    session.show(rows, ("score", "kind", "text", "namespace", "created_at", "why"), empty="nothing found")
    return 0 if hits else 1


def _names(reasons: list[str]) -> list[str]:
    """Return the three strongest signals of a hit; only --json shows ranks and weights."""
    return [reason.partition(" ")[0] for reason in reasons[:3]]


def _readable(row: JsonObject) -> str:
    """Return the text of a hit, showing a fact's JSON value as in other tables, and the value that replaced it."""
    text = str(row["text"])
    key, _, value = text.partition(": ")
    if row["kind"] == "fact" and value[:1] in ("{", "["):
        text = f"{key}: {human(read_json(value))}"
    return text if row["superseded_by"] is None else f"{text} [superseded: {row['superseded_by']}]"


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[THREAD] INPUT")
@click.option("--budget", default="8000", show_default=True, help="A number of tokens, or the name of a model.")
@click.option("--system", help="The system prompt.")
@click.option(
    "--layout", type=click.Choice(["standard", "cached"]), default="cached", show_default=True,
    help="Where recalled memory goes. `cached` keeps the provider's prompt cache warm.",
)  # fmt: skip
@click.option("--no-recall", is_flag=True, help="Use only the history, without recalled memory.")
@click.option("--stash", type=int, help="Send tool results longer than this many tokens as previews.")
@click.option("--messages", is_flag=True, help="Also print the messages of the request.")
@as_of_option
@session_of
def context(
    session: Session, /, words: tuple[str, ...], budget: str, no_recall: bool, messages: bool, **options: Any
) -> None:
    """Assemble the request for INPUT and show what it contains, what was left out and why.

    With THREAD, the request continues that conversation. Otherwise it starts a new one from stored memories.
    """
    *thread, input = words
    if len(thread) > 1:
        raise click.UsageError("one INPUT, after the THREAD if there is one; quote an input of several words")
    with session.memory(settle=True) as memory:
        context = memory.context(
            input,
            thread=thread_id(memory, thread[0]) if thread else None,
            budget=int(budget) if budget.isdecimal() else budget,
            recall=not no_recall,
            **options,
        )
    if session.as_json:
        manifest = msgspec.to_builtins(context.manifest)
        session.print_json({**manifest, "messages": context.messages()} if messages else manifest)
        return
    click.echo(context.bar())
    click.echo(cell(context.explain()))
    if messages:
        for message in context.messages():
            click.echo(f"\n[{message['role']}]\n{cell(message.get('content') or '')}")
