"""The stored records: frozen structs that declare their table and key, org first.

From this one declaration SQL stores take their columns, Redis its keys and the in-memory store its sort order.
Times are aware UTC datetimes here and integer microseconds in stores; JSON fields are kept as exact JSON text there.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

import msgspec

Key = tuple[str | int, ...]
R = typing.TypeVar("R", bound="Record")


class Table(msgspec.Struct, frozen=True):
    """How stores keep a kind of record: the table's name, its primary key, its indexes and options."""

    name: str
    key: tuple[str, ...]
    indexes: dict[str, tuple[str, ...]] = {}
    """Columns of each index that a scan may follow; each ends with enough of the key to be unique."""
    history: str | None = None
    """The table into which the version that a Put replaces is copied."""
    checksum: bool = False
    """Whether each row carries a CRC of all its columns, checked on read: for what cannot be derived again."""

    sealed: bool = False
    """Of a view: whether its rows have a checksum, which only stores that read whole rows can check."""

    def order(self, index: str | None) -> tuple[str, ...]:
        """The columns of an index, or those of the key for None."""
        return self.key if index is None else self.indexes[index]


def as_dict(struct: msgspec.Struct) -> dict[str, Any]:
    """A struct as a dict of JSON values: what `to_dict` returns."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(struct))
    return fields


@cache
def _key_of(kind: type[Record]) -> Callable[[Record], Key]:
    return attrgetter(*kind.table.key)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all stored records."""

    table: ClassVar[Table]
    org: str = "default"

    @property
    def row_key(self) -> Key:
        """The primary key of this row."""
        return _key_of(type(self))(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as a dict of JSON values; times are ISO texts."""
        return as_dict(self)


class Thread(Record, frozen=True, kw_only=True):
    """An ordered, append-only conversation in a namespace; `length` is the last sequence number given.

    A thread created again under the id of a deleted one continues its numbers: they begin after `start`.
    """

    table = Table("threads", ("org", "id"), indexes={"by_ns": ("org", "ns", "id")})
    id: str
    ns: str
    title: str | None = None
    metadata: dict[str, Any] = {}
    length: int = 0
    start: int = 0
    tokens: int = 0
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class Receipt(Record, frozen=True, kw_only=True):
    """Records an append done under an idempotency key: the numbers of its messages."""

    table = Table("receipts", ("org", "thread", "key"))
    thread: str
    key: str
    first: int
    count: int
    created_at: datetime


class Summary(Record, frozen=True, kw_only=True):
    """Text that stands for messages `first`..`last` of a thread; `sources` are the summaries it includes."""

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
        """The thread and the range of messages: `talk#1-40`."""
        return f"{self.thread}#{self.first}-{self.last}"


class Fact(Record, frozen=True, kw_only=True):
    """A namespaced JSON value under a key, with its sources and confidence.

    `key` identifies the fact in its namespace. A fact about somebody or something else than the namespace's owner has
    that `subject` in its key (`birthday@Mia`), so facts about two sisters never overwrite each other.
    """

    table = Table("facts", ("org", "ns", "key"), history="fact_versions", checksum=True)
    ns: str
    key: str
    value: Any
    text: str | None = None
    """The fact as a sentence that can be read alone."""
    subject: str | None = None
    """Whom or what it is about; None for the owner of the namespace."""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    scope: str = "standing"
    """How long it matters: `standing`, `conversation` or `task`."""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    inferred: bool = False
    """Whether it was concluded from what was said, not said itself."""
    confidence: float = 1.0
    sources: tuple[str, ...] = ()
    actor: str = "user"
    trust: str = "user"
    status: str = "active"
    reason: str | None = None
    indexed: list[str] | None = None
    """The fields of the value that are indexed for recall; None means the whole value, an empty list nothing."""
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0

    @property
    def source(self) -> str | None:
        """The newest message this was taken from."""
        return self.sources[-1] if self.sources else None

    @property
    def source_message_id(self) -> str | None:
        """The same as `source`."""
        return self.source

    @property
    def namespace(self) -> str:
        """Where it belongs, such as `user:ada`."""
        return self.ns

    @property
    def id(self) -> str:
        """The namespace and the key: `user:ada/city`."""
        return f"{self.ns}/{self.key}"


class FactVersion(Fact, frozen=True, kw_only=True):
    """A version of a fact that a later one replaced."""

    table = Table("fact_versions", ("org", "ns", "key", "version"), checksum=True)


class Event(Record, frozen=True, kw_only=True):
    """Something that happened or is planned: a sentence, its time, the people and the place."""

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
    """When it begins; if that is not known, when it was said."""
    ends_at: datetime | None = None
    status: str = "done"
    """`planned`, `done` or `cancelled`."""
    subject: str | None = None
    people: tuple[str, ...] = ()
    location: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
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


class EventVersion(Event, frozen=True, kw_only=True):
    """A version of an event that a later one replaced."""

    table = Table("event_versions", ("org", "ns", "id", "version"), checksum=True)


class Candidate(Record, frozen=True, kw_only=True):
    """A memory that waits for a person's approval; never recalled and never sent to a model.

    `proposal` holds the arguments of the operation that approval carries out; `reason` says why it waits.
    """

    table = Table("candidates", ("org", "ns", "id"))
    ns: str
    id: str
    kind: str
    """`fact`, `event` or `learning`."""
    operation: str = "add"
    """`add`, `update` or `end`."""
    target: str | None = None
    """The id of the memory to update or end."""
    text: str
    proposal: dict[str, Any] = {}
    quote: str | None = None
    reason: str | None = None
    confidence: float = 1.0
    sources: tuple[str, ...] = ()
    actor: str = "processor"
    trust: str = "user"
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class StateEntry(Record, frozen=True, kw_only=True):
    """A small key-value or counter."""

    table = Table("state", ("org", "ns", "key"))
    ns: str
    key: str
    value: Any
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class StoredRecord(Record, frozen=True, kw_only=True):
    """Opaque bytes or JSON under an ordered key, as stores keep it; users see `memorist.OpaqueRecord`.

    A long value is not in `data` but in the `pieces` of an `upload`, which are invisible until this row refers to them.
    """

    table = Table("records", ("org", "ns", "key"), checksum=True)
    ns: str
    key: str
    """The key as text that sorts as its elements do; see `memorist.ordered_keys`."""
    data: bytes | None = None
    form: str = "bytes"
    """`bytes`, or `json` where the data is JSON text."""
    size: int = 0
    """Bytes of the whole value."""
    upload: str | None = None
    pieces: int = 0
    metadata: dict[str, Any] = {}
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class RecordPiece(Record, frozen=True, kw_only=True):
    """A part of a long record's data."""

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
    """Something learned about a user; `id` is a fingerprint of its normalised content, so duplicates share a row."""

    table = Table("learnings", ("org", "ns", "id"))
    ns: str
    id: str
    content: str
    type: str = "preference"
    confidence: float = 0.5
    usage_count: int = 0
    last_used: datetime | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    sources: tuple[str, ...] = ()
    actor: str = "user"
    trust: str = "user"
    status: str = "active"
    reason: str | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class WorkingDocument(Record, frozen=True, kw_only=True):
    """Working memory of one user (and session), as JSON; the typed view is `memorist.Working`."""

    table = Table("working", ("org", "user", "session"))
    user: str
    session: str = ""
    doc: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class CachedEntity(Record, frozen=True, kw_only=True):
    """Someone else's record, cached: `found`, `missing` (a cached absence) or `loading` (nothing yet).

    `owner` holds the lease on loading it until `leased_until`; after `fresh_until` it counts as stale.
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
    """Long-form knowledge, cut into chunks for recall."""

    table = Table("documents", ("org", "ns", "id"), checksum=True)
    ns: str
    id: str
    title: str | None = None
    source: str | None = None
    metadata: dict[str, Any] = {}
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
    """A piece of a document, cut at a sentence or heading.

    `part` is derived from its text, so that a chunk that only moved keeps its row, its index entry and its vector.
    """

    table = Table("chunks", ("org", "ns", "document", "part"))
    ns: str
    document: str
    part: str
    position: int
    text: str
    heading: str | None = None
    """The headings above it: `Refunds > Exceptions`."""
    page: int | None = None
    """The page it begins on, from 1 on; None for formats without pages."""
    start: int = 0
    stop: int = 0
    tokens: int = 0
    created_at: datetime

    @property
    def id(self) -> str:
        """The document and the part of it: `handbook#3`."""
        return f"{self.document}#{self.part}"


class Task(Record, frozen=True, kw_only=True):
    """A task's progress and lease; its state is in its CheckpointSteps, from the snapshot at `base` on."""

    table = Table("tasks", ("org", "task_id"), indexes={"by_ns": ("org", "ns", "task_id")})
    task_id: str
    ns: str = "global"
    step: int = 0
    status: str = "running"
    saved: int = 0
    """The number of the newest saved step."""
    base: int = 0
    """The number of the newest saved step that is a snapshot."""
    keep: int | None = None
    """How many saved steps stay readable; None is all."""
    completed: int = 0
    """How many subtasks are complete."""
    size: int = 0
    """Bytes of the state as JSON."""
    owner: str | None = None
    fence: int = 0
    leased_until: datetime | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 0


class CheckpointStep(Record, frozen=True, kw_only=True):
    """One saved step of a task: its whole state (`snapshot`), or the change since the step before.

    `body` is the JSON text of the state, or of a patch of the state before, compressed where it is long; `completed`
    holds all completed subtasks on a snapshot, and the new ones otherwise.
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


class Job(Record, frozen=True, kw_only=True):
    """A row of the durable outbox: work to do on one thing, such as indexing a thread."""

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
    """How far a thread is indexed: the number of the last message whose entry was written."""

    table = Table("index_progress", ("org", "thread"))
    thread: str
    position: int = 0
    updated_at: datetime
    version: int = 0


class Derivation(Record, frozen=True, kw_only=True):
    """How far memories were derived from a thread, what could not be read, and what the model's calls cost."""

    table = Table("derivations", ("org", "thread"))
    thread: str
    position: int = 0
    failed: tuple[int, ...] = ()
    """The numbers of the messages for which the model's answer was unusable."""
    unread: tuple[int, ...] = ()
    """The numbers of messages in a language that cannot be read."""
    ended: dict[str, list[str]] = {}
    """What messages ended: ids of memories by the number of the message, as text."""
    refused: dict[str, list[str]] = {}
    """Why items were refused, by the number of the message as text."""
    by_rules: tuple[int, ...] = ()
    """The numbers of messages that the rules have read in the model's place."""
    cost: dict[str, int] = {}
    """What the model's calls for the thread have used, by name: calls, messages, tokens and the like."""
    stuck: bool = False
    """Whether the job was given up."""
    again: bool = False
    """Whether failed messages are being read once more."""
    updated_at: datetime
    version: int = 0


class Pins(Record, frozen=True, kw_only=True):
    """The numbers of a thread's pinned messages, so that a context need not search the thread for them."""

    table = Table("pins", ("org", "thread"))
    thread: str
    seqs: tuple[int, ...] = ()
    updated_at: datetime
    version: int = 0


class RequestLog(Record, frozen=True, kw_only=True):
    """What the last requests of a thread cost, the parts of the last one, to compare the next one with, and how it was
    assembled."""

    table = Table("request_logs", ("org", "thread"))
    thread: str
    reports: Any = None
    pieces: Any = None
    settings: Any = None
    """How a program had the last request assembled: the fields of `RequestSettings`."""
    model: str | None = None
    updated_at: datetime
    version: int = 0


class MessagePart(Record, frozen=True, kw_only=True):
    """A binary part of messages of a thread (an image, a file), stored once under a hash of its bytes."""

    table = Table("message_parts", ("org", "thread", "digest"), checksum=True)
    thread: str
    digest: str
    data: bytes
    created_at: datetime
    expires_at: datetime | None = None


class ImportedDigests(Record, frozen=True, kw_only=True):
    """Digests, one after the other, of messages that an import added to a thread, so that none is added twice."""

    table = Table("imported_digests", ("org", "thread", "block"))
    thread: str
    block: int
    digests: bytes
    updated_at: datetime
    version: int = 0


class NamespaceStats(Record, frozen=True, kw_only=True):
    """The statistics of a namespace that ranking needs: its index entries, their terms, speakers and languages."""

    table = Table("namespace_stats", ("org", "ns"))
    ns: str
    stamp: int = 0
    """The number of the last index batch."""
    entries: int = 0
    terms: int = 0
    assistant: int = 0
    messages: int = 0
    documents: int = 0
    speakers: tuple[str, ...] = ()
    standing: tuple[tuple[int, str, str, str], ...] = ()
    """Entries with standing instructions, newest first: the time (microseconds), kind, parent and id of each."""
    languages: dict[str, int] = {}
    """How many texts are in each language, by its Snowball name."""
    analysis: str = ""
    """The analysis that made the oldest entries."""
    updated_at: datetime
    version: int = 0


class Sweep(Record, frozen=True, kw_only=True):
    """The last index batch of a namespace that a processor has seen; under an empty namespace, a finished full run."""

    table = Table("sweeps", ("org", "ns", "processor"))
    ns: str
    processor: str
    position: int = 0
    maker: str | None = None
    """The analysis and embedder that the work was done with; with others it begins anew."""
    updated_at: datetime
    version: int = 0


class ChangeNotice(Record, frozen=True, kw_only=True):
    """Tells watchers, by its version, that something of a kind changed in a namespace."""

    table = Table("notices", ("org", "ns", "kind"))
    ns: str
    kind: str
    updated_at: datetime
    version: int = 0


class Epoch(Record, frozen=True, kw_only=True):
    """The epoch of a source under its fingerprint; a version above 1 means that something of it was deleted."""

    table = Table("epochs", ("org", "fingerprint"))
    fingerprint: str
    updated_at: datetime
    version: int = 0


class RequestKey(Record, frozen=True, kw_only=True):
    """An idempotency key of an HTTP request: a digest of the request, and at most one number of its outcome."""

    table = Table("request_keys", ("org", "day", "key"))
    day: int
    """The day since 1970; it comes first, so that old rows can be deleted as a range."""
    key: str
    digest: str
    outcome: int | None = None
    updated_at: datetime
    version: int = 0


class Watermark(Record, frozen=True, kw_only=True):
    """A number that grows: `numbers` (the last message number of a deleted thread, by its fingerprint), `import`
    (rows loaded from a file, by its digest), `tokens` (what the org's model has used on the day of `updated_at`) and
    `watched` (until when somebody watches, in microseconds)."""

    table = Table("watermarks", ("org", "name", "item"))
    name: typing.Literal["numbers", "import", "tokens", "watched"]
    item: str = ""
    position: int = 0
    updated_at: datetime
    version: int = 0


class StoreIdentity(Record, frozen=True, kw_only=True):
    """An id that a durable store got once, by which a hot store knows whose copies it holds."""

    table = Table("identities", ("org", "name"))
    name: str
    id: str


class Ref(msgspec.Struct, frozen=True):
    """A reference to a thing in lineage: its kind, its namespace and its key, and a `part` of it.

    A thread has its id as key and no namespace, because ids of threads are unique in an org; its messages and summaries
    are parts of it, as the chunks of a document are. The kind `source` is a name whose kind is not known: that of an
    import, of a file, or of whatever a caller named as a source.
    """

    kind: str
    ns: str = ""
    key: str = ""
    part: str = ""

    @property
    def id(self) -> str:
        """The id that users see and type: `talk#12`, `user:ada/city`."""
        in_ns = self.ns and self.key and self.kind != "chunk"
        whole = f"{self.ns}/{self.key}" if in_ns else self.key or self.ns
        return f"{whole}#{self.part}" if self.part else whole

    @property
    def owner(self) -> Ref:
        """The thing that this is a part of, or itself."""
        if not self.part:
            return self
        return Ref({"chunk": "document"}.get(self.kind, "thread"), self.ns, self.key)


class Link(Record, frozen=True, kw_only=True):
    """An edge of lineage from a source to what came from it. why() follows it back, forget() forward.

    The key begins with the place of the source, so that one scan finds what came from a thing and all its parts, or
    from everything in a namespace.
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
    """`derived`; `copied` (a fork; the part is its last copied message); `child` (made for another
    thread); `carried` and `written` (messages of the target thread hold recalled text, or were written from it);
    `imported`; `owns` (a namespace and what it had)."""
    target_kind: str
    target_ns: str = ""
    target_key: str = ""
    target_part: str = ""
    created_at: datetime

    @classmethod
    def of(cls, org: str, source: Ref, target: Ref, at: datetime, relation: str = "derived") -> Link:
        """The link between two references."""
        return cls(
            org=org, source_kind=source.kind, source_ns=source.ns, source_key=source.key, source_part=source.part,
            relation=relation, target_kind=target.kind, target_ns=target.ns, target_key=target.key,
            target_part=target.part, created_at=at,
        )  # fmt: skip

    @property
    def source(self) -> Ref:
        """What it came from."""
        return Ref(self.source_kind, self.source_ns, self.source_key, self.source_part)

    @property
    def target(self) -> Ref:
        """What came from it."""
        return Ref(self.target_kind, self.target_ns, self.target_key, self.target_part)


class Tombstone(Record, frozen=True, kw_only=True):
    """A fingerprint of something that must not be derived again: a rejected value or a forgotten source."""

    table = Table("tombstones", ("org", "kind", "fingerprint"))
    kind: str
    fingerprint: str
    actor: str = "user"
    created_at: datetime


class AuditEvent(Record, frozen=True, kw_only=True):
    """An entry of the audit trail: who did what to which thing, when, from which source; never content."""

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
    """An index entry of recall: the analysed terms and the vector of one findable thing, never its text.

    `parent` is its thread or document. `stamp` numbers the index batches of a namespace, so that a process that has
    some of them in RAM reads only newer ones.
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
    """The version of the analysis that made the terms and signals; see `recall.analyze.analysis_version`."""
    role: str | None = None
    speaker: str | None = None
    trust: str = "user"
    confidence: float = 1.0
    uses: int = 0
    metadata: dict[str, Any] = {}
    source: str | None = None
    embedder: str | None = None
    vector: bytes | None = None
    created_at: datetime
    expires_at: datetime | None = None


SUPERSEDED = "memorist.superseded"
"""The metadata key of an entry that names the fact which replaced what was said there."""


@cache
def view_of(kind: type[R], *fields: str) -> type[R]:
    """A kind that reads only the key, the expiry and these fields of another kind's rows, for scans that need no more.

    Other fields are missing, although its type says that it is that kind. It has no checksum, because that is over all
    columns. Rows are never written through a view.
    """
    columns = {field.name: field for field in msgspec.structs.fields(kind)}
    wanted = [name for name in columns if name in (*kind.table.key, "expires_at", *fields) and name != "org"]
    types = typing.get_type_hints(kind)
    table = Table(kind.table.name, kind.table.key, kind.table.indexes, sealed=kind.table.checksum)
    missing = [name for index in table.indexes.values() for name in index if name not in (*wanted, "org")]
    view = msgspec.defstruct(
        f"{kind.__name__}View",
        [
            (name, types[name]) if columns[name].required else (name, types[name], _default(columns[name]))
            for name in (*wanted, *dict.fromkeys(missing))
        ],
        bases=(Record,),
        namespace={"table": table},
        module="memorist_views",  # not one of the stored kinds, which are found by their module
        frozen=True,
        kw_only=True,
    )
    return typing.cast(type[R], view)


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is msgspec.NODEFAULT:
        return field.default
    return msgspec.field(default_factory=field.default_factory)
