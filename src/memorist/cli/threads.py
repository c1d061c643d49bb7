"""Implements `memorist threads`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ..context.read_tools import MAX_LINES, ReadCall, page
from ..errors import UsageError
from .display import masked_note
from .grouping import InNamespace, group
from .session import Session, plain, read_json, session_of, thread_id

if TYPE_CHECKING:
    from .. import Memory, Thread


@group()
def threads() -> None:
    """Manage threads, which are conversations."""


@threads.command("list")
@click.argument("namespace", required=False)
@click.option("--limit", type=int, help="List at most this many.")
@click.option("--after", help="Start after this thread; needs a NAMESPACE.")
@session_of
def list_(session: Session, namespace: str | None, limit: int | None, after: str | None) -> None:
    """List the threads in NAMESPACE, or in every namespace that you can read."""
    if after is not None and namespace is None:
        raise UsageError("--after continues the list of one namespace; name it, such as user:ada")
    with session.memory() as memory:
        rows = _list_threads(memory, [namespace] if namespace else memory.namespaces(), limit, after)
        columns = ("id", *(() if namespace else ("ns",)), "title", "length", "tokens", "updated_at")
        session.show(rows, columns, empty=f"no threads in {namespace}" if namespace else "no threads yet")


def _list_threads(memory: Memory, namespaces: list[str], limit: int | None, after: str | None) -> list[Thread]:
    """Return the threads of several namespaces in order, up to the limit."""
    threads: list[Thread] = []
    for namespace in namespaces:
        room = None if limit is None else limit - len(threads)
        if room == 0:
            break
        threads += memory.threads.list(namespace, limit=room, after=after)
    return threads


@threads.command()
@click.argument("thread")
@click.option("--last", type=int, default=20, show_default=True, help="How many of the newest messages to show.")
@click.option("--all", "everything", is_flag=True, help="Show all messages.")
@session_of
def show(session: Session, thread: str, last: int, everything: bool) -> None:
    """Show the newest messages of a thread, in chronological order."""
    with session.memory() as memory:
        thread = thread_id(memory, thread)
        messages = memory.threads.messages(thread) if everything else memory.threads.recent(thread, last)
        rows = [{**plain(message), "text": message.text or _calls(message)} for message in messages]
        session.show(rows, ("seq", "role", "name", "text", "tokens", "created_at"), empty="no messages")


def _calls(message: object) -> str:
    calls = getattr(message, "tool_calls", [])
    return ", ".join(f"{call.name}(…)" for call in calls)


@threads.command(cls=InNamespace)
@click.argument("namespace")
@click.option("--title", help="The title of the thread.")
@click.option("--id", help="The id of the thread.  [default: a new id]")
@click.option("--ttl", type=float, help="Delete it after this many seconds.")
@session_of
def create(session: Session, /, namespace: str, **options: Any) -> None:
    """Create a thread and print its id."""
    with session.memory(create=True) as memory:
        thread = memory.threads.create(namespace, **options)
        session.done(plain(thread), thread.id)


@threads.command()
@click.argument("thread")
@click.argument("text", required=False)
@click.option(
    "--role", type=click.Choice(["user", "assistant", "system", "tool"]), default="user", show_default=True,
    help="The role of the speaker.",
)  # fmt: skip
@click.option("--name", help="The name of the speaker.")
@click.option("--key", help="An idempotency key: repeating the command with the same key adds nothing.")
@session_of
def append(session: Session, thread: str, text: str | None, role: str, name: str | None, key: str | None) -> None:
    """Add TEXT as a message, or read messages as JSON lines from standard input (OpenAI or Anthropic shape).

    The message is stored when this command returns. A worker, or the next command that reads facts, extracts them.
    """
    if text is not None:
        messages: list[dict[str, object]] = [{"role": role, "content": text}]
    else:
        messages = [_message(line, role) for line in sys.stdin if line.strip()]
        if not messages:
            raise click.UsageError("there is nothing to append; pass TEXT, or JSON lines on standard input")
    if name:
        messages = [{**message, "name": name} for message in messages]
    with session.memory() as memory:
        receipts = memory.threads.append(thread_id(memory, thread), *messages, key=key)
        ids = [receipt.message.id for receipt in receipts]
        masked = sorted({kind for receipt in receipts for kind in receipt.masked})
        session.done(
            {"ids": ids, "replayed": any(r.replayed for r in receipts), "masked": masked},
            "\n".join(f"{receipt.message.id}{masked_note(receipt.masked)}" for receipt in receipts),
        )


def _message(line: str, role: str) -> dict[str, object]:
    """Return the message in a line of standard input, which is JSON or plain text."""
    value = read_json(line.rstrip("\n"))
    return {**value} if isinstance(value, dict) else {"role": role, "content": line.rstrip("\n")}


@threads.command()
@click.argument("thread")
@click.option("--over", type=int, default=1000, show_default=True, help="Store texts longer than this many tokens.")
@click.option("--key", help="An idempotency key: repeating the command with the same key stores nothing.")
@session_of
def stash(session: Session, thread: str, over: int, key: str | None) -> None:
    """Store a long tool result from standard input next to THREAD, and print the preview to send to the model."""
    with session.memory() as memory:
        stashed = memory.threads.stash(thread_id(memory, thread), sys.stdin.read(), over_tokens=over, key=key)
        session.done(plain(stashed), stashed.text)


@threads.command()
@click.argument("thread")
@click.option("--last", type=int, default=20, show_default=True, help="How many of the newest requests to show.")
@session_of
def requests(session: Session, thread: str, last: int) -> None:
    """Show what the last requests of a thread cost, and what broke the provider's prompt cache."""
    with session.memory() as memory:
        reports = memory.threads.requests(thread_id(memory, thread))[-last:]
    rows = [
        {**plain(report), "cached": f"{report.cached_share:.0%}", "broken_by": str(report.broken or "")}
        for report in reports
    ]
    columns = ("at", "model", "input_tokens", "cached", "written_tokens", "cost", "broken_by")
    session.show(rows, columns, empty="no requests were reported")


