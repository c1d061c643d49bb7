"""Registers the kinds of records: the name, references, text and owner of each.

Stores, recall, lineage, forgetting, export and `stats` all read this list, so a new kind is declared only once.
`CONTRIBUTING.md` lists what else a new kind affects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal

import msgspec

from .errors import InvalidNamespace, UsageError
from .messages.message import MAX_SEQ_DIGITS, Message, split_message_id
from .messages.privacy import open_text
from .records import (
    AuditEvent,
    CachedEntity,
    Candidate,
    ChangeNotice,
    CheckpointStep,
    Chunk,
    Derivation,
    Document,
    Entry,
    Epoch,
    Event,
    EventVersion,
    Fact,
    FactVersion,
    ImportedDigests,
    IndexProgress,
    Job,
    Key,
    Learning,
    Link,
    MessagePart,
    NamespaceStats,
    Pins,
    Receipt,
    Record,
    RecordPiece,
    Ref,
    RequestKey,
    RequestLog,
    StateEntry,
    StoredRecord,
    StoreIdentity,
    Summary,
    Sweep,
    Task,
    Thread,
    Tombstone,
    Watermark,
    WorkingDocument,
)
from .scope import Namespace
from .values import JsonMapping, JsonObject, decode_json, encode_json

Owner = Literal["ns", "thread", "fact", "event", "document", "record", "user", "task", "org"]
"""The owner that a row belongs to and is deleted with: its namespace, thread, fact, event, document, record, user or
task, or `org` for bookkeeping."""


MemoryRecord = Fact | Event | Learning
"""The records that users see as memories."""


class Findable(msgspec.Struct, frozen=True):
    """Defines how recall indexes and shows a kind: the name of its entries, the record behind an entry, and its
    text."""

    entry: str
    """This is the name of the kind in entries, in hits and in the `kinds=` argument of `recall`."""
    key: Callable[[str, str, int, str], Key]
    """This function returns the key (without org) of the record behind an entry, from its namespace, parent, sequence
    number and id."""
    text: Callable[[Any], str]
    """This is the text that a hit shows."""
    sought: Callable[[Any], str] | None = None
    """This is the indexed text, if it differs from the displayed text."""
    make_entry: Callable[[Any], Entry] | None = None
    """This function creates the entry, still without terms, for a separately indexed record. It is None for
    kinds that are indexed with their thread or document."""
    live: Callable[[Any], bool] = bool
    """This function returns whether a record is indexed at all."""


class Kind(msgspec.Struct, frozen=True):
    """Defines how the rest of the program treats one kind of record."""

    record: type[Record]
    name: str
    """This is the kind's name in links, in audit events and for people."""
    owner: Owner = "ns"
    says: Callable[[Any], Any] | None = None
    """This function returns the content that users or models wrote into a row. Forgetting checks that it is gone."""
    ref: Callable[[Any], Ref] | None = None
    """This function returns the reference to a row in lineage. It is None for kinds that lineage does not connect."""
    key: Callable[[Ref], Key | None] | None = None
    """This function returns the key (without org) of the row that a reference points to, or None if the reference is of
    another kind."""
    derives: tuple[str, ...] = ()
    """Lineage links lead from this kind to these kinds, in addition to copies of it. There are none if nothing is
    derived from this kind."""
    findable: Findable | None = None
    content: tuple[str, ...] = ()
    """These are the fields that contain what users or models wrote. Encryption seals them, in this order, into the
    first of them; a stored cell has no names, so fields may only be added at the end."""
    gated: bool = False
    """This is True if the gate masks or refuses secrets in the content of each row. Messages have their own check."""
    personal: bool = False
    """This is True if the gate's rules for personal data apply to the kind."""
    time_index: str | None = None
    """This is the index that orders the rows by time, if the kind has one."""
    counted: bool = False
    """This is True if `stats` counts the kind under the name of its table."""
    silent: bool = False
    """This is True if the kind is bookkeeping, so that watchers are not notified of its changes."""

    @property
    def ns_index(self) -> str | None:
        """This is the index of the rows by namespace, or None if their key begins with the namespace."""
        return "by_ns" if "by_ns" in self.record.table.indexes else None

    def label(self, record: Record) -> str:
        """Return the key of a row in the form that people see: the id of its reference, or its key columns without the
        org."""
        return self.ref(record).id if self.ref is not None else "/".join(map(str, record.row_key[1:]))


