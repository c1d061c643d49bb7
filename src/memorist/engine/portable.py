"""Exports and imports every row of an org as JSON lines. Every store produces the same bytes.

The first line identifies the file. Each row has a line with a checksum, ordered by table and key. The last line
contains the number of rows. An import checks the whole file before it writes anything, so a damaged file changes
nothing. It then writes in batches and records its progress in a mark, so that it can be resumed.
"""

from __future__ import annotations

import errno
import os
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import msgspec

from ..errors import CorruptRecord, InvalidValue, NotFound, SchemaError, StoreUnavailable, UsageError
from ..gate.passing import mask_message
from ..gate.policy import Gate
from ..kinds import KINDS, LINKED, MEMORIES, RECORDS, kind_of_table
from ..messages.message import Message
from ..records import (
    CachedEntity,
    Candidate,
    ChangeNotice,
    Document,
    Epoch,
    Job,
    Receipt,
    Record,
    RequestKey,
    StateEntry,
    StoreIdentity,
    Summary,
    Task,
    Thread,
    Watermark,
    WorkingDocument,
    as_dict,
)
from ..scope import Namespace
from ..stores.base import Change, Delete, Load, Put, Scan, Store
from ..typed import ready
from ..values import check_name
from .core import Core
from .gating import policy_of

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
PAGE_ROWS = 500
MAX_NUMBER = 2**53
TYPED_RECORDS = frozenset(
    {Message, Receipt, Thread, StateEntry, Candidate, WorkingDocument, CachedEntity, Document, Task}
).union(kind.record for kind in KINDS if LINKED.get(kind.name) in MEMORIES)
"""Kinds whose keys are chosen by users and are therefore checked like names."""
HARMLESS_QUEUES = ("index", "derive", "fold", "archive", "embed", "dedup", "tidy", "count")
"""Queues whose jobs only process stored data. Jobs in other queues contain commands, which must not come from a
file."""
UNPORTABLE_RECORDS = (ChangeNotice, RequestKey, StoreIdentity)
"""Kinds whose rows are meaningful only in their own database."""
Progress = Callable[[int, int | None], None]
"""Called with the number of rows processed so far and, if known, the total."""


class Transfer(msgspec.Struct, frozen=True):
    """Reports the number of rows in an export or import, by table."""

    to_dict = as_dict

    rows: int
    counts: dict[str, int]
    resumed_at: int = 0
    """These rows were loaded by an earlier, interrupted import of the same file."""


class _Header(msgspec.Struct, frozen=True):
    memorist: str
    format: int


class _Line(msgspec.Struct, frozen=True):
    table: str
    crc: int
    row: msgspec.Raw


class _End(msgspec.Struct, frozen=True):
    rows: int


_encode = msgspec.json.Encoder().encode


