"""Users: the list, and one user's memory as every request says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ...engine.profile import Profile
from ...records import AuditEvent, Document, Fact, Learning, StateEntry, Thread, WorkingDocument
from .shared import fact_row, standing

if TYPE_CHECKING:
    from ...memory import AsyncMemory

PAGE = 100
MOST = 1_000


class Users(msgspec.Struct, forbid_unknown_fields=True):
    """A page of users whose id begins so."""

    after: str | None = None
    prefix: str | None = None
    limit: int = PAGE


class User(msgspec.Struct, forbid_unknown_fields=True):
    """One user."""

    user: str


async def users(handle: AsyncMemory, asked: Users) -> Any:
    """Users by id, each with a name, counts and when they last spoke."""
    limit = max(1, min(asked.limit, 500))
    after = f"user:{asked.after}" if asked.after else None
    found = await handle.namespaces("user", prefix=asked.prefix, after=after, limit=limit)
    items = [await _user_row(handle, ns) for ns in found]
    return {"items": items, "next": items[-1]["user"] if len(items) == limit else None}


async def _user_row(handle: AsyncMemory, ns: str) -> dict[str, Any]:
    core = handle._core
    threads = await core.scan(Thread, ns, index="by_ns", limit=MOST)
    name = await core.get(Fact, ns, "name")
    facts = await core.scan(Fact, ns, limit=MOST)
    return {
        "user": ns.removeprefix("user:"), "name": name.value if name is not None else None, "threads": len(threads),
        "messages": sum(thread.length for thread in threads), "facts": len(facts),
        "last": max((thread.updated_at for thread in threads), default=None),
    }  # fmt: skip


async def user(handle: AsyncMemory, asked: User) -> Any:
    """A user's profile as it is sent, facts, threads, learnings, documents, state and working memory."""
    name = handle._core.scope.subject(asked.user)
    ns, core = f"user:{name}", handle._core
    threads = await handle.threads.list(ns, by="updated_at", reverse=True)
    facts = await handle.facts.list(ns, limit=MOST)
    learnings = await handle.learnings.list(user=name)
    said = await handle.facts.get(ns, "name")
    known = [one.created_at for one in threads] + [one.created_at for one in facts]
    return {
        "user": name, "ns": ns, "name": said.value if said is not None and isinstance(said.value, str) else None,
        "since": min(known, default=None), "last": max((one.updated_at for one in threads), default=None),
        "messages": sum(one.length for one in threads), "tokens": sum(one.tokens for one in threads),
        "profile": await profile(handle, name),
        "facts": [{**fact_row(fact), **await standing(core, fact)} for fact in facts],
        "threads": [await _thread_row(handle, thread) for thread in threads[:200]],
        "learnings": [learning_row(one) for one in learnings],
        "working": [_working_row(doc) for doc in await core.scan(WorkingDocument, name)],
        "documents": [
            {"id": one.id, "title": one.title, "chunks": one.chunks, "at": one.updated_at}
            for one in await core.scan(Document, ns, limit=PAGE)
        ],
        "states": [
            {"key": one.key, "value": one.value, "at": one.updated_at}
            for one in await core.scan(StateEntry, ns, limit=PAGE)
        ],
        "audit": len(await core.scan(AuditEvent, index="by_subject", starts=f"{ns}/", limit=MOST)),
        "empty": not (threads or facts or learnings),
    }  # fmt: skip


async def profile(handle: AsyncMemory, user: str) -> dict[str, Any]:
    """The block that every request of a user holds, line by line, with its tokens."""
    from ...context.budget import TokenBudget
    from ...context.profile import LANES, fit_profile

    most = TokenBudget(8000).profile_tokens
    core = handle._core
    lines = await Profile(core)._lines(user)
    message, kept = fit_profile(lines, most, core.shared.counter)
    in_order = sorted(kept, key=lambda one: LANES.index(one.lane))
    shown = [{"text": one.text, "lane": one.lane, "source": one.source, "trust": one.trust} for one in in_order]
    return {
        "lines": shown, "tokens": message.tokens if message is not None else 0, "most": most,
        "left": len(lines) - len(kept),
    }  # fmt: skip


async def _thread_row(handle: AsyncMemory, thread: Thread) -> dict[str, Any]:
    summaries = await handle.threads.summaries(thread.id)
    return {
        "id": thread.id, "title": thread.title, "length": thread.length, "tokens": thread.tokens,
        "at": thread.updated_at, "folded": max((one.last for one in summaries), default=0),
    }  # fmt: skip


def learning_row(one: Learning) -> dict[str, Any]:
    """A learning as lists show it."""
    return {
        "id": one.id, "ns": one.ns, "content": one.content, "type": one.type, "confidence": one.confidence,
        "uses": one.usage_count, "last": one.last_used, "sources": list(one.sources), "status": one.status,
        "trust": one.trust, "actor": one.actor, "at": one.updated_at, "version": one.version,
    }  # fmt: skip


def _working_row(doc: WorkingDocument) -> dict[str, Any]:
    return {"user": doc.user, "session": doc.session, "doc": doc.doc, "at": doc.updated_at, "expires": doc.expires_at}