def namespaced(id: str) -> Iterator[tuple[str, str]]:
    """Yield every way to split `namespace/key`, because both parts may contain slashes."""
    at = id.find("/")
    while 0 <= at < len(id) - 1:
        # At any other slash the text before it may not be a valid namespace.
        with suppress(InvalidNamespace):
            yield str(Namespace.parse(id[:at])), id[at + 1 :]
        at = id.find("/", at + 1)


def entry_of(record: Any, kind: str, parent: str, id: str, **fields: Any) -> Entry:
    """Return an index entry for a record. Its terms and vector are added when its batch is analysed."""
    fields.setdefault("ns", getattr(record, "ns", ""))
    fields.setdefault("expires_at", getattr(record, "expires_at", None))
    return Entry(org=record.org, kind=kind, parent=parent, id=id, terms="", **fields)


def entry_key(org: str, ref: Ref) -> Key:
    """Return the key of the index entry of a fact, an event or a learning."""
    # Facts have no id of their own, so their entries are named as their hits are: namespace and key.
    return (org, ref.ns, ref.kind, "", ref.id if ref.kind == "fact" else ref.key)


# -- references


def parse_refs(id: str) -> list[Ref]:
    """Return everything that an id may refer to, whether a user typed it or it comes from `sources`.

    Only this function parses ids of unknown kind. Where the kind is known, `split_message_id` and `key_in_namespace`
    take an id apart. After that, references are compared but never split. An id is ambiguous only if names contain `/`
    or `#`.
    """
    whole, mark, part = id.rpartition("#")
    refs: list[Ref] = []
    if split_message_id(id) is not None:
        refs.append(Ref("message", key=whole, part=part))
    elif mark and whole and all(map(_is_number, part.split("-", 1))) and "-" in part:
        refs.append(Ref("summary", key=whole, part=part))
    elif mark and whole and part:
        refs += [Ref("chunk", ns, key, part) for ns, key in (("", whole), *namespaced(whole))]
    refs += [Ref("source", ns, key) for ns, key in namespaced(id)]
    if refs:
        return refs
    try:
        return [Ref("namespace", str(Namespace.parse(id)))]
    except InvalidNamespace:
        return [Ref("source", key=id)]


def key_in_namespace(ns: str, id: str) -> str:
    """Return the key in an id `namespace/key` whose namespace is known. Splitting at a slash would be wrong, because
    namespaces and keys may both contain slashes."""
    return id.removeprefix(f"{ns}/")


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) <= MAX_SEQ_DIGITS


def message_ref(message: Message) -> Ref:
    """Return the reference to a message."""
    return Ref("message", key=message.thread, part=str(message.seq))


def thread_ref(id: str) -> Ref:
    """Return the reference to a thread."""
    return Ref("thread", key=id)


def summary_ref(summary: Summary) -> Ref:
    """Return the reference to a summary."""
    return Ref("summary", key=summary.thread, part=f"{summary.first}-{summary.last}")


def _message_key(ref: Ref) -> Key | None:
    return (ref.key, int(ref.part)) if ref.kind == "message" else None


def _summary_key(ref: Ref) -> Key | None:
    return (ref.key, int(ref.part.rpartition("-")[2])) if ref.kind == "summary" else None


def _chunk_key(ref: Ref) -> Key | None:
    return (ref.ns, ref.key, ref.part) if ref.kind == "chunk" and ref.ns else None


def _thread_key(ref: Ref) -> Key | None:
    return (ref.key,) if ref.kind in ("thread", "source") and not ref.ns else None


