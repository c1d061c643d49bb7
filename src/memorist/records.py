"""Defines the stored records as frozen structs that declare their table and key, org first.

SQL stores derive their columns from this declaration, Redis derives its keys, and the in-memory store derives its sort
order. Times are aware UTC datetimes here and integer microseconds in stores, which also keep JSON fields as exact JSON
text.
"""

from __future__ import annotations

import typing
import zlib
from collections.abc import Callable
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

import msgspec

from .ids import fingerprint
from .values import JsonObject

Key = tuple[str | int, ...]
R = typing.TypeVar("R", bound="Record")


class Table(msgspec.Struct, frozen=True):
    """Describes how stores store a kind of record: the table's name, primary key, indexes and options."""

    name: str
    key: tuple[str, ...]
    indexes: dict[str, tuple[str, ...]] = {}
    """These are the columns of each index that a scan may follow. Each index ends with enough of the key to be
    unique."""
    history: str | None = None
    """This table receives a copy of every version that a Put replaces."""
    checksum: bool = False
    """This is True if each row has a CRC over all its columns, which is checked on read. Tables whose content cannot be
    derived again have one."""

    sealed: bool = False
    """For a view, this is True if its rows have a checksum. Only stores that read whole rows can check it."""

    def order(self, index: str | None) -> tuple[str, ...]:
        """Return the columns of an index, or those of the primary key for None."""
        return self.key if index is None else self.indexes[index]


def as_dict(struct: msgspec.Struct) -> JsonObject:
    """Return a struct as a dict of JSON values, for `to_dict`."""
    fields: JsonObject = msgspec.json.decode(msgspec.json.encode(struct))
    return fields


@cache
def _key_of(record_type: type[Record]) -> Callable[[Record], Key]:
    return attrgetter(*record_type.table.key)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """This is the base class of all stored records."""

    table: ClassVar[Table]
    org: str = "default"

    @property
    def row_key(self) -> Key:
        """This is the primary key of this row."""
        return _key_of(type(self))(self)

    def to_dict(self) -> JsonObject:
        """Return the record as a dict of JSON values; times become ISO strings."""
        return as_dict(self)


class Thread(Record, frozen=True, kw_only=True):
    """Represents an ordered, append-only conversation in a namespace. `length` is the last sequence number.

    If you create a thread with the id of a deleted one, its sequence numbers continue after `start`.
    """

    table = Table("threads", ("org", "id"), indexes={"by_ns": ("org", "ns", "id")})
    id: str
    ns: str
    title: str | None = None
    metadata: JsonObject = {}
    length: int = 0
    start: int = 0
    tokens: int = 0
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class Receipt(Record, frozen=True, kw_only=True):
    """Remembers an append with an idempotency key, and the sequence numbers of its messages."""

    table = Table("receipts", ("org", "thread", "key"))
    thread: str
    key: str
    first: int
    count: int
    created_at: datetime


class Summary(Record, frozen=True, kw_only=True):
    """Holds the text that replaces messages `first` to `last` of a thread. `sources` are the summaries it includes."""

    table = Table("summaries", ("org", "thread", "last"))
    thread: str
    last: int
    first: int = 1
    text: str
    tokens: int
    ns: str
    sources: tuple[str, ...] = ()
    method: str = "extractive"
    actor: str = "processor"
    created_at: datetime
    version: int = 0

    @property
    def id(self) -> str:
        """This is the thread and the range of messages: `talk#1-40`."""
        return f"{self.thread}#{self.first}-{self.last}"


