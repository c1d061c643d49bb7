"""Marks hits that a later statement revised, ranks them below it, and adds that statement if it was not found.

A statement with a sign of change ("no longer", "now") that shares distinctive words with a hit revises it. It is
searched among the hits and among the newest such statements of the namespace, which are candidates of every question.
An assistant's answer that only repeats a revised statement is marked with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

import msgspec

from ...messages.message import Message
from ...ports import to_micros
from ...recall.hit import Hit
from ...recall.reach import DERIVED
from ...records import Entry, Mark
from ..core import Core
from .pools import Pool

ECHO = 12
"""An assistant's answer of at most so many terms counts as a mere repetition of what it answers."""


class Revisions:
    """Marks the hits of one recall."""

    def __init__(self, core: Core, pools: Sequence[Pool], *, demote: bool) -> None:
        self._core = core
        self._pools = pools
        self._demote = demote
        stats = pools[0].stats
        self._assisted = bool(stats.assistant_entries) or len(stats.speakers) < 2
        """Whether a single person speaks, with an assistant or alone; among several, signs of change mean little."""

    async def marked(self, hits: list[Hit], picked: Sequence[Any]) -> list[Hit]:
        """The hits, best first, with marks on revised ones; what revises a hit comes before it."""
        from ...recall.revision import possible, revised

        if not self._assisted:
            return sorted(hits, key=lambda hit: (-hit.score, hit.superseded_by is not None))
        others = self._others(picked)
        statements = [*map(_statement, picked), *map(stored_statement, others)]
        if any(one.turns for one in statements):
            tells = self._tells()
            statements[: len(picked)] = [
                msgspec.structs.replace(said, tells=said.tells | tells.get(one.entry.id, 0))
                for said, one in zip(statements, picked, strict=False)
            ]
        pairs = {
            old: [new for new in later if new >= len(hits) or hits[new].id != hits[old].source]
            for old, later in possible(statements).items()
            if old < len(hits)
        }
        statements = await _read(self._core, statements, others, pairs)
        out = list(hits)
        added: dict[str, Hit] = {}
        for old, new in revised(statements, pairs).items():
            said = out[new] if new < len(hits) else self._hit(others[new - len(hits)], statements[new].text)
            mark = out[old].superseded_by or told(said.text, said.created_at)
            if self._demote:  # the revising statement takes the rank of what it revised
                said = msgspec.structs.replace(said, score=max(out[old].score, said.score))
            out[old] = msgspec.structs.replace(out[old], superseded_by=mark)
            if new < len(hits):
                out[new] = said
            elif said.id not in added or added[said.id].score < said.score:
                added[said.id] = said
        out = [*_echoes(out, picked), *added.values()]
        marked = {id(hit) for hit in out if hit.superseded_by}
        return sorted(out, key=lambda hit: (-hit.score, id(hit) in marked))

    def _tells(self) -> dict[str, int]:
        """By the ids of messages, the subjects of the facts that were taken from them, as far as those were found."""
        pool = self._pools[0]
        return {
            entry.source: _tells(f"{entry.id.partition('/')[2]}:")
            for entry in pool.entries
            if entry.kind == "fact" and entry.source is not None
        }

    def _others(self, picked: Sequence[Any]) -> list[Entry]:
        """Candidates with a sign of change that were not picked."""
        mine = {scored.entry.id for scored in picked}
        pool = self._pools[0]
        return [
            entry for entry in pool.entries[: pool.allowed]
            if entry.kind == "message" and entry.id not in mine and revising(entry)
        ]  # fmt: skip

    def _hit(self, entry: Entry, text: str) -> Hit:
        return Hit(
            kind="message", id=entry.id, text=text, score=0.0, namespace=entry.ns, org=self._core.org,
            created_at=entry.created_at, source=entry.id, trust=entry.trust, speaker=entry.speaker or "",
            place=entry.seq,
        )  # fmt: skip


def told(text: str, at: datetime) -> str:
    """The start of the statement that revised another, with its date."""
    from ...recall.revision import quoted

    return f"{quoted(text)} ({at.date().isoformat()})"


async def later_statements(core: Core, ns: str) -> list[Entry]:
    """The newest statements of a namespace with a sign of change."""
    return await listed_statements(core, ns, "revising")


async def listed_statements(core: Core, ns: str, name: str) -> list[Entry]:
    """The entries of a list that indexing keeps of a namespace, newest first."""
    mark = await core.get(Mark, "scope", ns)
    keys = [(ns, "message", parent, id) for _, parent, id in (mark.detail or {}).get(name, ())] if mark else []
    return [entry for entry in await core.get_many(Entry, keys) if entry is not None] if keys else []


def revising(entry: Entry) -> bool:
    """Whether an entry is a statement of the user's own with a sign of change."""
    return _sign(entry.signals) > 0 and not _spoken_by_assistant(entry.role or "", entry.speaker or "")


def _sign(signals: bytes) -> int:
    """The sign of change among an entry's signals: 0 none, 1 some, 2 a strong one."""
    value = _signal(signals, "revises")
    return 0 if not value else 1 + (value > 128)


def _signal(signals: bytes, name: str) -> int:
    """One of an entry's signals; 0 in an entry that was indexed before there was such a signal."""
    at = _places()[name]
    return signals[at] if len(signals) > at else 0


