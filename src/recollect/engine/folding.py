"""Folding a stored thread: its oldest messages get a summary, which later contexts show in their place.

The summary is committed before anything is hidden, and nothing is deleted: folded messages stay readable.
"""

from __future__ import annotations

from typing import Any

from ..errors import Conflict
from ..messages import Message
from ..records import Link, Summary, Thread
from ..stores.base import Change, Expect, Put
from .audit import audit
from .core import Core
from .facts import index_job

MOST_MESSAGES = 20_000
"""Read into one fold at most; a longer thread is folded in several."""


class Folding:
    """Writes the summaries of threads."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def fold(
        self, thread: str, *, room_tokens: int, compact_at: float = 0.8, compact_to: float = 0.5, model: Any = None
    ) -> Summary | None:
        """Fold a thread's oldest unfolded messages when they take more than `compact_at` of the room; else None."""
        from ..context.fold import plan_fold, write_fold
        from ..context.units import group

        core = self._core
        held = await core.get(Thread, thread)
        if held is None:
            return None
        past = await core.scan(Summary, thread, reverse=True, limit=1)
        previous = past[0] if past else None
        behind = previous.last if previous else 0
        messages = await core.scan(Message, thread, after=(behind,), limit=MOST_MESSAGES)
        # What was recalled rides with its turn in cached contexts: counted here, so that folds do not come late.
        found, _ = group(messages, core.shared.counter, attached=True)
        planned = plan_fold(
            found,
            room_tokens,
            previous=previous.text if previous else None,
            counter=core.shared.counter,
            compact_at=compact_at,
            compact_to=compact_to,
        )
        if planned is None:
            return None
        with core.shared.events.span("fold", org=core.org, thread=thread, messages=len(planned.messages)):
            digest = await write_fold(planned, model=model, counter=core.shared.counter)
        if model is not None:
            self._note(digest)
        if digest is None:
            return None
        return await self._write(held, previous, planned, digest)

    def _note(self, digest: Any) -> None:
        """What became of a model's summary, for `doctor`: the note names kinds, never content."""
        problems = self._core.shared.problems
        if digest is not None and digest.note:
            problems["summaries"] = digest.note
        else:
            problems.pop("summaries", None)

    async def _write(self, thread: Thread, previous: Summary | None, planned: Any, digest: Any) -> Summary | None:
        core, at = self._core, self._core.at()
        summary = Summary(
            org=core.org,
            thread=thread.id,
            ns=thread.ns,
            first=previous.first if previous else planned.first,
            last=planned.last,
            text=digest.text,
            tokens=core.shared.counter.count(digest.text),
            sources=(previous.id,) if previous else (),
            method=digest.method,
            created_at=at,
        )
        changes: list[Change] = [
            Expect(Summary, summary.row_key, 0),
            Put(summary),
            Put(index_job(core.org, thread.ns, f"summary:{thread.id}", at)),
            Put(
                Link(
                    org=core.org, source=f"{thread.id}#{summary.last}", kind="summary", target=summary.id, created_at=at
                )
            ),
            audit(core, "fold", "thread", thread.id, detail={"first": summary.first, "last": summary.last}),
        ]
        try:
            await core.apply(*changes)
        except Conflict:
            return None  # another process folded the same range first
        if core.shared.events.listening:
            core.shared.emit(
                "fold", org=core.org, thread=thread.id, first=summary.first, last=summary.last, tokens=summary.tokens,
                method=summary.method,
            )  # fmt: skip
        return summary
