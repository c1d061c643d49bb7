"""The registry of kinds: for each kind of record its name, its ids, its text, and what forgetting does with it.

Stores, recall, lineage, forgetting, export and `stats` all read this one list, so a new kind is declared here once.
`CONTRIBUTING.md` lists what else a new kind touches.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal

import msgspec

from .errors import InvalidNamespace
from .messages.message import Message
from .records import (
    AuditEvent,
    CachedEntity,
    Candidate,
    CheckpointStep,
    Chunk,
    Document,
    Entry,
    Event,
    EventVersion,
    Fact,
    FactVersion,
    Job,
    Key,
    Learning,
    Link,
    Mark,
    Receipt,
    Record,
    RecordPiece,
    StateEntry,
    StoredRecord,
    Summary,
    Task,
    Thread,
    Tombstone,
    WorkingDocument,
)
from .scope import Namespace
from .values import decode_json, encode_json

Owner = Literal["ns", "thread", "user", "task", "org"]
"""What a row belongs to, and is deleted with: its namespace, thread, user or task; `org` for bookkeeping."""


class Found(msgspec.Struct, frozen=True):
    """How recall indexes and shows a kind: the name of its entries, the record behind an entry, and its text."""

    entry: str
    """The name of the kind in entries, in hits and in the `kinds=` of a recall."""
    key: Callable[[str, str, int, str], Key]
    """The key (without org) of the record behind an entry, from its namespace, parent, sequence number and id."""
    text: Callable[[Any], str]
    """The text that a hit shows."""
    sought: Callable[[Any], str] | None = None
    """The text that is indexed, if it differs from the text that is shown."""
    made: Callable[[Any], Entry] | None = None
    """Makes the entry, still without terms, of a record that is indexed by itself; None for kinds that are indexed with
    their thread or document."""
    live: Callable[[Any], bool] = bool
    """Whether a record is indexed at all."""


class Kind(msgspec.Struct, frozen=True):
    """How the rest of the program treats one kind of record."""

    record: type[Record]
    name: str
    """Its name in links, in audit events and to people."""
    owner: Owner = "ns"
    says: Callable[[Any], Any] | None = None
    """Returns the content that users or models wrote into a row; forgetting checks that it is gone."""
    link: Callable[[Any], str] | None = None
    """Returns a row's id in lineage; None for kinds that lineage does not connect."""
    read: Callable[[str, str | None], Iterator[Key]] | None = None
    """Parses a lineage id into the keys (without org) that it may mean, given the namespace if that is known."""
    found: Found | None = None
    counted: bool = False
    """Whether `stats` counts it under the name of its table."""

    def label(self, record: Record) -> str:
        """The key of a row as a person sees it: its lineage id, or its key columns without the org."""
        return self.link(record) if self.link is not None else "/".join(map(str, record.row_key[1:]))


def namespaced(id: str) -> Iterator[tuple[str, str]]:
    """Every way to split `namespace/key`, since both parts may contain slashes."""
    at = id.find("/")
    while at >= 0:
        # At any other slash the text before it may not be a valid namespace.
        with suppress(InvalidNamespace):
            yield str(Namespace.parse(id[:at])), id[at + 1 :]
        at = id.find("/", at + 1)


def entry_of(record: Any, kind: str, parent: str, id: str, **fields: Any) -> Entry:
    """An index entry of a record; its terms and vector are added when its batch is analysed."""
    fields.setdefault("ns", getattr(record, "ns", ""))
    fields.setdefault("expires_at", getattr(record, "expires_at", None))
    return Entry(org=record.org, kind=kind, parent=parent, id=id, terms="", **fields)


# -- ids


def _under_ns(id: str, ns: str | None) -> Iterator[Key]:
    """Keys of rows with the id `namespace/id`, or `id` alone where the namespace is given."""
    if ns is not None:
        yield (ns, id)
    for space, key in namespaced(id):
        if key:
            yield (space, key)


def _chunk_keys(id: str, ns: str | None) -> Iterator[Key]:
    for space, rest in _under_ns(id, ns):
        document, mark, part = str(rest).rpartition("#")
        if mark:
            yield (space, document, part)


def _message_key(id: str, ns: str | None) -> Iterator[Key]:
    thread, mark, seq = id.rpartition("#")
    if mark and seq.isdecimal() and seq.isascii() and len(seq) < 19:
        yield (thread, int(seq))