class Portable:
    """Exports and imports the rows of an org."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def export(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Write every live row of this org to a file. The file is either complete or absent.

        Only its owner can read the file, and symbolic links are not followed. An existing file is replaced.
        """
        from pathlib import Path

        self._check_scope()
        target, offload = Path(path), self._core.runtime.offload
        counts: Counter[str] = Counter()
        count = 0
        with new_file(target) as file:
            async for lines in self._lines(counts):
                await offload(file.write, lines)
                if progress is not None and counts.total() > count:
                    progress(counts.total(), None)
                count = counts.total()
        return Transfer(counts.total(), dict(sorted(counts.items())))

    async def rows(self) -> AsyncIterator[bytes]:
        """Yield the lines of an export, one page at a time, without writing a file."""
        self._check_scope()
        async for lines in self._lines(Counter()):
            yield lines

    async def _lines(self, counts: Counter[str]) -> AsyncIterator[bytes]:
        yield _encode(_Header("export", FORMAT)) + b"\n"
        gate = await policy_of(self._core)
        for kind in [kind for kind in RECORDS if kind not in UNPORTABLE_RECORDS]:
            async for rows in self._pages(kind):
                counts[kind.table.name] += len(rows)
                # Long messages are searched for secrets for seconds, and a server streams an export on its loop.
                yield await self._core.runtime.offload(_lines_of, gate, rows)
        yield _encode(_End(counts.total())) + b"\n"

    async def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Load a file written by `export` into this org, overwriting existing rows.

        The file is not trusted: names, namespaces and versions are checked like user input, and only harmless jobs
        (such as indexing) are loaded. Nothing in it is executed.
        """
        from pathlib import Path

        self._check_scope()
        source = Path(path)
        offload = self._core.runtime.offload
        total, digest, counts = await offload(_validate, source)
        # By the file's digest, so that an import never continues in the middle of another file.
        earlier = await self._core.get(Watermark, "import", digest)
        start = done = 0 if earlier is None else earlier.position
        rows = _rows(source, skip=start)
        while batch := await offload(lambda: list(islice(rows, PAGE_ROWS))):
            done += len(batch)
            # The mark is in the same commit as the rows, so an import that is resumed neither skips nor repeats any.
            await self._core.apply(*await self._loads(batch), self._progress(digest, done))
            if progress is not None:
                progress(done, total)
        await self._core.apply(Delete(Watermark, (self._core.org, "import", digest)))
        # An imported thread may have replaced one in another namespace.
        self._core.shared.threads.clear()
        return Transfer(total, counts, resumed_at=start)

    def _check_scope(self) -> None:
        self._core.scope.whole_org("export and import")
        if self._core.batch is not None:
            raise UsageError("export and import cannot be part of a batch")

    async def _pages(self, record_type: type[Record]) -> AsyncIterator[list[Record]]:
        after = None
        while True:
            rows = await self._scan_sealed(record_type, after)
            portable = [row for row in rows if not (isinstance(row, Watermark) and row.name != "numbers")]
            if portable:
                yield portable
            if len(rows) < PAGE_ROWS:
                return
            after = rows[-1].row_key[1:]

    async def _scan_sealed(self, record_type: type[Record], after: tuple[str | int, ...] | None) -> list[Record]:
        """Return a page of rows as they are stored, because an export of an encrypted memory is also encrypted."""
        sealed: Store | None = getattr(self._core.shared.store, "below", None)
        if sealed is None:
            return await self._core.scan(record_type, after=after, limit=PAGE_ROWS)
        await self._core.shared.open()
        scan = Scan(record_type, (self._core.org,), after=after, limit=PAGE_ROWS)
        return await sealed.scan(scan, now=self._core.now())

    async def _loads(self, batch: list[Record]) -> list[Change]:
        """Return the rows unchanged, except for jobs, which are reset, and for two kinds of values that may only grow:
        epochs (whose versions are expected by guards) and the last numbers of threads.
        """
        rows = [msgspec.structs.replace(record, org=self._core.org) for record in batch]
        epochs = [row.row_key[1:] for row in rows if isinstance(row, Epoch)]
        numbers = [row.row_key[1:] for row in rows if isinstance(row, Watermark)]
        held = [
            *(await self._core.get_many(Epoch, epochs) if epochs else ()),
            *(await self._core.get_many(Watermark, numbers) if numbers else ()),
        ]
        current = {row.row_key: row for row in held if row is not None}
        loads: list[Change] = []
        for row in rows:
            if isinstance(row, Job):
                # Reset, because the worker that held it belongs to another installation.
                if row.queue in HARMLESS_QUEUES and row.payload is None:
                    fields = {"status": "ready", "owner": None, "leased_until": None, "attempts": 0, "error": None}
                    loads.append(Load(msgspec.structs.replace(row, **fields)))
            elif _is_further(row, current.get(row.row_key)):
                loads.append(Load(row))
        return loads

    def _progress(self, digest: str, position: int) -> Put:
        at = self._core.at()
        return Put(Watermark(org=self._core.org, name="import", item=digest, position=position, updated_at=at))


class AsyncExport:
    """Iterates over the bytes of an export."""

    def __init__(self, core: Core) -> None:
        self._core = core
        core.scope.whole_org("export and import")
        self._lines = core.part(Portable).rows()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._lines)


def _is_further(row: Record, existing: Epoch | Watermark | None) -> bool:
    if isinstance(row, Watermark) and isinstance(existing, Watermark):
        return row.position > existing.position
    if isinstance(row, Epoch) and isinstance(existing, Epoch):
        return row.version > existing.version
    return True


def create(path: Path) -> BinaryIO:
    """Create a new file that only its owner can read, because its content is private. Symbolic links are refused."""
    no_link: int = getattr(os, "O_NOFOLLOW", 0)
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags | no_link, 0o600))


@contextmanager
def file_errors(path: Path, doing: str) -> Iterator[None]:
    """Convert file system errors to ours: NotFound, StoreUnavailable for a full or broken disk, or otherwise
    UsageError.
    """
    if not path.name or "\0" in str(path):
        raise UsageError(f"a path cannot be {doing} if it is empty or contains a NUL")
    try:
        yield
    except FileNotFoundError as cause:
        raise NotFound(f"{path.name!r} cannot be {doing}: it, or its folder, does not exist") from cause
    except OSError as cause:
        reason = f"{path.name!r} cannot be {doing}: {cause.strerror or type(cause).__name__}"
        if cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise StoreUnavailable(reason) from cause
        raise UsageError(reason) from cause


@contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """Write a file atomically, under a temporary name at first. It is renamed when it is complete, and deleted on an
    error.

    Only its owner can read it, and symbolic links are not followed. An existing file is replaced.
    """
    with file_errors(target, "written"):
        if target.exists() and not (target.is_file() or target.is_dir()):
            raise UsageError(f"{target.name!r} cannot be written: it is a device or a pipe, and not a file")
        # A random name, so that two exports to one path do not collide and nobody can plant a link there.
        part = target.with_name(f".{target.name[:100]}.{os.urandom(8).hex()}.part")
        try:
            with create(part) as file:
                yield file
                if not file.closed:
                    file.flush()
                    # On disk before it gets its name: after a crash there is the old file or the whole new one.
                    os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def _lines_of(gate: Gate, rows: list[Record]) -> bytes:
    return b"".join(_line(mask_message(gate, row) if isinstance(row, Message) else row) for row in rows)


def _line(record: Record) -> bytes:
    fields = msgspec.to_builtins(record)
    # The org is left out, so that a file can be loaded into any org.
    del fields["org"]
    row = _encode(fields)
    return _encode(_Line(record.table.name, zlib.crc32(row), msgspec.Raw(row))) + b"\n"


def _validate(path: Path) -> tuple[int, str, dict[str, int]]:
    """Read a whole file, and raise an error at the first damaged line."""
    import hashlib

    digest = hashlib.blake2b(digest_size=16)
    counts: Counter[str] = Counter()
    end: int | None = None
    with file_errors(path, "read"), path.open("rb") as file:
        _check_header(file.readline(), digest)
        for number, line in enumerate(file, 2):
            digest.update(line)
            if end is not None:
                raise _damage_error(number, "there is more after the last line")
            if line.startswith(b'{"rows":'):
                end = _decode_line(number, line, _End).rows
                if end != counts.total():
                    raise _damage_error(number, f"it says {end} rows, and there are {counts.total()}")
            else:
                counts[_record(number, line).table.name] += 1
    if end is None:
        raise _damage_error(counts.total() + 2, "the file ends before its last line")
    return end, digest.hexdigest(), dict(sorted(counts.items()))


def _check_header(line: bytes, digest: Any) -> None:
    digest.update(line)
    header = _decode_line(1, line, _Header)
    if header.memorist != "export":
        raise _damage_error(1, "this is not an export of Memorist")
    if header.format > FORMAT:
        raise SchemaError(f"the file has format {header.format}, and this version reads up to {FORMAT}; upgrade first")


def _rows(path: Path, skip: int) -> Iterator[Record]:
    with file_errors(path, "read"), path.open("rb") as file:
        file.readline()
        for number, line in enumerate(file, 2):
            if line.startswith(b'{"rows":'):
                return
            if number - 2 >= skip:
                yield _record(number, line)


def _record(number: int, line: bytes) -> Record:
    wrapped = _decode_line(number, line, _Line)
    registered = kind_of_table(wrapped.table)
    if registered is None:
        raise _damage_error(number, "its table is unknown")
    kind = registered.record
    row = bytes(wrapped.row)
    if zlib.crc32(row) != wrapped.crc:
        raise _damage_error(number, "it does not match its checksum")
    record: Record = _decode_line(number, row, kind)
    from ..stores.codec import codec

    try:
        codec(kind).encode(record)
        _check_names(record)
    except (ValueError, TypeError) as cause:
        raise _damage_error(number, "it holds a value that cannot be kept") from cause
    return record


def _check_names(record: Record) -> None:
    """Check names and namespaces like user input, and check that numbers normally assigned by the store are in
    range.
    """
    for name in record.table.key[1:]:
        value = getattr(record, name)
        if name == "ns" and value:
            Namespace.parse(value)
        elif isinstance(value, str) and type(record) in TYPED_RECORDS and (value or name != "session"):
            check_name(value, name)
    if isinstance(record, Thread | Task | Summary):
        Namespace.parse(record.ns)
    for name in ("version", "seq", "length", "tokens", "position", "fence", "number", "first", "last"):
        value = getattr(record, name, 0)
        if isinstance(value, int) and not 0 <= value < MAX_NUMBER:
            raise InvalidValue(f"{name} is out of range")


def _decode_line(number: int, data: bytes, kind: object) -> Any:
    ready(kind)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as cause:
        raise _damage_error(number, "it cannot be read") from cause


def _damage_error(number: int, why: str) -> CorruptRecord:
    return CorruptRecord(f"line {number} of the file is damaged: {why}; nothing was imported", line=number)
