"""Encrypts data at rest. Each namespace has a key, which is wrapped by a key for its org. `SealedStore` encrypts
content with these keys.

The keys are kept in a separate file, never in the store, so that backups and exports of the store become unreadable
once a key has been destroyed. Content is sealed with AES-256-GCM.
"""

from __future__ import annotations

import base64
import os
import threading
import time
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..errors import StoreError, UsageError
from ..extras import install_command
from ..filters import document_of, matches
from ..messages.message import Message
from ..records import CheckpointStep, Key, MessagePart, Task, Thread, WorkingDocument
from ..stores.base import Append, Change, ChangeResult, Load, Put, R, Scan, Store
from .sealing import (
    BY_TABLE,
    CONTENT,
    MARK,
    content_of,
    message_content,
    sealed_cell,
    with_cell,
    with_content,
    with_message_cell,
    without_content,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


KEY_BYTES = 32
NONCE_BYTES = 12
LOCK_SECONDS = 10.0
KeyFunction = Callable[[str, str | None], tuple[str, bytes]]
"""Returns the id and the 32 bytes of an org's key: the current key, or the one with the given id."""
PASSED = ("claim", "orgs", "scrub", "verify_absent", "diagnose", "create_partitioned", "owns_files", "durable", "hot")
"""The methods that a sealed store passes on to the underlying store, if it has them. Searches are not passed on,
because an index would reveal words."""
_replace = msgspec.structs.replace


class KeyGone(StoreError):
    """Raised if a key needed to read content was destroyed or is not in the key file."""


class _DataKey(msgspec.Struct):
    org: str
    ns: str
    wrapped: str
    by: str
    """This is the id of the org's key that wraps it."""


class _Keys(msgspec.Struct, forbid_unknown_fields=True):
    orgs: dict[str, list[tuple[str, str]]] = {}
    """These are the ids and bytes of each org's keys, newest last. The dict is empty if a function returns the
    keys."""
    data: dict[str, _DataKey] = {}
    """These are the keys of namespaces by id, newest last."""


class Encryption:
    """Encrypts content at rest. Pass it as `Memory(url, encryption=Encryption("keys.json"))`.

    Args:
        file: The key file, which only its owner can read. It is created if it does not exist. Back it up separately
            from the store. Without it nothing can be read, and anybody who has both can read everything.
        key: A function `(org, key_id) -> (key_id, 32 bytes)` that returns the keys of orgs, for example from a key
            service. `key_id` is None for the current key. By default these keys are also in the file.
    """

    def __init__(self, file: str | os.PathLike[str], *, key: KeyFunction | None = None) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError as cause:
            raise UsageError(f"encryption needs a library; run: {install_command('encryption')}") from cause
        self._cipher = AESGCM
        self._path, self._key = os.fspath(file), key
        if "\0" in self._path or not self._path:
            raise UsageError("the path of the key file is empty or contains a NUL")
        self._lock = threading.RLock()
        self._keys = _Keys()
        self._seen: tuple[int, int, int] | None = None
        self._ciphers: dict[str, AESGCM] = {}
        self._current: dict[tuple[str, str], str] = {}
        self._load()

    # -- sealing

    def seal(self, org: str, ns: str, content: bytes) -> str:
        """Seal content into a cell with the newest key of a namespace."""
        id, cipher = self._data_key(org, ns)
        return f"{MARK}{id}:{_encrypt(cipher, id, content)}"

    def unseal(self, cell: str | bytes) -> bytes:
        """Return the content of a sealed cell.

        Raises KeyGone if the key does not exist, and StoreError if the cell was tampered with.
        """
        text = cell.decode() if isinstance(cell, bytes) else cell
        id, _, sealed = text.removeprefix(MARK).partition(":")
        cipher = self._cipher_of(id)
        try:
            return _decrypt(cipher, id, sealed)
        except Exception as cause:  # InvalidTag, which only the library names
            raise StoreError("sealed content does not match its key; it was changed or damaged", key_id=id) from cause

    # -- keys

    def key_ids(self, org: str, ns: str | None = None) -> list[str]:
        """Return the ids of the data keys of an org, or of one of its namespaces."""
        with self._lock:
            self._refresh()
            return self._ids(org, ns)

    def _ids(self, org: str, ns: str | None) -> list[str]:
        return [id for id, key in self._keys.data.items() if key.org == org and ns in (None, key.ns)]

    def destroy(self, org: str, ns: str) -> list[str]:
        """Destroy the keys of a namespace, so that no copy of its content can be read, and return their ids."""
        with self._lock, self._changing():
            ids = self._ids(org, ns)
            for id in ids:
                del self._keys.data[id]
        return ids

    def rotate(self, org: str, ns: str | None = None) -> str:
        """Create a new key for an org and wrap its data keys with it. With `ns`, create a new data key for a namespace.

        Existing content stays readable, because each row names the key that it was sealed with. Returns the new id.
        """
        with self._lock, self._changing():
            if ns is not None:
                return self._make_data_key(org, ns)
            opened = {id: self._unwrapped(id) for id in self._ids(org, None)}
            if self._key is None:
                self._keys.orgs.setdefault(org, []).append(_new_org_key())
            by, wrapping = self._org_key(org, None)
            for id, key in opened.items():
                self._keys.data[id] = _replace(
                    self._keys.data[id], wrapped=_encrypt(self._cipher(wrapping), id, key), by=by
                )
            if self._key is None:
                self._keys.orgs[org] = self._keys.orgs[org][-1:]
            return by

    def _data_key(self, org: str, ns: str) -> tuple[str, AESGCM]:
        self._refresh()
        id = self._current.get((org, ns))
        if id is None:
            with self._lock:
                ids = self._ids(org, ns)
                if not ids:
                    with self._changing():  # which reads the file again: another process may have been faster
                        ids = self._ids(org, ns) or [self._make_data_key(org, ns)]
                id = self._current[org, ns] = ids[-1]
        return id, self._ciphers.get(id) or self._cipher_of(id)

    def _make_data_key(self, org: str, ns: str) -> str:
        by, wrapping = self._org_key(org, None)
        id = os.urandom(8).hex()
        self._keys.data[id] = _DataKey(org, ns, _encrypt(self._cipher(wrapping), id, os.urandom(KEY_BYTES)), by)
        self._current.pop((org, ns), None)
        return id

    def _cipher_of(self, id: str) -> AESGCM:
        self._refresh()
        cipher = self._ciphers.get(id)
        if cipher is None:
            with self._lock:
                cipher = self._ciphers[id] = self._cipher(self._unwrapped(id))
        return cipher

    def _unwrapped(self, id: str) -> bytes:
        key = self._keys.data.get(id)
        if key is None:
            raise KeyGone("the key of this content was destroyed, or is not in the key file", key_id=id)
        _, wrapping = self._org_key(key.org, key.by)
        return _decrypt(self._cipher(wrapping), id, key.wrapped)

    def _org_key(self, org: str, id: str | None) -> tuple[str, bytes]:
        if self._key is not None:
            name, key = self._key(org, id)
            if len(key) != KEY_BYTES:
                raise UsageError(f"the key of an org has {KEY_BYTES} bytes")
            return name, key
        keys = self._keys.orgs.setdefault(org, [])
        if not keys:
            keys.append(_new_org_key())
        name, text = next((pair for pair in keys if pair[0] == id), keys[-1])
        return name, base64.b64decode(text)

    # -- the file

    def _refresh(self) -> None:
        """Read the file again if another process has changed it, for example by destroying a key."""
        if self._stamp() != self._seen:
            with self._lock:
                self._load()

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return None
        except OSError as cause:
            raise self._unusable(cause) from cause
        # Each write makes a new file, so its inode differs even if the clock stood still and the size is the same.
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _load(self) -> None:
        stamp = self._stamp()
        if stamp is None:
            self._keys = _Keys()
        else:
            try:
                with open(self._path, "rb") as file:
                    self._keys = msgspec.json.decode(file.read(), type=_Keys)
            except OSError as cause:
                raise self._unusable(cause) from cause
            except (msgspec.DecodeError, UnicodeDecodeError) as cause:
                raise UsageError(f"{self._path} is not a key file") from cause
        self._seen = stamp
        self._ciphers.clear()
        self._current.clear()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the file, read it, and write it atomically at the end."""
        lock, until = f"{self._path}.lock", time.monotonic() + LOCK_SECONDS
        while True:
            try:
                # Creating the file is the lock. It also works on network drives, where flock often does not.
                os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                break
            except FileExistsError:
                if time.monotonic() > until:
                    raise StoreError(f"{lock} is held by another process; remove it if none is running") from None
                time.sleep(0.01)
            except OSError as cause:
                raise self._unusable(cause) from cause
        try:
            self._load()
            yield
            self._write()
        finally:
            os.unlink(lock)

    def _unusable(self, cause: OSError) -> UsageError:
        return UsageError(f"the key file {self._path} cannot be used: {cause.strerror or type(cause).__name__}")

    def _write(self) -> None:
        fresh = f"{self._path}.new"
        try:
            descriptor = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(self._keys))
                file.flush()
                # On disk before anything is sealed with a new key: content whose key is lost cannot be read again.
                os.fsync(file.fileno())
            os.replace(fresh, self._path)
        except OSError as cause:
            raise StoreError(f"the key file {self._path} cannot be written: {cause.strerror}") from cause
        self._seen = self._stamp()
        # A destroyed key must not live on in memory.
        destroyed = self._ciphers.keys() - self._keys.data.keys()
        for id in destroyed:
            del self._ciphers[id]
        self._current.clear()


def _encrypt(cipher: AESGCM, id: str, content: bytes) -> str:
    # Random, so that processes need not agree on a counter. With 12 bytes, one key is safe for 2**32 cells.
    nonce = os.urandom(NONCE_BYTES)
    # The id of the key is authenticated too, so a cell that was made to name another key does not open.
    sealed = nonce + cipher.encrypt(nonce, content, id.encode())
    return b2a_base64(sealed, newline=False).decode()


def _decrypt(cipher: AESGCM, id: str, sealed: str) -> bytes:
    raw = base64.b64decode(sealed)
    content: bytes = cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], id.encode())
    return content


def _new_org_key() -> tuple[str, str]:
    import hashlib

    key = os.urandom(KEY_BYTES)
    return hashlib.sha256(key).hexdigest()[:16], base64.b64encode(key).decode()


class SealedStore:
    """Wraps a store. It encrypts content when it is written, and decrypts it when it is read."""

    def __init__(self, below: Store, encryption: Encryption) -> None:
        self.below, self.encryption = below, encryption
        self.name = below.name
        self._spaces: dict[tuple[str, str, str], str] = {}
        """Namespaces of threads and tasks, which never change."""

    async def open(self) -> None:
        """Connect to the store, check it and migrate it."""
        await self.below.open()

    async def close(self) -> None:
        """Release everything that this store opened itself."""
        await self.below.close()

    async def get(self, record_type: type[R], key: Key, *, now: int) -> R | None:
        """Return the live row under a key."""
        return (await self.get_many(record_type, [key], now=now))[0]

    async def get_many(self, record_type: type[R], keys: Sequence[Key], *, now: int) -> list[R | None]:
        """Return the live rows under several keys, in the order of the keys."""
        whole = _whole(record_type)
        rows = await self.below.get_many(whole, keys, now=now)
        return [None if row is None else self._read(record_type, row) for row in rows]

    async def scan(self, scan: Scan[R], *, now: int) -> list[R]:
        """Return the live rows that a scan asks for, in the scan's order. Filters are applied after decryption."""
        whole = _whole(scan.kind)
        if scan.where is None or scan.kind.table.name not in BY_TABLE:
            rows = await self.below.scan(_replace(cast("Any", scan), kind=whole), now=now)
            return [self._read(scan.kind, row) for row in rows]
        out: list[R] = []
        rows = await self.below.scan(_replace(cast("Any", scan), kind=whole, where=None, limit=None), now=now)
        for row in rows:
            record = self._unsealed(row)
            if matches(scan.where, document_of(record)):
                out.append(self._read(scan.kind, row))
                if scan.limit is not None and len(out) >= scan.limit:
                    break
        return out

    async def apply(self, changes: Sequence[Change], *, now: int) -> list[ChangeResult]:
        """Apply either all changes or no changes, with their content sealed."""
        sealed: list[Change] = []
        for change in changes:
            if isinstance(change, Append):
                ns = change.ns or await self._space(Thread, change.org, change.thread, changes, now)
                sealed.append(self._sealed_append(change, ns))
            elif isinstance(change, Put | Load) and type(change.record) in CONTENT:
                sealed.append(await self._sealed_change(change, changes, now))
            else:
                sealed.append(change)
        return await self.below.apply(sealed, now=now)

    async def purge(self, *, now: int, limit: int = 1000) -> dict[str, int]:
        """Remove expired rows permanently."""
        return await self.below.purge(now=now, limit=limit)

    # -- parts

    async def _sealed_change(self, change: Put | Load, changes: Sequence[Change], now: int) -> Change:
        # An import loads rows that are sealed already. What a user writes is sealed, even if it looks like a cell.
        if isinstance(change, Load) and sealed_cell(change.record):
            return change
        record: Any = change.record
        if isinstance(record, Message | MessagePart):
            ns = await self._space(Thread, record.org, record.thread, changes, now)
        elif isinstance(record, CheckpointStep):
            ns = await self._space(Task, record.org, record.task_id, changes, now)
        elif isinstance(record, WorkingDocument):
            ns = f"user:{record.user}"
        else:
            ns = getattr(record, "ns", "")
        return _replace(change, record=self._sealed(record, record.org, ns))

    def _sealed_append(self, change: Append, ns: str) -> Append:
        org, seal = change.org, self.encryption.seal
        messages = [with_message_cell(message, seal(org, ns, message_content(message))) for message in change.messages]
        return Append(org, change.thread, tuple(messages), change.at, change.key, change.ns)

    def _sealed(self, record: Any, org: str, ns: str) -> object:
        content = content_of(record)
        return record if content is None else with_cell(record, self.encryption.seal(org, ns, content))

    async def _space(
        self, record_type: type[Thread] | type[Task], org: str, id: str, changes: Sequence[Change], now: int
    ) -> str:
        """Return the namespace of a thread or task from the cache, the changes or the store."""
        key = (record_type.table.name, org, id)
        ns = self._spaces.get(key)
        if ns is None:
            new = (change.record for change in changes if isinstance(change, Put | Load))
            row: Any = next((row for row in new if isinstance(row, record_type) and row.row_key == (org, id)), None)
            row = row or await self.below.get(record_type, (org, id), now=now)
            if row is None:
                return ""
            ns = self._spaces[key] = row.ns
        return ns

    def _unsealed(self, row: Any) -> object:
        cell = sealed_cell(row)
        if cell is None:
            return row
        try:
            return with_content(row, self.encryption.unseal(cell))
        except KeyGone:
            return without_content(row)

    def _read(self, record_type: type[R], row: object) -> R:
        record = self._unsealed(row)
        if type(record) is record_type:
            return record
        return record_type(**{name: getattr(record, name) for name in record_type.__struct_fields__})


def _whole(record_type: type[R]) -> Any:
    """Return the kind to read from the underlying store. If a view includes content, the whole row is read, because its
    content is in one cell."""
    whole = BY_TABLE.get(record_type.table.name)
    if whole is None or record_type is whole or not set(record_type.__struct_fields__) & set(CONTENT[whole]):
        return record_type
    return whole


def seal_store(store: Store, encryption: Encryption) -> SealedStore:
    """Wrap a store with encryption. The result has the same optional methods as the store, except those for
    searching."""
    passed = {name: _passing(name) for name in PASSED if hasattr(store, name)}
    return cast("SealedStore", type("SealedStore", (SealedStore,), passed)(store, encryption))


def _passing(name: str) -> property:
    return property(lambda self: getattr(self.below, name))


def destroy_and_prove(encryption: Encryption, org: str, ns: str) -> list[str]:
    """Destroy the keys of a namespace. As proof, check that a cell encrypted with the last key can no longer be
    read."""
    if not encryption.key_ids(org, ns):
        return []
    canary = encryption.seal(org, ns, b"canary")
    ids = encryption.destroy(org, ns)
    try:
        encryption.unseal(canary)
    except KeyGone:
        return ids
    raise StoreError("the key could still be used after it was destroyed", namespace=ns)