def _summary_key(id: str, ns: str | None) -> Iterator[Key]:
    thread, _, span = id.rpartition("#")
    first, dash, last = span.partition("-")
    if dash and first.isdecimal() and last.isdecimal() and span.isascii() and len(last) < 19:
        yield (thread, int(last))


def _in_ns(record: Any) -> str:
    return f"{record.ns}/{record.id}"


def _own_id(record: Any) -> str:
    return str(record.id)


# -- texts


def fact_text(fact: Fact) -> str:
    """A fact as text: its sentence if it has one, else its key in words, then its value."""
    if fact.text is not None:
        return fact.text
    name = fact.key.replace("_", " ").replace(".", " ").replace("-", " ")
    return f"{name}: {fact.value if isinstance(fact.value, str) else encode_json(fact.value)}"


def sought_text(fact: Fact) -> str:
    """The text of a fact that is indexed: all of it, or the fields of its value named in `indexed`."""
    if fact.indexed is None:
        return fact_text(fact)
    found = [text for field in fact.indexed for text in _field_texts(fact.value, field.split("."))]
    return "\n".join(found)


def _field_texts(value: Any, path: list[str]) -> Iterator[str]:
    """The texts under a dotted path; a list yields those of each item."""
    if isinstance(value, list):
        for item in value:
            yield from _field_texts(item, path)
    elif path:
        if isinstance(value, dict) and path[0] in value:
            yield from _field_texts(value[path[0]], path[1:])
    elif value is not None:
        yield value if isinstance(value, str) else encode_json(value)


def _fact_content(fact: Fact) -> Any:
    return [fact.value, fact.text, fact.subject, fact.metadata]


def chunk_text(document: Document, chunk: Chunk) -> str:
    """The text of a chunk that is indexed: its document's title, its own heading, then the chunk."""
    heading = f"{document.title or ''} {chunk.heading or ''}".strip()
    return f"{heading}\n{chunk.text}" if heading else chunk.text


def _fact_entry(fact: Fact) -> Entry:
    return entry_of(
        fact, "fact", "", fact.id, role=None, trust=fact.trust, confidence=fact.confidence, source=fact.source,
        created_at=fact.updated_at,
        metadata={"key": fact.key, **(fact.value if isinstance(fact.value, dict) else {"value": fact.value})},
    )  # fmt: skip


def _learning_entry(learning: Learning) -> Entry:
    return entry_of(
        learning, "learning", "", learning.id, role=None, trust=learning.trust, confidence=learning.confidence,
        uses=learning.usage_count, created_at=learning.updated_at,
        source=learning.sources[-1] if learning.sources else None,
    )  # fmt: skip


def event_text(event: Event) -> str:
    """An event as text: its sentence, its day, and who was there, and where."""
    details = [event.starts_at.date().isoformat(), *event.people, *([event.location] if event.location else [])]
    return f"{event.text} ({', '.join(details)})"


def _event_content(event: Event) -> Any:
    return [event.text, event.people, event.location, event.metadata]


def _event_entry(event: Event) -> Entry:
    return entry_of(
        event, "event", "", event.id, role=None, trust=event.trust, confidence=event.confidence,
        source=event.sources[-1] if event.sources else None, created_at=event.updated_at,
        metadata={"status": event.status, "starts_at": event.starts_at.isoformat(), **event.metadata},
    )  # fmt: skip


def _step_says(step: CheckpointStep) -> Any:
    if not step.snapshot:
        return None
    # JSON never begins with the first byte of zlib, by which long bodies are compressed.
    return decode_json(zlib.decompress(step.body) if step.body[:1] == b"x" else step.body)


# -- the registry


def _message_place(ns: str, parent: str, seq: int, id: str) -> Key:
    return (parent, seq)


def _fact_place(ns: str, parent: str, seq: int, id: str) -> Key:
    return (ns, id[len(ns) + 1 :])


def _chunk_place(ns: str, parent: str, seq: int, id: str) -> Key:
    return (ns, parent, id[len(parent) + 1 :])


