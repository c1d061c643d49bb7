"""State consists of small values and atomic counters for the handle's user or the whole org."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import InvalidValue
from ..ports import Ttl
from ..records import StateEntry
from ..stores.base import Change, Delete, Expect, Increment, Put
from ..values import INT_MAX, INT_MIN, Json, as_list, check_name, check_prefix
from .core import Core
from .options import page, version_of


class State:
    """Reads and writes small values and counters."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, key: str, default: Json = None) -> Json:
        """Return a value, or `default` if there is none.

        Args:
            key: The key.
            default: The value to return if the key does not exist.

        Returns:
            The value, or `default`.

        Examples:
            >>> memory.state.get("theme", "light")
            'light'
        """
        entry = await self.entry(key)
        return default if entry is None else entry.value

    async def get_many(self, keys: Iterable[str], default: Json = None) -> list[Json]:
        """Return several values at once, in the order of the keys, and `default` for each one that does not exist.

        Args:
            keys: The keys to read.
            default: The value to return for keys that do not exist.

        Returns:
            One value per key.

        Examples:
            >>> entry = memory.state.set("theme", "dark")
            >>> memory.state.get_many(["theme", "size"])
            ['dark', None]
        """
        own = self._core.scope.own()
        keys_in_namespace = [(own, check_name(key, "state key")) for key in as_list(keys, "keys")]
        state_entries = await self._core.get_many(StateEntry, keys_in_namespace)
        return [default if entry is None else entry.value for entry in state_entries]

    async def entry(self, key: str) -> StateEntry | None:
        """Return a value with its version and times. Pass the version to `set` as `expect`.

        Args:
            key: The key.

        Returns:
            The entry, or None.

        Examples:
            >>> entry = memory.state.set("theme", "dark")
            >>> memory.state.entry("theme").version
            1
        """
        return await self._core.get(StateEntry, self._core.scope.own(), check_name(key, "state key"))

    async def set(self, key: str, value: Json, *, ttl: Ttl | None = None, expect: int | None = None) -> StateEntry:
        """Write a value.

        Args:
            key: The key.
            value: A JSON value.
            ttl: How long to keep it.
            expect: Write only if this is the current version; 0 if there must be no entry yet.

        Returns:
            The stored entry, with its version.

        Raises:
            Conflict: `expect` is not the current version.

        Examples:
            >>> memory.state.set("token", "abc", ttl=3600).value
            'abc'
        """
        entry = self._new(key, value, ttl)
        changes: list[Change] = [Put(entry)]
        if expect is not None:
            changes.insert(0, Expect(StateEntry, entry.row_key, version_of(expect)))
        return (await self._core.apply(*changes)).written(entry)

    async def delete(self, key: str) -> bool:
        """Delete a key, and return whether it existed.

        Args:
            key: The key.

        Returns:
            Whether the key existed.

        Examples:
            >>> memory.state.delete("token")
            False
        """
        key = check_name(key, "state key")
        deletion = Delete(StateEntry, (self._core.org, self._core.scope.own(), key))
        return (await self._core.apply(deletion)).existed(deletion)

    async def increment(self, key: str, by: int = 1, *, ttl: Ttl | None = None) -> int:
        """Add to a counter atomically, and return its new value.

        Args:
            key: The key; a new counter starts at 0.
            by: How much to add.
            ttl: How long to keep a new counter.

        Returns:
            The new value.

        Raises:
            InvalidValue: The value is not a whole number.

        Examples:
            >>> memory.state.increment("logins"), memory.state.increment("logins", by=2)
            (1, 3)
        """
        if isinstance(by, bool) or not isinstance(by, int):
            raise InvalidValue("a counter is incremented by a whole number")
        if not INT_MIN <= by <= INT_MAX:
            raise InvalidValue("a counter is incremented by a number of at most 64 bits")
        # The store adds, so concurrent increments need no retry and none is lost.
        change = Increment(self._new(key, by, ttl))
        return (await self._core.apply(change)).total(change)

    def _new(self, key: str, value: object, ttl: Ttl | None) -> StateEntry:
        now = self._core.now()
        at = self._core.at()
        return StateEntry(
            org=self._core.org,
            ns=self._core.scope.own(),
            key=check_name(key, "state key"),
            value=value,
            created_at=at,
            updated_at=at,
            expires_at=self._core.expiry(ttl, now),
        )

    # Last: the name hides the builtin for annotations below it.
    async def list(
        self, *, prefix: str | None = None, limit: int | None = None, after: str | None = None, reverse: bool = False
    ) -> list[StateEntry]:
        """List the entries in the order of their keys.

        Args:
            prefix: Return only keys that start with this.
            limit: The maximum number to return.
            after: The last key of the previous page.
            reverse: Whether to list in reverse order.

        Returns:
            The entries.

        Examples:
            >>> entries = [memory.state.set(f"theme.{user}", "dark") for user in ("ada", "bob")]
            >>> [entry.key for entry in memory.state.list(prefix="theme.")]
            ['theme.ada', 'theme.bob']
        """
        own = self._core.scope.own()
        return await self._core.listed(StateEntry, own, starts=check_prefix(prefix), **page(limit, after, reverse))
