"""Records store opaque bytes or JSON under ordered keys, for integrations with their own state.

A record is one row without an index entry, audit event or history, and recall never sees it. Data longer than
`PIECE_BYTES` is split into pieces, which are first written under an upload id. Committing the row that names the upload
makes them the record's data in one step, so a reader sees either the old data or the new data. Each unfinished upload
has a job that is due in an hour, so that a collector can remove the pieces of a writer that died.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ..errors import Conflict, CorruptRecord, InvalidValue, TooLarge, UsageError
from ..filters import Where, parse_filter
from ..ids import new_id
from ..ordered_keys import AFTER_ELEMENTS, RecordKey, decode_record_key, encode_record_key
from ..ports import Ttl, to_datetime, to_micros
from ..records import Job, RecordPiece, StoredRecord, as_dict, view_of
from ..scope import OMITTED, Ns
from ..stores.base import Change, Delete, DeleteRange, Expect, Put
from ..values import Json, JsonObject, as_list, decode_json, encode_json, json_bytes
from .core import Core
from .options import checked_limit, version_of

PIECE_BYTES = 512 * 1024
PIECES_PER_BATCH = 8
"""How many pieces to write or read at a time."""
MAX_RECORD_BYTES = 1024 * 1024 * 1024
UPLOADS = "uploads"
"""The queue of unfinished uploads."""
UPLOAD_MICROS = 3600 * 1_000_000
"""How long a writer may take to upload a value before a collector considers it dead."""
MAX_UPLOAD_ATTEMPTS = 5
RECOUNT_MICROS = 1_000_000
PAGE_ROWS = 500
RECORD_SIZE = view_of(StoredRecord, "size")
RECORD_HEAD = view_of(StoredRecord, "size", "metadata", "version", "created_at", "updated_at")
"""The columns of a record without its data."""
_replace = msgspec.structs.replace


class OpaqueRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it was written. `data` is bytes or a JSON value, and `key` is the tuple under which it is stored."""

    to_dict = as_dict

    ns: str
    key: RecordKey
    data: Any = None
    """None if only keys were requested."""
    meta: JsonObject = {}
    size: int = 0
    """This is the size of the stored data in bytes."""
    version: int = 0
    """This is the version to pass to `put(expect=)` and `delete(expect=)`. It restarts at 1 after the record is
    deleted."""
    existed: bool = False
    """This is True if a put with `absent=True` found this record and left it unchanged."""
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None


class RecordPut(msgspec.Struct, frozen=True, kw_only=True):
    """Represents one record for `put_many` that needs more than a key and data."""

    key: Sequence[str | int | float]
    data: bytes | Json
    meta: Mapping[str, Json] | None = None
    ttl: Ttl | None = None
    expect: int | None = None
    absent: bool = False


