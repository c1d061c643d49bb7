"""Implements `memorist memories`, `events`, `review` and `tidy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..engine.facts.facts import FORGOTTEN
from ..engine.memories import KINDS, MemoryKind
from ..errors import UsageError
from ..kinds import namespaced
from ..messages.privacy import is_private
from .display import echo
from .grouping import group
from .session import Session, read_json, session_of

if TYPE_CHECKING:
    from ..blocking.memory import Memory
    from ..engine.events import EventStatus
    from ..engine.remembering import Understood

_KINDS = click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="List only this kind. Repeatable."
)
_NS = click.option("--ns", "--namespace", "ns", help="The namespace; by default the user's own (--user NAME).")


@group()
def memories() -> None:
    """Manage all memories together: facts, events and learnings."""


@memories.command("list")
@_NS
@_KINDS
@click.option("--subject", help="List only memories about this person or thing.")
@click.option("--tag", help="List only memories with this tag.")
@click.option("--limit", type=int, default=50, show_default=True, help="List at most this many.")
@session_of
def list_memories(session: Session, /, ns: str | None, kinds: tuple[MemoryKind, ...], **options: Any) -> None:
    """List memories."""
    with session.memory(settle=True) as memory:
        items = memory.memories.list(ns=_space(memory, ns), kinds=kinds or KINDS, **options)
        session.show(items, ("id", "text", "subject", "valid_from", "confidence"), empty="nothing remembered yet")


@memories.command("search")
@click.argument("query")
@_NS
@_KINDS
@click.option("--limit", type=int, default=10, show_default=True, help="List at most this many.")
@click.option("--min-score", type=float, help="List only those that are at least this likely to answer, from 0 to 1.")
@session_of
def search_memories(
    session: Session, query: str, ns: str | None, kinds: tuple[MemoryKind, ...], limit: int, min_score: float | None
) -> None:
    """Search memories by words and meaning."""
    with session.memory(settle=True) as memory:
        items = memory.memories.search(
            query, ns=_space(memory, ns), kinds=kinds or KINDS, top_k=limit, min_score=min_score
        )
        session.show(items, ("id", "text", "score"), empty="nothing found")


@memories.command("show")
@click.argument("id")
@_NS
@session_of
def show_memory(session: Session, id: str, ns: str | None) -> None:
    """Show every version of a memory."""
    with session.memory(settle=True) as memory:
        versions = memory.memories.history(id, ns=_space(memory, ns))
        session.show(versions, ("version", "text", "status", "reason", "updated_at"), empty=f"no memory {id!r}")


@memories.command("update")
@click.argument("id")
@click.option("--text", help="The memory as a sentence.")
@click.option("--value", help="The new value of a fact: text, or JSON.")
@click.option("--from", "valid_from", help="When it became true, or when an event begins, as an ISO time.")
@click.option("--until", "valid_until", help="When it stops being true, or when an event ends.")
@click.option("--tag", "tags", multiple=True, help="A tag that replaces the current ones. Repeatable.")
@click.option("--reason", help="The reason.")
@_NS
@session_of
def update_memory(
    session: Session, /, id: str, value: str | None, tags: tuple[str, ...], ns: str | None, **options: Any
) -> None:
    """Change a memory. The old version stays in its history."""
    with session.memory() as memory:
        new = None if value is None else read_json(value)
        item = memory.memories.update(id, value=new, tags=tags or None, ns=_space(memory, ns), **options)
    session.done({"memory": item}, f"now: {item.text}")


@memories.command("delete")
@click.argument("id")
@_NS
@session_of
def delete_memory(session: Session, id: str, ns: str | None) -> None:
    """Delete a memory."""
    with session.memory() as memory:
        deleted = memory.memories.delete(id, ns=_space(memory, ns))
    session.gone(deleted, id, missing=f"no memory {id!r}")


@memories.command("undo")
@click.argument("id")
@_NS
@session_of
def undo_memory(session: Session, id: str, ns: str | None) -> None:
    """Undo the last change to a memory."""
    with session.memory() as memory:
        item = memory.memories.undo(id, ns=_space(memory, ns))
    session.done({"memory": item}, f"now: {item.text}" if item is not None else f"{id} no longer exists")


@group()
def events() -> None:
    """Manage events: things that happened or are planned."""


@events.command("list")
@_NS
@click.option(
    "--status", type=click.Choice(["planned", "done", "cancelled"]), help="List only events with this status."
)
@click.option("--limit", type=int, default=50, show_default=True, help="List at most this many.")
@session_of
def list_events(session: Session, ns: str | None, status: EventStatus | None, limit: int) -> None:
    """List events in the order of their start times."""
    with session.memory(settle=True) as memory:
        rows = memory.events.list(ns=_space(memory, ns), status=status, limit=limit)
        session.show(rows, ("id", "starts_at", "text", "people", "location", "status"), empty="no events yet")


@events.command("add")
@click.argument("text")
@_NS
@click.option("--at", "starts_at", help="When it begins, as an ISO time; now if omitted.")
@click.option("--until", "ends_at", help="When it ends.")
@click.option("--with", "people", multiple=True, help="A person who takes part. Repeatable.")
@click.option("--where", "location", help="Where it takes place.")
@session_of
def add_event(session: Session, /, text: str, ns: str | None, **options: Any) -> None:
    """Store an event."""
    with session.memory(create=True) as memory:
        event = memory.events.add(text, ns=_space(memory, ns), **options)
        session.done({"id": event.id, "status": event.status}, f"{event.id} {event.status}")


@events.command("cancel")
@click.argument("id")
@_NS
@click.option("--reason", help="The reason.")
@session_of
def cancel_event(session: Session, id: str, ns: str | None, reason: str | None) -> None:
    """Mark an event as cancelled."""
    with session.memory() as memory:
        event = memory.events.cancel(id, reason=reason, ns=_space(memory, ns))
        session.done({"id": event.id, "status": event.status}, f"{event.id} {event.status}")


@group()
def review() -> None:
    """Approve, edit or reject proposed memories."""


@review.command("list")
@_NS
@session_of
def list_candidates(session: Session, ns: str | None) -> None:
    """List the memories that are waiting for approval."""
    with session.memory(settle=True) as memory:
        rows = memory.review.list(ns=_space(memory, ns))
        session.show(rows, ("id", "operation", "text", "reason", "quote"), empty="nothing waits for approval")


@review.command("approve")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_NS
@session_of
def approve_candidates(session: Session, ids: tuple[str, ...], ns: str | None) -> None:
    """Approve candidates and store the memories they propose."""
    with session.memory() as memory:
        for id in ids:
            memory.review.approve(id, ns=_space(memory, ns))
        session.done({"approved": list(ids)}, f"approved {len(ids)}")


@review.command("edit")
@click.argument("id")
@click.option("--text", help="The sentence to store.")
@click.option("--value", help="The value of a fact: text, or JSON.")
@click.option("--key", help="The key of a fact.")
@click.option("--subject", help="Whom or what it is about.")
@_NS
@session_of
def edit_candidate(session: Session, /, id: str, value: str | None, ns: str | None, **options: Any) -> None:
    """Change a candidate's proposal. It still has to be approved."""
    with session.memory() as memory:
        new = None if value is None else read_json(value)
        candidate = memory.review.edit(id, value=new, ns=_space(memory, ns), **options)
    session.done({"candidate": candidate}, f"waits for approval: {candidate.text}")


