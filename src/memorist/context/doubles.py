"""Removes duplicates from a request. These are recalled items that the history, the profile or a summary already
contains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..messages.message import ATTACHED, Message
from .items import SAID, Fate, MemoryItem
from .measure import stored_tokens
from .profile import ProfileLine
from .tokens import Counter
from .units import Unit

_WORD = re.compile(r"[^\W_]+")
MIN_PIECE_CHARACTERS = 12
"""Shorter texts may occur in a summary by chance, so they do not count as duplicates."""

MAX_SPACE_FACTOR = 4
"""A text more than this many times as long as the longest other text is not compared, because white space
alone cannot make up the difference."""


class Said:
    """Indexes the history, profile and summary of a request by message id and by text, to find duplicates."""

    def __init__(self, units: Iterable[Unit], lines: Sequence[ProfileLine], summary: Message | None) -> None:
        self._ids: set[str] = set()
        self._messages: dict[str, Message] = {}
        self._texts: set[str] = set()
        for unit in units:
            self._ids.update(carried(unit))
            for message in unit.messages:
                if message.thread:
                    self._messages[message.id] = message
                if type(message.content) is str:
                    self._texts.add(_plain(message.content))
        self._lines = {line.source for line in lines if line.source}
        self._wishes = {_plain(line.text) for line in lines}
        self._summary = _plain(summary.text) if summary is not None else ""
        self._words: dict[str, frozenset[str]] = {}
        """The words of messages that items were extracted from, by id. Several items may come from one long message."""
        self._longest = max(map(len, (*self._texts, *self._wishes, self._summary)), default=0)

    def where(self, item: MemoryItem) -> str:
        """Return the section that already contains an item, or an empty string."""
        if (mine := identity(item)) in self._ids or mine in self._messages:
            return "history"
        if item.source in self._lines:
            return "profile"
        if item.said_in in self._messages and not item.superseded_by and self._holds(item.said_in, item):
            return "history, in the message it was taken from"
        if len(item.text) > MAX_SPACE_FACTOR * self._longest:
            return ""
        text = _plain(item.text)
        if text in self._texts:
            return "history"
        if text in self._wishes:
            return "profile"
        return "summary" if len(text) >= MIN_PIECE_CHARACTERS and text in self._summary else ""

    def _holds(self, id: str, item: MemoryItem) -> bool:
        """Return whether a message contains all the words of the value that was extracted from it.

        A computed value, such as the date of "next Tuesday", is not in the message.
        """
        value = (item.text.partition(": ")[2] if item.kind == "fact" else item.text).casefold()
        words = _WORD.findall(value)
        if not words:
            return False
        if id not in self._words:
            self._words[id] = frozenset(_WORD.findall(self._messages[id].text.casefold()))
        # A word of the value may be part of a word of the message, where a script has no spaces.
        return self._words[id].issuperset(words) or value in self._messages[id].text.casefold()

    def agrees(self, fates: Iterable[Fate]) -> bool:
        """Return whether this index finds the same duplicates as the one that decided these fates."""
        return all(bool(self.where(fate.item)) == fate.double for fate in fates)

    def split(self, items: Iterable[MemoryItem]) -> tuple[list[MemoryItem], list[Fate]]:
        """Return the items that are not duplicates, and the fates of the duplicates."""
        fresh: list[MemoryItem] = []
        double: list[Fate] = []
        for item in items:
            section = self.where(item)
            if section:
                double.append(Fate(item, 0, "dropped", f"{SAID}{section}"))
            else:
                fresh.append(item)
        return fresh, double


def identity(item: MemoryItem) -> str:
    """Return the id to compare an item by: its source, or its own id for a passage, since passages share a source."""
    return item.id if item.kind == "document" and item.id else item.source


def carried(unit: Unit) -> list[str]:
    """Return the ids (see `identity`) of the recalled items stored with a turn's message."""
    if len(unit.messages) < 2:
        return []
    attached = unit.messages[1].metadata.get(ATTACHED)
    ids = attached.get("ids") if isinstance(attached, Mapping) else None
    return [id_ for id_ in ids if isinstance(id_, str) and id_] if isinstance(ids, list | tuple) else []


def without_repeated(units: Sequence[Unit], counter: Counter) -> tuple[Unit, ...]:
    """Return the units without any stored memory whose items are also in another unit.

    A turn recalls only messages outside the window of its request. A later window may contain these messages again,
    because the budget grew or the input is shorter. Two turns may also have recalled the same item.
    """
    if not any(map(carried, units)):
        return tuple(units)
    seen = {message.id for unit in units for message in unit.messages if message.thread}
    out: list[Unit] = []
    for unit in units:
        carried_ids = carried(unit)
        out.append(_bare(unit, counter) if seen.intersection(carried_ids) else unit)
        seen.update(carried(out[-1]))
    return tuple(out)


def _bare(unit: Unit, counter: Counter) -> Unit:
    recalled, *rest = unit.messages
    bare = msgspec.structs.replace(rest[0], metadata={k: v for k, v in rest[0].metadata.items() if k != ATTACHED})
    tokens = unit.tokens - stored_tokens(recalled, counter)
    return msgspec.structs.replace(unit, messages=(bare, *rest[1:]), tokens=tokens)


def _plain(text: str) -> str:
    return " ".join(text.split())