class Records:
    """Reads and writes bytes and JSON values under keys, which are tuples of texts and numbers."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def put(
        self,
        ns: Ns | Sequence[str | int | float] | None = None,
        key: Sequence[str | int | float] | bytes | Json = OMITTED,
        data: bytes | Json = OMITTED,
        *,
        meta: Mapping[str, Json] | None = None,
        ttl: Ttl | None = None,
        expect: int | None = None,
        absent: bool = False,
    ) -> OpaqueRecord:
        """Write bytes or a JSON value.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: A tuple of texts and numbers.
            data: Bytes or JSON.
            meta: JSON that `scan` can filter by.
            ttl: How long to keep it.
            expect: Write only if this is the current version; 0 if there must be no record yet.
            absent: Leave an existing record unchanged, and return it with `existed` set.

        Returns:
            The stored record, with its version.

        Raises:
            Conflict: `expect` is not the current version.
            TooLarge: The org's quota would be exceeded.

        Examples:
            >>> memory.records.put("workflow:graph", ("run-1", 7), b"packed", meta={"step": 7}).version
            1
        """
        space, record_key, data = self._core.scope.resolve_writable(ns, key, data)
        put = RecordPut(key=record_key, data=data, meta=meta, ttl=ttl, expect=expect, absent=absent)
        return (await self._put_all(space, [put]))[0]

    async def put_many(
        self,
        ns: Ns | Mapping[RecordKey, Json] | Iterable[tuple[RecordKey, Json] | RecordPut] | None = None,
        items: Mapping[RecordKey, Json] | Iterable[tuple[RecordKey, Json] | RecordPut] = OMITTED,
        *,
        ttl: Ttl | None = None,
        absent: bool = False,
        expect: Iterable[tuple[RecordKey, int]] = (),
    ) -> list[OpaqueRecord]:
        """Write several records in one transaction.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            items: Pairs of key and data, or `RecordPut` objects with their own options.
            ttl: How long to keep the records that are not passed as a `RecordPut`.
            absent: Leave existing records unchanged, unless they are passed as a `RecordPut`.
            expect: Other records and the versions they must have at the commit; 0 if they must not exist.

        Returns:
            The stored records, in the order of the items.

        Raises:
            Conflict: A record does not have the version that `expect` names. Nothing is written.
            TooLarge: The org's quota would be exceeded.

        Examples:
            >>> records = memory.records.put_many("workflow:graph", {("run-1", 1): b"a", ("run-1", 2): b"b"})
            >>> [record.key for record in records]
            [('run-1', 1), ('run-1', 2)]
        """
        space, items = self._core.scope.resolve_writable(ns, items)
        pairs: Iterable[Any] = items.items() if isinstance(items, Mapping) else as_list(items, "items")
        puts = [_as_put(item, ttl, absent) for item in pairs]
        row = (self._core.org, space)
        expected = [Expect(StoredRecord, (*row, _whole_key(key)), version_of(version)) for key, version in expect]
        return await self._put_all(space, puts, expected) if puts else []

    async def get(
        self, ns: Ns | Sequence[str | int | float] | None = None, key: Sequence[str | int | float] = OMITTED
    ) -> OpaqueRecord | None:
        """Return the record under a key, or None if it does not exist.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.

        Returns:
            The record, or None.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> record = memory.records.put("workflow:graph", ("run-1", 7), {"step": 7})
            >>> memory.records.get("workflow:graph", ("run-1", 7)).data
            {'step': 7}
        """
        space, key = self._core.scope.resolve_readable(ns, key)
        row = await self._core.get(StoredRecord, space, encode_record_key(key))
        return None if row is None else await self._load_data(row)

    async def get_many(
        self,
        ns: Ns | Iterable[Sequence[str | int | float]] | None = None,
        keys: Iterable[Sequence[str | int | float]] = OMITTED,
    ) -> list[OpaqueRecord | None]:
        """Return the records under several keys, in order, and None for each one that does not exist.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            keys: The keys to read.

        Returns:
            One record or None per key.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> record = memory.records.put("workflow:graph", ("run-1", 7), b"packed")
            >>> [one and one.data for one in memory.records.get_many("workflow:graph", [("run-1", 7), ("run-1", 8)])]
            [b'packed', None]
        """
        space, keys = self._core.scope.resolve_readable(ns, keys)
        row_keys = [(space, encode_record_key(key)) for key in as_list(keys, "keys")]
        rows = await self._core.get_many(StoredRecord, row_keys)
        return [None if row is None else await self._load_data(row) for row in rows]

    async def scan(
        self,
        ns: Ns | None = None,
        prefix: Sequence[str | int | float] = (),
        *,
        after: Sequence[str | int | float] | None = None,
        before: Sequence[str | int | float] | None = None,
        reverse: bool = False,
        limit: int | None = None,
        where: Where | None = None,
        keys_only: bool = False,
    ) -> list[OpaqueRecord]:
        """List the records whose key starts with `prefix`, in the order of their keys.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            prefix: The beginning of the key.
            after: Return only keys after this one.
            before: Return only keys before this one.
            reverse: Whether to list in reverse order.
            limit: The maximum number to return.
            where: A filter on `meta`.
            keys_only: Whether to skip reading the data.

        Returns:
            The records.

        Raises:
            Forbidden: This handle may not read the namespace.
            InvalidFilter: `where` is not a valid filter.

        Examples:
            >>> records = [memory.records.put("workflow:graph", ("run-1", step), b"") for step in (9, 10)]
            >>> [record.key for record in memory.records.scan("workflow:graph", ("run-1",), reverse=True, limit=1)]
            [('run-1', 10)]
        """
        rows = await self._core.scan(
            RECORD_HEAD if keys_only else StoredRecord,
            self._core.scope.readable(self._core.scope.namespace(ns)),
            starts=encode_record_key(prefix, "prefix") or None,
            after=_bound(after),
            before=_bound(before),
            reverse=reverse,
            limit=checked_limit(limit),
            where=parse_filter(where),
        )
        if keys_only:
            return [_record(row, None) for row in rows]
        records = [await self._load_data(row) for row in rows]
        return [record for record in records if record is not None]

    async def delete(
        self,
        ns: Ns | Sequence[str | int | float] | None = None,
        key: Sequence[str | int | float] = OMITTED,
        *,
        expect: int | None = None,
    ) -> bool:
        """Delete a record, and return whether it existed.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            expect: Delete only if this is the current version.

        Returns:
            Whether the record existed.

        Raises:
            Conflict: `expect` is not the current version.

        Examples:
            >>> record = memory.records.put("workflow:graph", ("run-1", 7), b"packed")
            >>> memory.records.delete("workflow:graph", ("run-1", 7))
            True
        """
        space, key = self._core.scope.resolve_writable(ns, key)
        row = (self._core.org, space, _whole_key(key))
        expected = [] if expect is None else [Expect(StoredRecord, row, version_of(expect))]
        deletion = Delete(StoredRecord, row)
        return (await self._core.apply(*expected, deletion, DeleteRange(RecordPiece, row))).existed(deletion)

    async def delete_range(
        self,
        ns: Ns | None = None,
        prefix: Sequence[str | int | float] = (),
        *,
        after: Sequence[str | int | float] | None = None,
        before: Sequence[str | int | float] | None = None,
    ) -> int:
        """Delete all records whose key starts with `prefix` and is between the bounds, and return how many were
        deleted.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            prefix: The beginning of the keys; the default matches every key.
            after: Delete only keys after this one.
            before: Delete only keys before this one.

        Returns:
            How many records were deleted.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> records = [memory.records.put("workflow:graph", ("run-1", step), b"") for step in (9, 10)]
            >>> memory.records.delete_range("workflow:graph", ("run-1",))
            2
        """
        space = (self._core.org, self._core.scope.writable(self._core.scope.namespace(ns)))
        start = encode_record_key(prefix, "prefix")
        bounds = _range(start, _bound(after), _bound(before))
        every, pieces = (DeleteRange(kind, space, *bounds) for kind in (StoredRecord, RecordPiece))
        itself: list[Change] = []
        if start and after is None:  # the bounds leave out the key that is the prefix itself
            itself = [Delete(StoredRecord, (*space, start)), DeleteRange(RecordPiece, (*space, start))]
        results = await self._core.apply(every, pieces, *itself)
        return results.total(every) + sum(results.existed(change) for change in itself if isinstance(change, Delete))

    # -- writing

    async def _put_all(self, ns: str, puts: Sequence[RecordPut], expected: Sequence[Change] = ()) -> list[OpaqueRecord]:
        rows: list[tuple[StoredRecord, bytes | None]] = [self._row(ns, put) for put in puts]
        limit = self._core.shared.parts.record_bytes
        if limit is not None:
            await self._check_quota(sum(row.size for row, _ in rows), limit)
        short = [row for row, long in rows if long is None]
        if len(short) < len(rows):
            return await self._put_long(puts, rows, expected)
        return await self._commit(puts, short, expected)

    def _row(self, ns: str, put: RecordPut) -> tuple[StoredRecord, bytes | None]:
        """Return the row of a record, and its data if that is too long for the row."""
        core, at = self._core, self._core.at()
        form, data = _encode_data(put.data)
        long = len(data) > PIECE_BYTES
        if put.meta is not None and not isinstance(put.meta, Mapping):
            raise InvalidValue("meta must be a dict")
        metadata = dict(put.meta or {})
        if metadata:
            encode_json(metadata, "meta")
        row = StoredRecord(
            org=core.org, ns=ns, key=_whole_key(put.key), data=None if long else data, form=form, size=len(data),
            metadata=metadata, created_at=at, updated_at=at,
            expires_at=None if put.ttl is None else core.expiry(put.ttl, to_micros(at)),
        )  # fmt: skip
        return row, data if long else None

    async def _put_long(
        self,
        puts: Sequence[RecordPut],
        rows: Sequence[tuple[StoredRecord, bytes | None]],
        expected: Sequence[Change],
    ) -> list[OpaqueRecord]:
        # The pieces are not part of the commit: a transaction of a gigabyte would block every other writer.
        for left in range(MAX_UPLOAD_ATTEMPTS - 1, -1, -1):
            heads = [row if data is None else _with_upload(row, data) for row, data in rows]
            for head, (_, data) in zip(heads, rows, strict=True):
                if data is not None:
                    await self._upload(head, data)
            try:
                return await self._commit(puts, heads, expected)
            except Conflict as conflict:
                await self._abandon(heads)
                # Another writer of this key deleted the pieces: upload them again under another id.
                if not left or len(conflict.facts.get("key", ())) != len(RecordPiece.table.key):
                    raise
        raise AssertionError("unreachable")

    async def _upload(self, head: StoredRecord, data: bytes) -> None:
        """Write the pieces immediately, even in a batch, because they are invisible until a row refers to them."""
        core = self._core
        await core.shared.open()
        # The job is in the first commit, so that a collector finds the pieces even if this process dies after it.
        changes: list[Change] = [Put(_upload_job(head, to_datetime(core.now() + UPLOAD_MICROS)))]
        for number in range(head.pieces):
            changes.append(Put(_piece(head, number, data)))
            if len(changes) >= PIECES_PER_BATCH or number == head.pieces - 1:
                await core.shared.store.apply(changes, now=core.now())
                changes = []

    async def _commit(
        self, puts: Sequence[RecordPut], rows: Sequence[StoredRecord], expected: Sequence[Change] = ()
    ) -> list[OpaqueRecord]:
        changes: list[Change] = [*expected]
        for put, row in zip(puts, rows, strict=True):
            if put.expect is not None:
                changes.append(Expect(StoredRecord, row.row_key, version_of(put.expect)))
            if row.upload is not None:
                # The first piece exists unless another writer of this key has deleted them all.
                changes += [Expect(RecordPiece, _piece_key(row, 0), 1), Delete(Job, _job_key(row))]
            changes.append(Put(row, absent=put.absent))
            if not put.absent:
                changes += _without_older(row)
        results = await self._core.apply(*changes)
        out: list[OpaqueRecord] = []
        for put, row in zip(puts, rows, strict=True):
            stored = results.stored_if_absent(row)
            if stored is None:
                out.append(await self._existing(row))
            else:
                created_at = stored.created_at or row.created_at
                out.append(_replace(_record(row, put.data), version=stored.version, created_at=created_at))
        return out

    async def _existing(self, row: StoredRecord) -> OpaqueRecord:
        """Return the record that a put with `absent` found."""
        if row.upload is not None:
            await self._core.apply(DeleteRange(RecordPiece, (*row.row_key, row.upload)))
        stored_record = await self._core.get(StoredRecord, row.ns, row.key)
        existing = None if stored_record is None else await self._load_data(stored_record)
        # It existed at the time of the put, even if it was deleted since.
        return _replace(existing if existing is not None else _record(row, None), existed=True)

    async def _abandon(self, heads: Sequence[StoredRecord]) -> None:
        for head in heads:
            if head.upload is not None:
                deletion = DeleteRange(RecordPiece, (*head.row_key, head.upload))
                await self._core.shared.store.apply([deletion, Delete(Job, _job_key(head))], now=self._core.now())

    # -- reading

    async def _load_data(self, row: StoredRecord) -> OpaqueRecord | None:
        """Return a record with its data, or None if it was deleted while its pieces were being read."""
        while row.upload is not None:
            data = await self._join_pieces(row)
            if len(data) == row.size:
                return _record(row, _decode_data(row.form, data))
            # Whoever replaces the record deletes the old pieces; if the row still names them, they are really missing.
            again = await self._core.get(StoredRecord, row.ns, row.key)
            if again is None:
                return None
            if again.upload == row.upload:
                raise CorruptRecord("pieces of a record are missing; delete it or restore it from a backup", ns=row.ns)
            row = again
        return _record(row, _decode_data(row.form, row.data or b""))

    async def _join_pieces(self, row: StoredRecord) -> bytes:
        parts: list[bytes] = []
        while len(parts) < row.pieces:
            page = await self._core.scan(
                RecordPiece, row.ns, row.key, row.upload or "", after=(len(parts) - 1,), limit=PIECES_PER_BATCH
            )
            if not page:
                break
            parts += [piece.data for piece in page]
        return b"".join(parts)

    # -- how much an org may keep

    async def _check_quota(self, size: int, limit: int) -> None:
        """Raise TooLarge for a put that would exceed the org's limit for records.

        The stored bytes are counted once, and each put adds to the count, even if it replaces data. They are counted
        again only when the count reaches the limit. The next count also includes writes by other processes.
        """
        shared, org = self._core.shared, self._core.org
        used, counted = shared.record_bytes.get(org, (None, 0))
        if used is None or (used + size > limit and self._core.now() - counted > RECOUNT_MICROS):
            used, counted = await self._count_bytes(), self._core.now()
        shared.record_bytes[org] = (used + (size if used + size <= limit else 0), counted)
        if used + size > limit:
            raise TooLarge(
                f"the records of this org would take more than {limit} bytes; delete some or raise record_bytes",
                limit=limit, used=used,
            )  # fmt: skip

    async def _count_bytes(self) -> int:
        total, after = 0, None
        while page := await self._core.scan(RECORD_SIZE, after=after, limit=PAGE_ROWS):
            total += sum(row.size for row in page)
            after = (page[-1].ns, page[-1].key)
        return total


async def collect_uploads(core: Core) -> int:
    """Delete the pieces of uploads whose writers never finished, and return how many uploads there were."""
    await core.shared.open()
    store: Any = core.store
    total = 0
    while jobs := await store.claim(UPLOADS, owner=new_id(), now=core.now(), lease=UPLOAD_MICROS, limit=PAGE_ROWS):
        for job in jobs:
            pieces = DeleteRange(RecordPiece, (job.org, job.ns, job.payload, job.item))
            row = await store.get(StoredRecord, (job.org, job.ns, job.payload), now=0)
            finished = row is not None and row.upload == job.item
            await store.apply([*([] if finished else [pieces]), Delete(Job, job.row_key)], now=core.now())
            total += not finished
    return total


def _as_put(item: object, ttl: Any, absent: bool) -> RecordPut:
    if isinstance(item, RecordPut):
        return item
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise UsageError("put_many takes a mapping, pairs of key and data, or RecordPut objects")
    return RecordPut(key=item[0], data=item[1], ttl=ttl, absent=absent)


def _encode_data(data: object) -> tuple[str, bytes]:
    if isinstance(data, bytes | bytearray | memoryview):
        content = bytes(data)
        if len(content) > MAX_RECORD_BYTES:
            raise TooLarge(f"the record has {len(content)} bytes; the limit is {MAX_RECORD_BYTES}")
        return "bytes", content
    return "json", json_bytes(data, "data", MAX_RECORD_BYTES)


def _decode_data(form: str, data: bytes) -> object:
    return data if form == "bytes" else decode_json(data)


def _record(row: StoredRecord, data: object) -> OpaqueRecord:
    return OpaqueRecord(
        ns=row.ns, key=decode_record_key(row.key), data=data, meta=row.metadata, size=row.size, version=row.version,
        created_at=row.created_at, updated_at=row.updated_at, expires_at=row.expires_at,
    )  # fmt: skip


def _whole_key(key: Sequence[str | int | float]) -> str:
    text = encode_record_key(key)
    if not text:
        raise InvalidValue("a record key has at least one element")
    return text


def _bound(key: Sequence[str | int | float] | None) -> tuple[str] | None:
    return None if key is None else (encode_record_key(key, "bound"),)


def _range(start: str, after: tuple[str] | None, before: tuple[str] | None) -> tuple[Any, Any]:
    """Return the bounds, narrowed to the keys that start with a prefix and are longer than it."""
    if not start:
        return after, before
    low, high = (start,), (start + AFTER_ELEMENTS,)
    return max(low, after or low), min(high, before or high)


def _with_upload(row: StoredRecord, data: bytes) -> StoredRecord:
    return _replace(row, upload=new_id(), pieces=-(-len(data) // PIECE_BYTES))


def _without_older(row: StoredRecord) -> list[Change]:
    """Return changes that delete the pieces of data that a row replaces."""
    if row.upload is None:
        return [DeleteRange(RecordPiece, row.row_key)]
    own_prefix = (row.upload,)
    return [
        DeleteRange(RecordPiece, row.row_key, before=own_prefix),
        DeleteRange(RecordPiece, row.row_key, after=own_prefix),
    ]


def _piece(head: StoredRecord, number: int, data: bytes) -> RecordPiece:
    return RecordPiece(
        org=head.org, ns=head.ns, key=head.key, upload=head.upload or "", number=number,
        data=data[number * PIECE_BYTES : (number + 1) * PIECE_BYTES],
        created_at=head.created_at, expires_at=head.expires_at,
    )  # fmt: skip


def _piece_key(head: StoredRecord, number: int) -> tuple[str | int, ...]:
    return (*head.row_key, head.upload or "", number)


def _job_key(head: StoredRecord) -> tuple[str | int, ...]:
    return (head.org, UPLOADS, head.ns, head.upload or "")


def _upload_job(head: StoredRecord, due: datetime) -> Job:
    return Job(
        org=head.org, queue=UPLOADS, ns=head.ns, item=head.upload or "", run_at=due, payload=head.key,
        created_at=head.created_at, updated_at=head.created_at,
    )  # fmt: skip