def _key_in_ns(kind: str) -> Callable[[Ref], Key | None]:
    return lambda ref: (ref.ns, ref.key) if ref.kind in (kind, "source") and ref.ns and ref.key else None


# -- texts


def fact_text(fact: Fact) -> str:
    """Return a fact as text: its sentence if it has one, otherwise its key and value in words ("Lives in Porto")."""
    if fact.text is not None:
        return fact.text
    if fact.value is None and fact.status != "active":
        return fact.key  # a retracted version, which has no value
    statement = _own_statement(fact)
    return statement[:1].upper() + statement[1:] if statement else _key_and_value(fact)


def fact_phrase(fact: Fact) -> str:
    """Return a fact as text that begins a longer phrase, such as "lives in Porto" before "since 2026-02-01"."""
    return fact.text or _own_statement(fact) or _key_and_value(fact)


def _own_statement(fact: Fact) -> str:
    """Return a fact about the user in the words of its topic ("lives in Porto"), or "" for any other."""
    from .languages import topic_of

    topic = None if fact.subject is not None else topic_of(fact.key)
    return "" if topic is None else topic.tell_value(fact.value, fact.key)


def _key_and_value(fact: Fact) -> str:
    return f"{key_in_words(fact)}: {fact.value if isinstance(fact.value, str) else encode_json(fact.value)}"


def key_in_words(fact: Fact) -> str:
    """Return the key of a fact in words, followed by its subject: "shoe size", or "shoe size (Mia)"."""
    key = fact.key if fact.subject is None else fact.key.removesuffix(f"@{fact.subject}")
    name = key.replace("_", " ").replace(".", " ").replace("-", " ")
    return name if fact.subject is None else f"{name} ({fact.subject})"


def sought_text(fact: Fact) -> str:
    """Return the indexed text of a fact: its sentence (or its key and value), its statement in the words of its topic,
    and the questions that it answers. If the fact has `indexed`, this is only the fields of its value named there."""
    from .languages import topic_of

    if fact.indexed is None:
        topic = topic_of(fact.key)
        words = [] if topic is None else [topic.tell_value(fact.value, fact.key), *topic.ask]
        return "\n".join((fact.text or _key_and_value(fact), *words))
    texts = [text for field in fact.indexed for text in _field_texts(fact.value, field.split("."))]
    return "\n".join(texts)


def _field_texts(value: object, path: list[str]) -> Iterator[str]:
    """Yield the texts under a dotted path. A list yields the texts of each item."""
    if isinstance(value, list):
        for item in value:
            yield from _field_texts(item, path)
    elif path:
        if isinstance(value, dict) and path[0] in value:
            yield from _field_texts(value[path[0]], path[1:])
    elif value is not None:
        yield value if isinstance(value, str) else encode_json(value)


_FACT_CONTENT = ("value", "text", "subject", "tags", "metadata", "reason")
_EVENT_CONTENT = ("text", "subject", "people", "location", "tags", "metadata", "reason")


def _fact_content(fact: Fact) -> object:
    return [fact.value, fact.text, fact.subject, fact.metadata]


def chunk_text(document: Document, chunk: Chunk) -> str:
    """Return the indexed text of a chunk: its document's title, its own heading, and the chunk itself."""
    heading = f"{document.title or ''} {chunk.heading or ''}".strip()
    return f"{heading}\n{chunk.text}" if heading else chunk.text


def _filtered_fields(record: Fact | Event | Learning) -> JsonObject:
    """Return the tags and the user's metadata of a memory, which filters of recall can use."""
    fields = own_fields(record.metadata)
    fields.pop("quote", None)  # a derived memory repeats its message there
    return {"tags": list(record.tags), **fields} if record.tags else fields


def own_fields(fields: JsonMapping) -> JsonObject:
    """Return the user's own fields, without reserved names, which may contain copies of other content and by which the
    index marks its entries."""
    return {name: value for name, value in fields.items() if not name.startswith("memorist.")}


