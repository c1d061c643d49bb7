"""Blocking records.

Made by scripts/generate-blocking from engine/records.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..engine.records import OpaqueRecord, RecordPut
from ..engine.records import Records as EngineRecords
from ..filters import Where
from ..ordered_keys import RecordKey
from ..ports import Ttl
from ..runtime import run_blocking
from ..scope import OMITTED, Ns
from ..values import Json


class Records:
    """Reads and writes bytes and JSON values under keys, which are tuples of texts and numbers."""

    def __init__(self, engine: EngineRecords) -> None:
        self._engine = engine

    def put(
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
        return run_blocking(self._engine.put(ns, key, data, meta=meta, ttl=ttl, expect=expect, absent=absent))

    def put_many(
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
        return run_blocking(self._engine.put_many(ns, items, ttl=ttl, absent=absent, expect=expect))

    def get(
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
        return run_blocking(self._engine.get(ns, key))

    def get_many(
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
        return run_blocking(self._engine.get_many(ns, keys))

    def scan(
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
        return run_blocking(
            self._engine.scan(
                ns, prefix, after=after, before=before, reverse=reverse, limit=limit, where=where, keys_only=keys_only
            )
        )

    def delete(
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
        return run_blocking(self._engine.delete(ns, key, expect=expect))

    def delete_range(
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
        return run_blocking(self._engine.delete_range(ns, prefix, after=after, before=before))