class Fact(Record, frozen=True, kw_only=True):
    """Represents a JSON value under a key in a namespace, with its sources and confidence.

    `key` identifies the fact in its namespace. If the fact is not about the owner of the namespace, its key contains
    the `subject` (`birthday@Mia`), so facts about two sisters never overwrite each other.
    """

    table = Table("facts", ("org", "ns", "key"), history="fact_versions", checksum=True)
    ns: str
    key: str
    value: Any
    text: str | None = None
    """This is the fact as a sentence that makes sense on its own."""
    subject: str | None = None
    """This is the person or thing that the fact is about. None means the owner of the namespace."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    scope: str = "standing"
    """This is how long the fact matters: `standing`, `conversation` or `task`."""
    tags: tuple[str, ...] = ()
    metadata: JsonObject = {}
    inferred: bool = False
    """This is True if the fact was inferred rather than stated."""
    confidence: float = 1.0
    sources: tuple[str, ...] = ()
    actor: str = "user"
    trust: str = "user"
    status: str = "active"
    reason: str | None = None
    indexed: list[str] | None = None
    """These fields of the value are indexed for recall. None means the whole value, and an empty list
    means none."""
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0

    @property
    def source(self) -> str | None:
        """This is the newest message that the fact was extracted from."""
        return self.sources[-1] if self.sources else None

    @property
    def namespace(self) -> str:
        """This is the namespace of the fact, such as `user:ada`."""
        return self.ns

    @property
    def id(self) -> str:
        """This is the namespace and the key, such as `user:ada/city`."""
        return f"{self.ns}/{self.key}"


class FactVersion(Fact, frozen=True, kw_only=True):
    """Represents an earlier version of a fact."""

    table = Table("fact_versions", ("org", "ns", "key", "version"), checksum=True)


class Event(Record, frozen=True, kw_only=True):
    """Represents something that happened or is planned, with its time, people and place."""

    table = Table(
        "events",
        ("org", "ns", "id"),
        indexes={"by_start": ("org", "ns", "starts_at", "id")},
        history="event_versions",
        checksum=True,
    )
    ns: str
    id: str
    text: str
    starts_at: datetime
    """This is when the event begins or, if that is unknown, when somebody mentioned it."""
    ends_at: datetime | None = None
    status: str = "done"
    """This is the status: `planned`, `done` or `cancelled`."""
    scope: str = "standing"
    subject: str | None = None
    people: tuple[str, ...] = ()
    location: str | None = None
    tags: tuple[str, ...] = ()
    metadata: JsonObject = {}
    inferred: bool = False
    confidence: float = 1.0
    sources: tuple[str, ...] = ()
    actor: str = "user"
    trust: str = "user"
    reason: str | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0

    @property
    def source(self) -> str | None:
        """This is the newest message that the event was extracted from."""
        return self.sources[-1] if self.sources else None


class EventVersion(Event, frozen=True, kw_only=True):
    """Represents an earlier version of an event."""

    table = Table("event_versions", ("org", "ns", "id", "version"), checksum=True)


class Candidate(Record, frozen=True, kw_only=True):
    """Represents a memory that is waiting for a person's approval. It is never recalled or sent to a model.

    `proposal` contains the arguments of the operation that runs on approval, and `reason` says why approval is needed.
    An approved candidate is kept, out of the queue, so that undoing the approval puts it back.
    """

    table = Table("candidates", ("org", "ns", "id"))
    ns: str
    id: str
    kind: str
    """This is the kind of memory: `fact`, `event` or `learning`."""
    operation: str = "add"
    """This is the proposed operation: `add`, `update` or `end`."""
    target: str | None = None
    """This is the id of the memory to update or end."""
    text: str
    proposal: JsonObject = {}
    quote: str | None = None
    reason: str | None = None
    confidence: float = 1.0
    sources: tuple[str, ...] = ()
    approved_as: str | None = None
    """This is the id of the memory that it became or changed, or None while it is waiting."""
    actor: str = "processor"
    trust: str = "user"
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class StateEntry(Record, frozen=True, kw_only=True):
    """Represents a small value or counter under a key."""

    table = Table("state", ("org", "ns", "key"))
    ns: str
    key: str
    value: Any
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class StoredRecord(Record, frozen=True, kw_only=True):
    """Represents bytes or JSON under an ordered key, in the form that stores keep. Users see `memorist.OpaqueRecord`.

    A long value is stored in the `pieces` of an `upload` instead of in `data`. Pieces are invisible until this row
    refers to them.
    """

    table = Table("records", ("org", "ns", "key"), checksum=True)
    ns: str
    key: str
    """This is the key as text that sorts in the same order as its elements. See `memorist.ordered_keys`."""
    data: bytes | None = None
    form: str = "bytes"
    """This is the form of the data: `bytes`, or `json` for JSON text."""
    size: int = 0
    """This is the size of the whole value in bytes."""
    upload: str | None = None
    pieces: int = 0
    metadata: JsonObject = {}
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class RecordPiece(Record, frozen=True, kw_only=True):
    """Represents one part of the data of a long record."""

    table = Table("record_pieces", ("org", "ns", "key", "upload", "number"), checksum=True)
    ns: str
    key: str
    upload: str
    number: int
    data: bytes
    created_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class Learning(Record, frozen=True, kw_only=True):
    """Represents a sentence about a user, such as a preference or a habit. Its `id` is a fingerprint of the content and
    the subject, so that duplicates share a row."""

    table = Table("learnings", ("org", "ns", "id"))
    ns: str
    id: str
    content: str
    type: str = "preference"
    subject: str | None = None
    """This is the person or thing that the learning is about. None means the owner of the namespace."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    scope: str = "standing"
    inferred: bool = False
    confidence: float = 0.5
    usage_count: int = 0
    last_used: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: JsonObject = {}
    sources: tuple[str, ...] = ()
    actor: str = "user"
    trust: str = "user"
    status: str = "active"
    reason: str | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0

    @property
    def source(self) -> str | None:
        """This is the newest message that the learning was extracted from."""
        return self.sources[-1] if self.sources else None


