"""Defines the report of an import, and the tally that it is built from."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import msgspec

from ..messages.message import text_of
from ..records import as_dict
from .items import DocumentItem, FactItem, Item, MessageItem, Problem, ThreadItem

MAX_PROBLEMS = 100
SAMPLES_PER_KIND = 3
MAX_SAMPLE_CHARACTERS = 160


class Sample(msgspec.Struct, frozen=True):
    """Holds one of the first items of its kind, as it would be stored."""

    to_dict = as_dict

    what: str
    id: str
    namespace: str
    text: str
    at: datetime | None = None


class ImportReport(msgspec.Struct, frozen=True):
    """Reports what a source contains, what was imported, and what could not be imported."""

    to_dict = as_dict

    kind: str
    """This is the format that the source was read as."""
    source: str
    """This is the source name of everything imported. `forget(source=…)` undoes the import."""
    found: dict[str, int]
    """This is the number of threads, messages, facts and documents in the source."""
    added: dict[str, int] = {}
    known: dict[str, int] = {}
    """This is the number of items that an earlier import had already added."""
    problems: tuple[Problem, ...] = ()
    """These are the first hundred items that could not be imported, with their positions and the reasons."""
    failed: int = 0
    """This is the number of items that could not be imported."""
    namespaces: dict[str, int] = {}
    """This is the number of items for each namespace."""
    samples: tuple[Sample, ...] = ()
    first_at: datetime | None = None
    last_at: datetime | None = None
    """These are the oldest and newest times of any message, fact or document."""
    dry_run: bool = False


class Tally:
    """Counts items, and collects samples of each kind and the first problems."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.added: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.namespaces: Counter[str] = Counter()
        self.problems: list[Problem] = []
        self.failed = 0
        self.samples: list[Sample] = []
        self.first_at: datetime | None = None
        self.last_at: datetime | None = None

    def problem(self, position: str, reason: str) -> None:
        """Count an item that cannot be imported."""
        self.failed += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(position, reason))

    def saw(self, item: Item, ns: str) -> None:
        """Count a valid item."""
        what, at = _KINDS[type(item)], _time(item)
        count = self.found[what] = self.found[what] + 1
        self.namespaces[ns] += 1
        if at is not None:
            if self.first_at is None or at < self.first_at:
                self.first_at = at
            if self.last_at is None or at > self.last_at:
                self.last_at = at
        if count <= SAMPLES_PER_KIND:
            id, text = _shown(item)
            self.samples.append(
                Sample(
                    what,
                    id,
                    ns,
                    text if len(text) <= MAX_SAMPLE_CHARACTERS else f"{text[: MAX_SAMPLE_CHARACTERS - 1]}…",
                    at,
                )
            )

    def report(self, kind: str, source: str, *, dry_run: bool) -> ImportReport:
        """Return the report from the counts."""
        return ImportReport(
            kind, source, dict(self.found), dict(self.added), dict(self.known), tuple(self.problems), self.failed,
            dict(self.namespaces.most_common()), tuple(self.samples), self.first_at, self.last_at, dry_run,
        )  # fmt: skip


_KINDS: dict[type, str] = {
    ThreadItem: "threads",
    MessageItem: "messages",
    FactItem: "facts",
    DocumentItem: "documents",
}


def _time(item: Item) -> datetime | None:
    if isinstance(item, FactItem):
        return item.versions[-1].at
    return None if isinstance(item, Problem) else item.created_at


def _shown(item: Item) -> tuple[str, str]:
    """Return the id of an item and a line of its text."""
    if isinstance(item, MessageItem):
        return item.thread, f"{item.message.get('role')}: {text_of(item.message.get('content'))}"
    if isinstance(item, ThreadItem):
        return item.id, item.title or ""
    if isinstance(item, FactItem):
        return item.key, str(item.versions[-1].value)
    assert isinstance(item, DocumentItem)
    return item.id, item.title or item.text