@threads.command()
@click.argument("message")
@click.option("--from", "first", type=int, default=1, show_default=True, help="The first line to print.")
@click.option("--lines", type=int, default=MAX_LINES, show_default=True, help="How many lines to print.")
@click.option("--pattern", default="", help="Print only lines that contain this text.")
@session_of
def read(session: Session, message: str, first: int, lines: int, pattern: str) -> int:
    """Print lines of a message or a stashed result, like the tool `read_more`."""
    with session.memory() as memory:
        stored = memory.threads.message(message)
    if stored is None:
        click.echo(f"no message {message!r}", err=True)
        return 1
    text = page(message, stored.text, ReadCall(message, first, lines, pattern))
    session.done({"id": message, "text": text}, text)
    return 0


@threads.command()
@click.argument("thread")
@session_of
def delete(session: Session, thread: str) -> None:
    """Delete a thread and its messages. To delete the memories derived from them too, use `forget`."""
    with session.memory() as memory:
        is_deleted = memory.threads.delete(thread_id(memory, thread))
    session.gone(is_deleted, thread, missing=f"no thread {thread!r}")


@threads.command()
@click.argument("thread")
@click.option("--lines", is_flag=True, help="Show the lines of the newest summary with the messages they come from.")
@session_of
def summaries(session: Session, thread: str, lines: bool) -> None:
    """List the summaries of a thread and the messages that each of them replaces."""
    with session.memory() as memory:
        if lines:
            rows = memory.threads.summary_lines(thread_id(memory, thread))
            session.show(rows, ("text", "messages"), empty="no summaries yet")
            return
        summaries = memory.threads.summaries(thread_id(memory, thread))
        session.show(summaries, ("first", "last", "method", "tokens", "text", "created_at"), empty="no summaries yet")


@threads.command()
@click.argument("thread")
@session_of
def compactions(session: Session, thread: str) -> None:
    """List the parts of a thread that a provider compacted, and the message that contains the provider's item."""
    with session.memory() as memory:
        parts = memory.threads.compactions(thread_id(memory, thread))
        session.show(parts, ("provider", "id", "first", "last", "summary", "created_at"), empty="no compactions yet")