class WorkingDocument(Record, frozen=True, kw_only=True):
    """Holds the working memory of a user, or of one session of theirs, as JSON. `memorist.Working` is the typed
    view."""

    table = Table("working", ("org", "user", "session"))
    user: str
    session: str = ""
    doc: JsonObject
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class CachedEntity(Record, frozen=True, kw_only=True):
    """Represents a cached copy of a record from another system, with the status `found`, `missing` or `loading`.

    `missing` means that the other system has no such record, and `loading` means that no value has been loaded yet.
    `owner` holds the lease for loading until `leased_until`. After `fresh_until` the copy is stale.
    """

    table = Table("entities", ("org", "type", "id"))
    type: str
    id: str
    value: Any = None
    status: str = "found"
    fresh_until: datetime
    owner: str | None = None
    leased_until: datetime | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class Document(Record, frozen=True, kw_only=True):
    """Represents a long text, split into chunks for recall."""

    table = Table("documents", ("org", "ns", "id"), checksum=True)
    ns: str
    id: str
    title: str | None = None
    source: str | None = None
    metadata: JsonObject = {}
    text: str
    chunks: int = 0
    digest: str = ""
    actor: str = "user"
    trust: str = "document"
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class Chunk(Record, frozen=True, kw_only=True):
    """Represents a piece of a document that ends at a sentence or heading.

    `part` is derived from the text, so a chunk that only moved keeps its row, its index entry and its vector.
    """

    table = Table("chunks", ("org", "ns", "document", "part"))
    ns: str
    document: str
    part: str
    position: int
    text: str
    heading: str | None = None
    """These are the headings above the chunk, such as `Refunds > Exceptions`."""
    page: int | None = None
    """This is the page on which the chunk begins, counted from 1, or None for formats without pages."""
    start: int = 0
    stop: int = 0
    tokens: int = 0
    created_at: datetime

    @property
    def id(self) -> str:
        """This is the document and the part, such as `handbook#3`."""
        return f"{self.document}#{self.part}"


class Task(Record, frozen=True, kw_only=True):
    """Holds the progress and lease of a task. Its state is stored in CheckpointSteps, starting with the snapshot at
    `base`."""

    table = Table("tasks", ("org", "task_id"), indexes={"by_ns": ("org", "ns", "task_id")})
    task_id: str
    ns: str = "global"
    step: int = 0
    status: str = "running"
    saved: int = 0
    """This is the number of the newest saved step."""
    base: int = 0
    """This is the number of the newest saved step that is a snapshot."""
    keep: int | None = None
    """This is the number of saved steps to keep. None means all."""
    completed: int = 0
    """This is the number of completed subtasks."""
    size: int = 0
    """This is the size of the state as JSON, in bytes."""
    owner: str | None = None
    fence: int = 0
    leased_until: datetime | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class CheckpointStep(Record, frozen=True, kw_only=True):
    """Represents a saved step of a task: its whole state (`snapshot`), or the change since the previous step.

    `body` is the JSON text of the state, or of a patch to the previous state. Long bodies are compressed. `completed`
    lists all completed subtasks in a snapshot, and only the new ones in other steps.
    """

    table = Table("checkpoint_steps", ("org", "task_id", "number"), checksum=True)
    task_id: str
    number: int
    step: int = 0
    snapshot: bool
    body: bytes
    completed: tuple[str, ...] = ()
    status: str = "running"
    actor: str = "user"
    created_at: datetime

    @property
    def text(self) -> bytes:
        """This is the JSON text of the body. Raises zlib.error if the body is damaged."""
        # JSON never begins with an x, and zlib's output always does.
        return zlib.decompress(self.body) if self.body[:1] == b"x" else self.body