def _spoken_by_assistant(role: str, speaker: str) -> bool:
    """`is_assistant`, imported lazily and cached, because this runs for every candidate."""
    return _is_assistant()(role, speaker)


@cache
def _is_assistant() -> Callable[[str, str], bool]:
    from ...recall.entry import is_assistant

    return is_assistant


@cache
def _places() -> dict[str, int]:
    from ...recall.signals import NAMES

    return {name: place for place, name in enumerate(NAMES)}


def stored_statement(entry: Entry) -> Any:
    """A stored statement with a sign of change."""
    from ...recall.revision import Statement

    return Statement(
        "", frozenset(entry.terms.split()), to_micros(entry.created_at), True, speaker=entry.speaker or "",
        sign=_sign(entry.signals), turns=_signal(entry.signals, "turns"),
    )  # fmt: skip


def _statement(scored: Any) -> Any:
    from ...recall.revision import Statement

    entry = scored.entry
    terms = frozenset(entry.terms.split())
    if entry.kind in DERIVED:
        told = _tells(entry.text)
        return Statement(entry.text, terms, entry.created_at, True, speaker=entry.speaker, tells=told, derived=True)
    if entry.kind != "message" or _spoken_by_assistant(entry.role, entry.speaker):
        return Statement(entry.text, terms, entry.created_at, False, entry.kind == "chunk", entry.speaker)
    return Statement(
        entry.text, terms, entry.created_at, True, speaker=entry.speaker, sign=_sign(entry.signals),
        tells=_signal(entry.signals, "tells"), turns=_signal(entry.signals, "turns"),
    )  # fmt: skip


def _echoes(hits: list[Hit], picked: Sequence[Any]) -> list[Hit]:
    """Mark an assistant's answers to marked statements too, if they only repeat them."""
    old = {
        (scored.entry.thread, scored.entry.seq): (hit.superseded_by, frozenset(scored.entry.terms.split()))
        for hit, scored in zip(hits, picked, strict=True)
        if hit.superseded_by and hit.kind == "message"
    }
    out = list(hits)
    for place, scored in enumerate(picked):
        entry = scored.entry
        said = old.get((entry.thread, entry.seq - 1)) if entry.kind == "message" else None
        if said is None or out[place].superseded_by or not _spoken_by_assistant(entry.role, entry.speaker):
            continue
        terms = frozenset(entry.terms.split())
        if len(terms) <= ECHO or len(terms & said[1]) * 3 >= len(terms):
            out[place] = msgspec.structs.replace(out[place], superseded_by=said[0])
    return out


async def revised_lines(core: Core, ns: str, lines: list[Any], said: Mapping[str, tuple[Any, Any]]) -> list[Any]:
    """Profile lines, marked if a later statement, from which no fact was extracted, revises their sources.

    `said` maps a line's source to the messages it was derived from and the time it last changed.
    """
    from ...recall.revision import possible, revised

    later = await later_statements(core, ns)
    if not later or not lines:
        return lines
    ids = {id for line in lines for id in said.get(line.source, ((), None))[0]}
    keys = [(ns, "message", id.rpartition("#")[0], id) for id in sorted(ids)]
    found = {entry.id: entry for entry in await core.get_many(Entry, keys) if entry is not None} if keys else {}
    sources = [[found[id] for id in said.get(line.source, ((), None))[0] if id in found] for line in lines]
    statements = [*map(_told, lines, sources), *map(stored_statement, later)]
    pairs = {
        old: [new for new in many if new >= len(lines) and later[new - len(lines)] not in sources[old]]
        for old, many in possible(statements).items()
        if old < len(lines)
    }
    statements = await _read(core, statements, later, pairs)
    out = list(lines)
    for old, new in revised(statements, pairs).items():
        mark = told(statements[new].text, later[new - len(lines)].created_at)
        out[old] = msgspec.structs.replace(out[old], text=f"{out[old].text} [superseded: {mark}]")
    return out


async def _read(
    core: Core, statements: Sequence[Any], stored: Sequence[Entry], pairs: Mapping[int, Sequence[int]]
) -> list[Any]:
    """The statements, of which the last are `stored` ones, with the texts of those that may revise another.

    The text of a deleted message stays empty.
    """
    begin, out = len(statements) - len(stored), list(statements)
    places = sorted({new for later in pairs.values() for new in later if new >= begin})
    keys = [(stored[place - begin].parent, stored[place - begin].seq) for place in places]
    for place, message in zip(places, await core.get_many(Message, keys) if keys else (), strict=True):
        if message is not None:
            out[place] = msgspec.structs.replace(out[place], text=message.text)
    return out


def _told(line: Any, sources: Sequence[Entry]) -> Any:
    """A profile line as a statement; a line without sources is not revised."""
    from ...recall.analyze import tokens
    from ...recall.revision import Statement

    at = max((to_micros(entry.created_at) for entry in sources), default=0)
    # A safety-relevant line needs two shared words to count as revised.
    speaker = (sources[0].speaker or "") if sources else ""
    careful = bool(sources) and line.lane == "safety"
    return Statement(
        line.text, frozenset(tokens(line.text)), at, bool(sources), careful, speaker, tells=_tells(line.text),
        derived=True,
    )  # fmt: skip


@lru_cache(2048)
def _tells(text: str) -> int:
    """The subjects that a profile line, a fact or a learning tells of."""
    from ...recall.subjects import told_of

    return told_of(text)