@review.command("reject")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_NS
@click.option("--reason", help="The reason.")
@session_of
def reject_candidates(session: Session, ids: tuple[str, ...], ns: str | None, reason: str | None) -> None:
    """Reject candidates. The same message does not propose them again."""
    with session.memory() as memory:
        rejected = [id for id in ids if memory.review.reject(id, reason=reason, ns=_space(memory, ns))]
        session.done({"rejected": rejected}, f"rejected {len(rejected)}")


@click.command()
@click.argument("text")
@click.option("--as-is", is_flag=True, help="Store the text as it is, without extracting facts.")
@session_of
def remember(session: Session, text: str, as_is: bool) -> None:
    """Store a statement by --user NAME and show what was understood."""
    with session.memory(create=True) as memory:
        if memory.user is None:
            raise UsageError("whose memory? pass --user NAME")
        understood = memory.remember(text, user=memory.user, infer=not as_is)
        if session.as_json:
            session.print_json(understood)
            return
        for item in understood.stored:
            if item.status == "active":
                echo(f"{item.id}  {item.text}")
        for candidate in understood.waiting:
            echo(f"waits for approval: {candidate.text}")
        for refusal in understood.refused:
            echo(f"refused: {refusal.reason}")
        for id in understood.ended:
            requests = [f"{namespace} {key}" for namespace, key in namespaced(id) if key.startswith(FORGOTTEN)]
            echo(f"undo with: memorist facts unforget {requests[0]}" if requests else f"ended: {id}")
        if not (understood.stored or understood.waiting or understood.ended):
            echo(_stored_as_message(understood))


def _stored_as_message(understood: Understood) -> str:
    """Return what became of a statement from which nothing was derived."""
    if all(is_private(receipt.message) for receipt in understood.receipts):
        return "stored in its thread only; it is kept out of recall, and no fact was extracted from it"
    if understood.refused:
        return "the message is stored in its thread; no fact was extracted from it"
    if any(receipt.derived == "unread" for receipt in understood.receipts):
        return "stored; no fact was extracted from it: the rules do not read its language, so use --model"
    return "stored; no fact was extracted from it"


@click.command()
@click.option("--apply", "apply_", is_flag=True, help="Apply the plan instead of only showing it.")
@click.option("--undo", metavar="PLAN", help="Undo the changes of an applied plan.")
@session_of
def tidy(session: Session, apply_: bool, undo: str | None) -> None:
    """Plan how to merge duplicate memories of --user NAME and end outdated ones. Nothing changes without --apply."""
    with session.memory(settle=True) as memory:
        user = memory.user
        if user is None:
            raise UsageError("whose memory? pass --user NAME")
        if undo is not None:
            count = memory.plans.undo(undo, ns=f"user:{user}")
            session.done({"restored": count}, f"restored {count} memories")
            return
        plan = memory.tidy(user=user, dry_run=not apply_)
        if session.as_json:
            session.print_json(plan.plan)
            return
        for line in plan.lines:
            echo(f"{line.op}: {line.reason}")
            for text in line.before:
                echo(f"  - {text}")
            if line.text is not None:
                echo(f"  + {line.text}")
        if not plan.lines:
            echo("nothing to tidy up")
        elif plan.applied:
            echo(f"applied; undo with: memorist tidy --user {user} --undo {plan.plan.id}")
        else:
            echo(f"{len(plan.lines)} proposals; apply with --apply")


def _space(memory: Memory, ns: str | None) -> str | None:
    if ns is None and memory.user is None:
        raise UsageError("whose memory? pass --ns NAMESPACE, or --user NAME")
    return ns