class Job(Record, frozen=True, kw_only=True):
    """Represents a row of the durable outbox: a unit of work, such as indexing one thread."""

    table = Table(
        "jobs",
        ("org", "queue", "ns", "item"),
        indexes={"ready": ("queue", "status", "run_at", "org", "ns", "item")},
    )
    queue: str
    ns: str
    item: str
    status: str = "ready"
    attempts: int = 0
    run_at: datetime
    owner: str | None = None
    leased_until: datetime | None = None
    payload: Any = None
    error: str | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 0


class IndexProgress(Record, frozen=True, kw_only=True):
    """Records how far a thread is indexed: the number of the last message with an index entry."""

    table = Table("index_progress", ("org", "thread"))
    thread: str
    position: int = 0
    updated_at: datetime
    version: int = 0


class Derivation(Record, frozen=True, kw_only=True):
    """Records how far memories have been extracted from a thread, which messages failed, and what the model's calls
    cost."""

    table = Table("derivations", ("org", "thread"))
    thread: str
    position: int = 0
    failed: tuple[int, ...] = ()
    """These are the numbers of messages for which the model's answer was unusable."""
    unread: tuple[int, ...] = ()
    """These are the numbers of messages in an unsupported language."""
    ended: dict[str, list[str]] = {}
    """These are the ids of memories that each message ended, by the number of the message as text."""
    refused: dict[str, list[str]] = {}
    """These are the reasons for refusing items, by the number of the message as text."""
    by_rules: tuple[int, ...] = ()
    """These are the numbers of messages that the rules read instead of the model."""
    cost: dict[str, int] = {}
    """These are counters of the model's work on the thread, by name: calls, messages, tokens and so on."""
    stuck: bool = False
    """This is True if the worker gave up on the job."""
    again: bool = False
    """This is True if failed messages are being read again."""
    updated_at: datetime
    version: int = 0


class Pins(Record, frozen=True, kw_only=True):
    """Holds the numbers of a thread's pinned messages, so that a context does not have to search for them."""

    table = Table("pins", ("org", "thread"))
    thread: str
    seqs: tuple[int, ...] = ()
    updated_at: datetime
    version: int = 0


class RequestLog(Record, frozen=True, kw_only=True):
    """Holds the cost of a thread's last requests, and the parts and settings of the newest one.

    The next request is compared with these parts.
    """

    table = Table("request_logs", ("org", "thread"))
    thread: str
    reports: Any = None
    pieces: Any = None
    settings: Any = None
    """These are the settings used for the last request: the fields of `RequestSettings`."""
    model: str | None = None
    updated_at: datetime
    version: int = 0


class MessagePart(Record, frozen=True, kw_only=True):
    """Represents a binary part of a thread's messages, such as an image or a file, stored once under a hash of its
    bytes."""

    table = Table("message_parts", ("org", "thread", "digest"), checksum=True)
    thread: str
    digest: str
    data: bytes
    created_at: datetime
    expires_at: datetime | None = None


class ImportedDigests(Record, frozen=True, kw_only=True):
    """Holds the concatenated digests of messages that an import added to a thread, so that none is added twice."""

    table = Table("imported_digests", ("org", "thread", "block"))
    thread: str
    block: int
    digests: bytes
    updated_at: datetime
    version: int = 0


class NamespaceStats(Record, frozen=True, kw_only=True):
    """Holds the statistics of a namespace for ranking: its index entries, their terms, speakers and languages."""

    table = Table("namespace_stats", ("org", "ns"))
    ns: str
    stamp: int = 0
    """This is the number of the last index batch."""
    entries: int = 0
    terms: int = 0
    assistant: int = 0
    messages: int = 0
    documents: int = 0
    speakers: tuple[str, ...] = ()
    standing: tuple[tuple[int, str, str, str], ...] = ()
    """These entries have standing instructions, newest first: the time (microseconds), kind, parent and id of each."""
    languages: dict[str, int] = {}
    """This is the number of texts in each language, by its Snowball name."""
    analysis: str = ""
    """This is the version of the analysis that wrote the oldest entries."""
    updated_at: datetime
    version: int = 0


class Sweep(Record, frozen=True, kw_only=True):
    """Holds the last index batch of a namespace that a processor saw. An empty namespace marks a finished full run."""

    table = Table("sweeps", ("org", "ns", "processor"))
    ns: str
    processor: str
    position: int = 0
    maker: str | None = None
    """This identifies the analysis and embedder used for the work. If either changes, the work starts again."""
    updated_at: datetime
    version: int = 0


