"""Implements the user pages: the list of users, and one user's profile, facts, threads, learnings and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...engine.noun import core_of
from ...engine.profile import Profile
from ...records import Document, Fact, Learning, StateEntry, Thread, WorkingDocument
from .shared import Row, fact_behind, fact_row, picked, standing

if TYPE_CHECKING:
    from ...context.profile import ProfileLine
    from ...memory import AsyncMemory

PAGE_ROWS = 100
ALL_TOKENS = 1_000_000
"""No profile has as many tokens, so this limit leaves out no line."""
MAX_ROWS = 1_000
"""The maximum number of rows to count or search for one answer."""
SHOWN_THREADS = 5
"""The number of threads shown on a user's page."""


async def facts(
    handle: AsyncMemory, *, ns: str, after: str | None = None, word: str = "", limit: int = PAGE_ROWS
) -> Row:
    """Return facts by key, and whether each was corrected or has replaced a correction. With a `word`, return only
    those whose key or value contains it.

    At most `MAX_ROWS` facts per page are searched for a word.
    """
    limit, word = max(1, min(limit, 500)), word.casefold()
    rows = await handle.facts.list(ns, after=after, limit=MAX_ROWS if word else limit)
    more = len(rows) == (MAX_ROWS if word else limit)
    matches = [fact for fact in rows if not word or word in f"{fact.key} {fact.value}".casefold()][:limit]
    last = matches[-1] if len(matches) == limit else rows[-1] if rows else None
    more |= last is not None and last is not rows[-1]
    items = [{**fact_row(fact), **await standing(core_of(handle), fact)} for fact in matches]
    return {"items": items, "next": last.key if more and last is not None else None}


async def threads(handle: AsyncMemory, *, user: str, after: str | None = None, limit: int = PAGE_ROWS) -> Row:
    """Return a user's threads, most recently active first. `after` is the id of a thread."""
    limit = max(1, min(limit, 500))
    ns = f"user:{core_of(handle).scope.subject(user)}"
    rows = await handle.threads.list(ns, by="updated_at", reverse=True, after=after, limit=limit)
    items = [await _thread_row(handle, thread) for thread in rows]
    return {"items": items, "next": rows[-1].id if len(rows) == limit else None}


async def users(
    handle: AsyncMemory, *, after: str | None = None, prefix: str | None = None, limit: int = PAGE_ROWS
) -> Row:
    """Return users by id, each with a name, counts and the time of the last message. With a prefix, return only those
    whose ids start with it."""
    limit = max(1, min(limit, 500))
    after = f"user:{after}" if after else None
    spaces = await handle.namespaces("user", prefix=prefix, after=after, limit=limit)
    items = [await _user_row(handle, ns) for ns in spaces]
    return {"items": items, "next": spaces[-1].removeprefix("user:") if len(spaces) == limit else None}


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


async def user(handle: AsyncMemory, *, user: str) -> Row:
    """Return the page of a user: profile block, facts, threads, learnings, documents, state and working memory."""
    name = core_of(handle).scope.subject(user)
    ns, core = f"user:{name}", core_of(handle)
    talks = await handle.threads.list(ns, by="updated_at", reverse=True)
    fact_rows = await handle.facts.list(ns, limit=MAX_ROWS)
    learnings = await handle.learnings.list(user=name)
    name_fact = await handle.facts.get(ns, "name")
    since = [row.created_at for row in talks] + [row.created_at for row in fact_rows]
    return {
        "user": name, "ns": ns,
        "name": name_fact.value if name_fact is not None and isinstance(name_fact.value, str) else None,
        "since": min(since, default=None), "last": max((row.updated_at for row in talks), default=None),
        "messages": sum(row.length for row in talks), "tokens": sum(row.tokens for row in talks),
        "profile": await profile(handle, name),
        "facts": len(fact_rows), "more_facts": len(fact_rows) == MAX_ROWS,
        "threads": [await _thread_row(handle, thread) for thread in talks[:SHOWN_THREADS]], "all_threads": len(talks),
        "learnings": [learning_row(row) for row in learnings],
        "working": [working_row(doc) for doc in await core.scan(WorkingDocument, name)],
        "documents": [
            picked(row, "id title chunks", at="updated_at") for row in await core.scan(Document, ns, limit=PAGE_ROWS)
        ],
        "states": [
            picked(row, "key value", at="updated_at") for row in await core.scan(StateEntry, ns, limit=PAGE_ROWS)
        ],
        "empty": not (talks or fact_rows or learnings),
    }  # fmt: skip


async def profile(handle: AsyncMemory, user: str) -> Row:
    """Return the lines of a user's profile block that fit within its default ceiling, their tokens, the ceiling, and
    the number of lines that do not fit."""
    from ...context.budget import TokenBudget
    from ...context.profile import fit_profile

    most = TokenBudget(8000).profile_tokens
    core = core_of(handle)
    lines = await Profile(core).block(user, max_tokens=ALL_TOKENS)
    message, shown_lines = fit_profile(lines, most, core.shared.counter)
    shown = [await _profile_line(handle, line) for line in shown_lines]
    return {
        "lines": shown, "tokens": message.tokens or 0 if message is not None else 0, "most": most,
        "left": len(lines) - len(shown_lines),
    }  # fmt: skip


async def _profile_line(handle: AsyncMemory, line: ProfileLine) -> Row:
    """Return a line with the correction that its fact replaced, if there is one."""
    fact = await fact_behind(handle, line)
    return {
        "text": line.text, "lane": line.lane, "source": line.source, "trust": line.trust,
        "replaced": (await standing(core_of(handle), fact))["replaced"] if fact is not None else None,
    }  # fmt: skip


async def _thread_row(handle: AsyncMemory, thread: Thread) -> Row:
    summaries = await handle.threads.summaries(thread.id)
    folded = max((summary.last for summary in summaries), default=0)
    return {**picked(thread, "id title length tokens", at="updated_at"), "folded": folded}


def learning_row(learning: Learning) -> Row:
    """Return a learning in the form that lists show."""
    names = "id ns content type confidence sources status trust actor version"
    return picked(learning, names, uses="usage_count", last="last_used", at="updated_at")


def working_row(doc: WorkingDocument) -> Row:
    """Return a document of working memory in the form that lists show."""
    return picked(doc, "user session doc", at="updated_at", expires="expires_at")