def _fact_entry(fact: Fact) -> Entry:
    value = own_fields(fact.value) if isinstance(fact.value, dict) else {"value": fact.value}
    return entry_of(
        fact, "fact", "", fact.id, role=None, trust=fact.trust, confidence=fact.confidence, source=fact.source,
        created_at=fact.updated_at, expires_at=index_end(fact),
        metadata={"key": fact.key, **_filtered_fields(fact), **value},
    )  # fmt: skip


def _learning_entry(learning: Learning) -> Entry:
    return entry_of(
        learning, "learning", "", learning.id, role=None, trust=learning.trust, confidence=learning.confidence,
        uses=learning.usage_count, created_at=learning.updated_at, expires_at=index_end(learning),
        source=learning.sources[-1] if learning.sources else None, metadata=_filtered_fields(learning),
    )  # fmt: skip


def has_lapsed(record: Fact | Learning, now: datetime) -> bool:
    """Return whether the time until which a fact or a learning holds is over."""
    return record.valid_until is not None and record.valid_until <= now


def present_status(record: Fact | Learning, now: datetime) -> str:
    """Return the status that users see: a memory whose time is over has ended."""
    is_over = record.status == "retracted" or (record.status == "active" and has_lapsed(record, now))
    return "ended" if is_over else record.status


def has_begun(record: Fact | Learning, now: datetime) -> bool:
    """Return whether the time from which a fact or a learning holds has come."""
    return record.valid_from is None or record.valid_from <= now


def index_end(record: Fact | Learning) -> datetime | None:
    """Return when a fact or a learning leaves the index: when it stops being true, or when it expires."""
    until = record.valid_until
    # A sentence about something that was over before it was stated tells about the past, and remains true.
    if until is not None and until <= record.created_at and (isinstance(record, Learning) or record.text is not None):
        until = None
    return min((end for end in (until, record.expires_at) if end is not None), default=None)


def event_text(event: Event) -> str:
    """Return an event as text: its sentence, its day, the people, and the location."""
    details = [event.starts_at.date().isoformat(), *event.people, *([event.location] if event.location else [])]
    return f"{event.text} ({', '.join(details)})"


def _event_content(event: Event) -> object:
    return [event.text, event.people, event.location, event.metadata]


def _event_entry(event: Event) -> Entry:
    return entry_of(
        event, "event", "", event.id, role=None, trust=event.trust, confidence=event.confidence,
        source=event.sources[-1] if event.sources else None, created_at=event.updated_at,
        metadata={"status": event.status, "starts_at": event.starts_at.isoformat(), **_filtered_fields(event)},
    )  # fmt: skip


def _step_says(step: CheckpointStep) -> object:
    return decode_json(step.text) if step.snapshot else None


# -- the registry


def _message_entry_key(ns: str, parent: str, seq: int, id: str) -> Key:
    return (parent, seq)


def _fact_entry_key(ns: str, parent: str, seq: int, id: str) -> Key:
    return (ns, key_in_namespace(ns, id))


def _chunk_entry_key(ns: str, parent: str, seq: int, id: str) -> Key:
    return (ns, parent, id[len(parent) + 1 :])