class ChangeNotice(Record, frozen=True, kw_only=True):
    """Notifies watchers, through its version, that records of a kind changed in a namespace."""

    table = Table("notices", ("org", "ns", "kind"))
    ns: str
    kind: str
    updated_at: datetime
    version: int = 0


class Epoch(Record, frozen=True, kw_only=True):
    """Holds the epoch of a source, under its fingerprint. A version above 1 means that part of the source was
    deleted."""

    table = Table("epochs", ("org", "fingerprint"))
    fingerprint: str
    updated_at: datetime
    version: int = 0


class RequestKey(Record, frozen=True, kw_only=True):
    """Holds the idempotency key of an HTTP request, with a digest of the request and at most one number from its
    outcome."""

    table = Table("request_keys", ("org", "day", "key"))
    day: int
    """This is the number of days since 1970. The key begins with the day, so that old rows can be deleted as a
    range."""
    key: str
    digest: str
    outcome: int | None = None
    updated_at: datetime
    version: int = 0


class Watermark(Record, frozen=True, kw_only=True):
    """Represents a number that only grows.

    `numbers` is the last message number of a deleted thread, by its fingerprint; `import` counts the rows loaded from a
    file, by its digest; `tokens` counts the tokens that the org's model used on the day of `updated_at`; `watched` is
    the time until which somebody is watching, in microseconds.
    """

    table = Table("watermarks", ("org", "name", "item"))
    name: typing.Literal["numbers", "import", "tokens", "watched"]
    item: str = ""
    position: int = 0
    updated_at: datetime
    version: int = 0


class StoreIdentity(Record, frozen=True, kw_only=True):
    """Holds the permanent id of a durable store. A hot store uses it to check which store its copies belong to."""

    table = Table("identities", ("org", "name"))
    name: str
    id: str


class Ref(msgspec.Struct, frozen=True):
    """Represents a reference to an item in the lineage, by its kind, namespace and key, and optionally a `part` of it.

    A thread has its id as key and no namespace, because thread ids are unique in an org. Messages and summaries are
    parts of their thread, and chunks are parts of their document. The kind `source` is a name of unknown kind: an
    import, a file, or any source that a caller named.
    """

    kind: str
    ns: str = ""
    key: str = ""
    part: str = ""

    @property
    def id(self) -> str:
        """This is the id that users see and type, such as `talk#12` or `user:ada/city`."""
        in_ns = self.ns and self.key and self.kind != "chunk"
        whole = f"{self.ns}/{self.key}" if in_ns else self.key or self.ns
        return f"{whole}#{self.part}" if self.part else whole

    @property
    def owner(self) -> Ref:
        """This is the item that this is a part of, or the item itself if it is not a part."""
        if not self.part:
            return self
        return Ref({"chunk": "document"}.get(self.kind, "thread"), self.ns, self.key)

    @property
    def fingerprint(self) -> str:
        """This hash identifies the item in tombstones and epochs. It does not include the kind, because a caller who
        names a source may not know it."""
        return fingerprint(self.ns, self.key, self.part)


class Link(Record, frozen=True, kw_only=True):
    """Represents an edge of the lineage, from a source to something derived from it. why() follows it backwards, and
    forget() follows it forwards.

    The key begins with the source, so that one scan finds everything derived from an item and its parts, or from a
    whole namespace.
    """

    table = Table(
        "links",
        (
            "org", "source_ns", "source_key", "source_kind", "source_part", "relation", "target_ns", "target_key",
            "target_kind", "target_part",
        ),
        indexes={
            "by_target": (
                "org", "target_ns", "target_key", "target_kind", "target_part", "relation", "source_ns", "source_key",
                "source_kind", "source_part",
            )
        },
    )  # fmt: skip
    source_kind: str
    source_ns: str = ""
    source_key: str = ""
    source_part: str = ""
    relation: str = "derived"
    """This describes how the target came from the source: `derived`; `copied` (a fork; the part is its last copied
    message); `child` (created for another thread); `carried` and `written` (messages of the target thread contain
    recalled text, or were written from it); `imported`; `owns` (a namespace and its contents)."""
    target_kind: str
    target_ns: str = ""
    target_key: str = ""
    target_part: str = ""
    created_at: datetime
    version: int = 0
    """This increases whenever the target is derived again. So anyone who has read a link and wants to delete it can
    tell whether it is still needed."""

    @classmethod
    def of(cls, org: str, source: Ref, target: Ref, at: datetime, relation: str = "derived") -> Link:
        """Create the link between two references."""
        return cls(
            org=org, source_kind=source.kind, source_ns=source.ns, source_key=source.key, source_part=source.part,
            relation=relation, target_kind=target.kind, target_ns=target.ns, target_key=target.key,
            target_part=target.part, created_at=at,
        )  # fmt: skip

    @property
    def source(self) -> Ref:
        """This is the item that the target came from."""
        return Ref(self.source_kind, self.source_ns, self.source_key, self.source_part)

    @property
    def target(self) -> Ref:
        """This is the item that came from the source."""
        return Ref(self.target_kind, self.target_ns, self.target_key, self.target_part)


