"""The pages of users show the list of users, and one user's profile, facts, threads, learnings and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import msgspec

from ...engine.noun import core_of
from ...engine.profile import Profile
from ...records import AuditEvent, Document, Fact, Learning, StateEntry, Thread, WorkingDocument
from .shared import Row, fact_row, standing

if TYPE_CHECKING:
    from ...context.profile import ProfileLine as ProfileItem
    from ...memory import AsyncMemory

PAGE_ROWS = 100
MAX_ROWS = 1_000
"""The maximum number of rows that are counted or searched for one answer."""
SHOWN_THREADS = 5
"""How many threads the page of a user shows."""


class Users(msgspec.Struct, forbid_unknown_fields=True):
    """A page of users, optionally with a prefix of their id."""

    after: str | None = None
    prefix: str | None = None
    limit: int = PAGE_ROWS


class User(msgspec.Struct, forbid_unknown_fields=True):
    """One user."""

    user: str


class Facts(msgspec.Struct, forbid_unknown_fields=True):
    """A page of a namespace's facts, optionally those whose key or value contains a word."""

    ns: str
    after: str | None = None
    word: str = ""
    limit: int = PAGE_ROWS


class Threads(msgspec.Struct, forbid_unknown_fields=True):
    """Describes a page of a user's threads, the last active first. `after` is the id of a thread."""

    user: str
    after: str | None = None
    limit: int = PAGE_ROWS


async def facts(handle: AsyncMemory, asked: Facts) -> Row:
    """Return facts by key, and whether each was corrected or has replaced a correction.

    A word is searched for in `MOST` facts per page.
    """
    limit, word = max(1, min(asked.limit, 500)), asked.word.casefold()
    found = await handle.facts.list(asked.ns, after=asked.after, limit=MAX_ROWS if word else limit)
    more = len(found) == (MAX_ROWS if word else limit)
    kept = [fact for fact in found if not word or word in f"{fact.key} {fact.value}".casefold()][:limit]
    last = kept[-1] if len(kept) == limit else found[-1] if found else None
    more |= last is not None and last is not found[-1]
    items = [{**fact_row(fact), **await standing(core_of(handle), fact)} for fact in kept]
    return {"items": items, "next": last.key if more and last is not None else None}


async def threads(handle: AsyncMemory, asked: Threads) -> Row:
    """Return threads of a user, the last active first."""
    limit = max(1, min(asked.limit, 500))
    ns = f"user:{core_of(handle).scope.subject(asked.user)}"
    found = await handle.threads.list(ns, by="updated_at", reverse=True, after=asked.after, limit=limit)
    items = [await _thread_row(handle, thread) for thread in found]
    return {"items": items, "next": found[-1].id if len(found) == limit else None}


async def users(handle: AsyncMemory, asked: Users) -> Row:
    """Return users by id, each with a name, counts and the time of the last message."""
    limit = max(1, min(asked.limit, 500))
    after = f"user:{asked.after}" if asked.after else None
    found = await handle.namespaces("user", prefix=asked.prefix, after=after, limit=limit)
    items = [await _user_row(handle, ns) for ns in found]
    return {"items": items, "next": found[-1].removeprefix("user:") if len(found) == limit else None}


async def _user_row(handle: AsyncMemory, ns: str) -> Row:
    core = core_of(handle)
    threads = await core.scan(Thread, ns, index="by_ns", limit=MAX_ROWS)
    name = await core.get(Fact, ns, "name")
    facts = await core.scan(Fact, ns, limit=MAX_ROWS)
    return {
        "user": ns.removeprefix("user:"), "name": name.value if name is not None else None, "threads": len(threads),
        "messages": sum(thread.length for thread in threads), "facts": len(facts),
        "last": max((thread.updated_at for thread in threads), default=None),
    }  # fmt: skip