KINDS: tuple[Kind, ...] = (
    # In the order of an export. Messages come before the threads that count them: messages appended during an export
    # may be missing, but none is beyond the length of its thread, where the next append would overwrite it.
    Kind(
        Message, "message", "thread", says=lambda row: [row.content, row.raw] if row.raw else row.content,
        link=_own_id, read=_message_key,
        found=Found("message", _message_place, lambda row: str(row.text)),
    ),
    Kind(Receipt, "receipt", "thread"),
    Kind(
        Summary, "summary", "thread", says=lambda row: row.text, link=_own_id, read=_summary_key, counted=True,
        found=Found("summary", _message_place, lambda row: str(row.text)),
    ),
    Kind(Thread, "thread", counted=True, says=lambda row: [row.title, row.metadata]),
    Kind(
        Fact, "fact", says=_fact_content, link=_own_id, read=_under_ns, counted=True,
        found=Found("fact", _fact_place, fact_text, sought_text, _fact_entry, lambda row: row.indexed != []),
    ),
    Kind(FactVersion, "fact", says=_fact_content, link=_own_id),
    Kind(StateEntry, "state", says=lambda row: row.value),
    Kind(
        Learning, "learning", says=lambda row: row.content, link=_in_ns, read=_under_ns, counted=True,
        found=Found(
            "learning", lambda ns, parent, seq, id: (ns, id), lambda row: str(row.content), None, _learning_entry,
            lambda row: bool(row.status == "active"),
        ),
    ),
    Kind(
        Event, "event", says=_event_content, link=_in_ns, read=_under_ns, counted=True,
        found=Found(
            "event", lambda ns, parent, seq, id: (ns, id), event_text, None, _event_entry,
            lambda row: bool(row.status != "cancelled"),
        ),
    ),
    Kind(EventVersion, "event", says=_event_content, link=_in_ns),
    Kind(Candidate, "candidate", says=lambda row: [row.text, row.proposal, row.quote], link=_in_ns, read=_under_ns),
    Kind(WorkingDocument, "working", "user", says=lambda row: row.doc),
    Kind(CachedEntity, "entity", "org", says=lambda row: row.value),
    Kind(Document, "document", says=lambda row: row.text, link=_in_ns, read=_under_ns, counted=True),
    Kind(
        Chunk, "chunk", link=_own_id, read=_chunk_keys,
        found=Found("document", _chunk_place, lambda row: str(row.text)),
    ),
    Kind(Task, "task", counted=True),
    Kind(CheckpointStep, "checkpoint", "task", says=_step_says),
    # Pieces come before the rows that refer to them.
    Kind(RecordPiece, "record piece", says=lambda row: row.data),
    Kind(StoredRecord, "record", says=lambda row: row.data),
    Kind(Link, "link", "org"),
    Kind(Tombstone, "tombstone", "org"),
    Kind(AuditEvent, "audit event", "org"),
    Kind(Mark, "mark", "org"),
    Kind(Job, "job", "org"),
    Kind(Entry, "entry"),
)  # fmt: skip
"""Every kind of record, each once."""

RECORDS: tuple[type[Record], ...] = tuple(kind.record for kind in KINDS)
FINDABLE: dict[str, Kind] = {kind.found.entry: kind for kind in KINDS if kind.found is not None}
"""The kinds that recall finds, by the name of their entries."""
LINKED: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind.read is not None)
"""The kinds that lineage connects, in the order in which an id is tried as one of them."""
_BY_RECORD: dict[type[Record], Kind] = {kind.record: kind for kind in KINDS}
_BY_TABLE: dict[str, Kind] = {kind.record.table.name: kind for kind in KINDS}


def kind_of(record: Record | type[Record]) -> Kind:
    """The kind of a record, or of a user's subclass of one."""
    cls = record if isinstance(record, type) else type(record)
    return next(_BY_RECORD[base] for base in cls.__mro__ if base in _BY_RECORD)


def kind_of_table(name: str) -> Kind | None:
    """The kind whose rows are in a table; None if there is no such table."""
    return _BY_TABLE.get(name)


def owned_by(owner: Owner) -> list[type[Record]]:
    """The kinds of records whose rows of one owner share a key prefix: org, then the owner."""
    column = "task_id" if owner == "task" else owner
    return [kind.record for kind in KINDS if kind.owner == owner and kind.record.table.key[1] == column]


def source_of(kind: str, ns: str, id: str) -> str:
    """The lineage id of a hit, from its kind, namespace and id."""
    found = FINDABLE.get(kind)
    return f"{ns}/{id}" if found is not None and found.link is _in_ns else id