class Tombstone(Record, frozen=True, kw_only=True):
    """Holds the fingerprint of a rejected value or a forgotten source, which must not be derived again."""

    table = Table("tombstones", ("org", "kind", "fingerprint"))
    kind: str
    fingerprint: str
    actor: str = "user"
    created_at: datetime


class AuditEvent(Record, frozen=True, kw_only=True):
    """Represents an entry in the audit trail: who did what to which item, when and from which source. It contains no
    content."""

    table = Table("audit", ("org", "id"), indexes={"by_subject": ("org", "subject", "id")})
    id: str
    action: str
    kind: str
    subject: str
    actor: str
    user: str | None = None
    source: str | None = None
    detail: Any = None
    created_at: datetime
    expires_at: datetime | None = None


class Entry(Record, frozen=True, kw_only=True):
    """Represents an index entry for recall: the analysed terms and the vector of one item, but not its text.

    `parent` is the thread or document of the item. `stamp` numbers the index batches of a namespace, so that a process
    with some batches in RAM reads only newer ones.
    """

    table = Table(
        "entries",
        ("org", "ns", "kind", "parent", "id"),
        indexes={"by_stamp": ("org", "ns", "stamp", "kind", "parent", "id")},
    )
    ns: str
    kind: str
    parent: str = ""
    id: str
    seq: int = 0
    stamp: int = 0
    terms: str
    context_terms: str = ""
    signals: bytes = b""
    analysis: str = ""
    """This is the version of the analysis that produced the terms and signals. See
    `recall.analyze.analysis_version`."""
    role: str | None = None
    speaker: str | None = None
    trust: str = "user"
    confidence: float = 1.0
    uses: int = 0
    metadata: JsonObject = {}
    source: str | None = None
    embedder: str | None = None
    vector: bytes | None = None
    created_at: datetime
    expires_at: datetime | None = None


SUPERSEDED = "memorist.superseded"
"""The metadata key under which an entry names the fact that replaced its statement."""


_VIEWS = "memorist_views"


def is_view(record_type: type[Record]) -> bool:
    """Return whether a record type is a view, which reads only some columns of another type's rows."""
    return record_type.__module__ == _VIEWS


@cache
def view_of(record_type: type[R], *fields: str) -> type[R]:
    """Return a record type that reads only the key, the expiry and these fields of another type's rows.

    Use it for scans that need no other fields. The other fields are missing at run time, although the return type
    declares them. A view has no checksum, because checksums cover all columns. Rows are never written through a view.
    """
    # Cached per set of fields: a codec is compiled for each view, which takes longer than most scans.
    columns = {field.name: field for field in msgspec.structs.fields(record_type)}
    shown_columns = [
        name for name in columns if name in (*record_type.table.key, "expires_at", *fields) and name != "org"
    ]
    types = typing.get_type_hints(record_type)
    table = Table(
        record_type.table.name, record_type.table.key, record_type.table.indexes, sealed=record_type.table.checksum
    )
    missing = [name for index in table.indexes.values() for name in index if name not in (*shown_columns, "org")]
    view = msgspec.defstruct(
        f"{record_type.__name__}View",
        [
            (name, types[name]) if columns[name].required else (name, types[name], _default(columns[name]))
            for name in (*shown_columns, *dict.fromkeys(missing))
        ],
        bases=(Record,),
        namespace={"table": table},
        module=_VIEWS,  # not one of the stored kinds, which are found by their module
        frozen=True,
        kw_only=True,
    )
    return typing.cast(type[R], view)


def _default(field: msgspec.structs.FieldInfo) -> object:
    if field.default_factory is msgspec.NODEFAULT:
        return field.default
    return msgspec.field(default_factory=field.default_factory)