async def user(handle: AsyncMemory, asked: User) -> Row:
    """Return the page of a user: profile block, facts, threads, learnings, documents, state and working memory."""
    name = core_of(handle).scope.subject(asked.user)
    ns, core = f"user:{name}", core_of(handle)
    talks = await handle.threads.list(ns, by="updated_at", reverse=True)
    known = await handle.facts.list(ns, limit=MAX_ROWS)
    learnings = await handle.learnings.list(user=name)
    said = await handle.facts.get(ns, "name")
    since = [one.created_at for one in talks] + [one.created_at for one in known]
    return {
        "user": name, "ns": ns, "name": said.value if said is not None and isinstance(said.value, str) else None,
        "since": min(since, default=None), "last": max((one.updated_at for one in talks), default=None),
        "messages": sum(one.length for one in talks), "tokens": sum(one.tokens for one in talks),
        "profile": await profile(handle, name),
        "facts": len(known), "more_facts": len(known) == MAX_ROWS,
        "threads": [await _thread_row(handle, thread) for thread in talks[:SHOWN_THREADS]], "all_threads": len(talks),
        "learnings": [learning_row(one) for one in learnings],
        "working": [_working_row(doc) for doc in await core.scan(WorkingDocument, name)],
        "documents": [
            {"id": one.id, "title": one.title, "chunks": one.chunks, "at": one.updated_at}
            for one in await core.scan(Document, ns, limit=PAGE_ROWS)
        ],
        "states": [
            {"key": one.key, "value": one.value, "at": one.updated_at}
            for one in await core.scan(StateEntry, ns, limit=PAGE_ROWS)
        ],
        "audit": len(await core.scan(AuditEvent, index="by_subject", starts=f"{ns}/", limit=MAX_ROWS)),
        "empty": not (talks or known or learnings),
    }  # fmt: skip


class ProfileLine(TypedDict):
    """A line of the profile block, and the correction that its fact replaced."""

    text: str
    lane: str
    source: str
    trust: str | None
    replaced: Row | None


class ProfileRow(TypedDict):
    """Holds the profile block: its lines and tokens, the ceiling, and how many lines do not fit."""

    lines: list[ProfileLine]
    tokens: int
    most: int
    left: int


async def profile(handle: AsyncMemory, user: str) -> ProfileRow:
    """Return the lines of a user's profile block that fit its default ceiling, with their tokens."""
    from ...context.budget import TokenBudget
    from ...context.profile import fit_profile

    most = TokenBudget(8000).profile_tokens
    core = core_of(handle)
    lines = await Profile(core)._lines(user)
    message, kept = fit_profile(lines, most, core.shared.counter)
    shown = [await _profile_line(handle, line) for line in kept]
    return {
        "lines": shown, "tokens": message.tokens or 0 if message is not None else 0, "most": most,
        "left": len(lines) - len(kept),
    }  # fmt: skip


async def _profile_line(handle: AsyncMemory, line: ProfileItem) -> ProfileLine:
    """Return a line with the correction that its fact replaced, if it did."""
    ns, _, key = line.source.partition("/")
    fact = await core_of(handle).get(Fact, ns, key) if key else None
    return {
        "text": line.text, "lane": line.lane, "source": line.source, "trust": line.trust,
        "replaced": (await standing(core_of(handle), fact))["replaced"] if fact is not None else None,
    }  # fmt: skip


async def _thread_row(handle: AsyncMemory, thread: Thread) -> Row:
    summaries = await handle.threads.summaries(thread.id)
    return {
        "id": thread.id, "title": thread.title, "length": thread.length, "tokens": thread.tokens,
        "at": thread.updated_at, "folded": max((one.last for one in summaries), default=0),
    }  # fmt: skip


def learning_row(one: Learning) -> Row:
    """Return a learning in the form that lists show."""
    return {
        "id": one.id, "ns": one.ns, "content": one.content, "type": one.type, "confidence": one.confidence,
        "uses": one.usage_count, "last": one.last_used, "sources": list(one.sources), "status": one.status,
        "trust": one.trust, "actor": one.actor, "at": one.updated_at, "version": one.version,
    }  # fmt: skip


def _working_row(doc: WorkingDocument) -> Row:
    return {"user": doc.user, "session": doc.session, "doc": doc.doc, "at": doc.updated_at, "expires": doc.expires_at}