KINDS: tuple[Kind, ...] = (
    # In the order of an export. Messages come before the threads that count them: messages appended during an export
    # may be missing, but none is beyond the length of its thread, where the next append would overwrite it.
    Kind(
        Message, "message", "thread", says=lambda row: [row.content, row.raw] if row.raw else row.content,
        ref=message_ref, key=_message_key, derives=("fact", "learning", "event", "candidate", "summary", "message"),
        findable=Findable("message", _message_entry_key, open_text),
        content=("content", "name", "extra", "metadata", "raw"),
    ),
    Kind(Receipt, "receipt", "thread", silent=True),
    Kind(
        Summary, "summary", "thread", says=lambda row: row.text, ref=summary_ref, key=_summary_key, counted=True,
        derives=("fact", "learning", "event", "message"),
        findable=Findable("summary", _message_entry_key, lambda row: str(row.text)),
        content=("text",), gated=True,
    ),
    Kind(
        Thread, "thread", counted=True, says=lambda row: [row.title, row.metadata], ref=lambda row: thread_ref(row.id),
        key=_thread_key, derives=("fact", "learning", "event", "message"),
        content=("metadata", "title"),
    ),
    Kind(
        Fact, "fact", says=_fact_content, ref=lambda row: Ref("fact", row.ns, row.key), key=_key_in_ns("fact"),
        counted=True, derives=("fact", "learning", "event", "message", "record"),
        findable=Findable("fact", _fact_entry_key, fact_text, sought_text, _fact_entry, lambda row: row.indexed != []),
        content=_FACT_CONTENT, gated=True, personal=True,
    ),
    Kind(
        FactVersion, "fact", "fact", says=_fact_content, ref=lambda row: Ref("fact", row.ns, row.key),
        content=_FACT_CONTENT, gated=True,
    ),
    Kind(StateEntry, "state", says=lambda row: row.value, content=("value",)),
    Kind(
        Learning, "learning", says=lambda row: row.content, ref=lambda row: Ref("learning", row.ns, row.id),
        key=_key_in_ns("learning"), counted=True, derives=("fact", "learning", "event", "message", "record"),
        findable=Findable(
            "learning", lambda ns, parent, seq, id: (ns, id), lambda row: str(row.content), None, _learning_entry,
            lambda row: bool(row.status == "active"),
        ),
        content=("content", "subject", "tags", "metadata", "reason"), gated=True, personal=True,
    ),
    Kind(
        Event, "event", says=_event_content, ref=lambda row: Ref("event", row.ns, row.id), key=_key_in_ns("event"),
        counted=True, derives=("fact", "learning", "event", "message", "record"),
        findable=Findable(
            "event", lambda ns, parent, seq, id: (ns, id), event_text, None, _event_entry,
            lambda row: bool(row.status != "cancelled"),
        ),
        content=_EVENT_CONTENT, gated=True, personal=True, time_index="by_start",
    ),
    Kind(
        EventVersion, "event", "event", says=_event_content, ref=lambda row: Ref("event", row.ns, row.id),
        content=_EVENT_CONTENT, gated=True,
    ),
    Kind(
        Candidate, "candidate", says=lambda row: [row.text, row.proposal, row.quote],
        ref=lambda row: Ref("candidate", row.ns, row.id), key=_key_in_ns("candidate"),
        derives=("fact", "learning", "event"), content=("text", "proposal", "quote", "reason"), gated=True,
    ),
    Kind(WorkingDocument, "working", "user", says=lambda row: row.doc, content=("doc",)),
    Kind(CachedEntity, "entity", "org", says=lambda row: row.value, content=("value",)),
    Kind(
        Document, "document", says=lambda row: row.text, ref=lambda row: Ref("document", row.ns, row.id),
        key=_key_in_ns("document"), counted=True, derives=("fact", "learning", "event", "message"),
        content=("text", "title", "metadata"), gated=True, personal=True,
    ),
    Kind(
        Chunk, "chunk", "document", ref=lambda row: Ref("chunk", row.ns, row.document, row.part), key=_chunk_key,
        derives=("fact", "learning", "event", "message"), silent=True,
        findable=Findable("document", _chunk_entry_key, lambda row: str(row.text)),
        content=("text", "heading"), gated=True,
    ),
    Kind(Task, "task", counted=True),
    Kind(CheckpointStep, "checkpoint", "task", says=_step_says, content=("body",)),
    # Pieces come before the rows that refer to them.
    Kind(RecordPiece, "record piece", "record", says=lambda row: row.data, content=("data",), silent=True),
    # Applied plans of the tidier are records that hold the texts of memories.
    Kind(
        StoredRecord, "record", says=lambda row: row.data, ref=lambda row: Ref("record", row.ns, row.key),
        key=lambda ref: (ref.ns, ref.key) if ref.kind == "record" else None,
        content=("data", "metadata"),
    ),
    Kind(Link, "link", "org", silent=True),
    Kind(Tombstone, "tombstone", "org", silent=True),
    Kind(AuditEvent, "audit event", "org", silent=True),
    Kind(IndexProgress, "index progress", "thread", silent=True),
    Kind(Derivation, "derivation", "thread", silent=True),
    Kind(Pins, "pins", "thread", silent=True),
    Kind(MessagePart, "message part", "thread", says=lambda row: row.data, content=("data",), silent=True),
    Kind(RequestLog, "request log", "thread", silent=True),
    Kind(ImportedDigests, "imported digests", "thread", silent=True),
    Kind(NamespaceStats, "namespace statistics", silent=True),
    Kind(Sweep, "sweep", silent=True),
    Kind(ChangeNotice, "notice", silent=True),
    Kind(Epoch, "epoch", "org", silent=True),
    Kind(RequestKey, "request key", "org", silent=True),
    Kind(Watermark, "watermark", "org", silent=True),
    Kind(StoreIdentity, "store identity", "org", silent=True),
    Kind(Job, "job", "org", silent=True),
    Kind(
        Entry, "entry", content=("terms", "context_terms", "signals", "speaker", "metadata", "vector"), silent=True
    ),
)  # fmt: skip
"""All kinds of records, without duplicates."""

RECORDS: tuple[type[Record], ...] = tuple(kind.record for kind in KINDS)
FINDABLE: dict[str, Kind] = {kind.findable.entry: kind for kind in KINDS if kind.findable is not None}
"""The kinds that recall finds, by the name of their entries."""
LINKED: dict[str, Kind] = {kind.name: kind for kind in KINDS if kind.key is not None}
"""The kinds that lineage connects, by name, in the order in which they are tried for a reference."""
MEMORIES: tuple[Kind, ...] = tuple(LINKED[name] for name in ("fact", "event", "learning"))
"""The kinds of memories, in the order in which they are listed."""
_BY_RECORD: dict[type[Record], Kind] = {kind.record: kind for kind in KINDS}
_BY_TABLE: dict[str, Kind] = {kind.record.table.name: kind for kind in KINDS}


def kind_of(record: Record | type[Record]) -> Kind:
    """Return the kind of a record, or of a user-defined subclass."""
    cls = record if isinstance(record, type) else type(record)
    # Every write asks this, so the usual case must not walk the base classes.
    return _BY_RECORD.get(cls) or next(_BY_RECORD[base] for base in cls.__mro__ if base in _BY_RECORD)


def kind_of_table(name: str) -> Kind | None:
    """Return the kind whose rows are in a table, or None if there is no such table."""
    return _BY_TABLE.get(name)


def reference(record: Record) -> Ref:
    """Return the reference to a record. Raises UsageError if it has no lineage of its own."""
    kind = kind_of(record)
    if kind.ref is None or kind.record is Thread:
        raise UsageError(f"a {type(record).__name__} has no lineage")
    return kind.ref(record)


def row_of(ref: Ref) -> tuple[type[Record], Key] | None:
    """Return the record type and the key (without org) of the row that a reference points to, or None if there is
    none."""
    kind = LINKED.get(ref.kind)
    key = kind.key(ref) if kind is not None and kind.key is not None else None
    return None if kind is None or key is None else (kind.record, key)


def owned_by(owner: str) -> list[type[Record]]:
    """Return the kinds of records whose rows of one owner share a key prefix, which is the org followed by the owner's
    own key."""
    owner = "ns" if owner == "namespace" else owner
    prefix = {"task": "task_id", **dict.fromkeys(("fact", "event", "document", "record"), "ns")}.get(owner, owner)
    return [
        kind.record for kind in KINDS if kind.record.table.key[1] == prefix and (owner == "ns" or kind.owner == owner)
    ]


def source_of(kind: str, ns: str, id: str) -> str:
    """Return the id of a hit in the form that `sources` use, from its kind, its namespace and its id, which may lack
    the namespace."""
    # The id of a fact's hit contains the namespace, because facts have no id of their own.
    return f"{ns}/{id}" if kind != "fact" and any(kind == memory.name for memory in MEMORIES) else id
