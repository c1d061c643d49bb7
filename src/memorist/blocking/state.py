"""Blocking state.

Made by scripts/generate-blocking from engine/state.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.state import State as EngineState
from ..ports import Ttl
from ..records import StateEntry
from ..runtime import run_blocking
from ..values import Json


class State:
    """Reads and writes small values and counters."""

    def __init__(self, engine: EngineState) -> None:
        self._engine = engine

    def get(self, key: str, default: Json = None) -> Json:
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
        return run_blocking(self._engine.get(key, default))

    def get_many(self, keys: Iterable[str], default: Json = None) -> list[Json]:
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
        return run_blocking(self._engine.get_many(keys, default))

    def entry(self, key: str) -> StateEntry | None:
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
        return run_blocking(self._engine.entry(key))

    def set(self, key: str, value: Json, *, ttl: Ttl | None = None, expect: int | None = None) -> StateEntry:
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
        return run_blocking(self._engine.set(key, value, ttl=ttl, expect=expect))

    def delete(self, key: str) -> bool:
        """Delete a key, and return whether it existed.

        Args:
            key: The key.

        Returns:
            Whether the key existed.

        Examples:
            >>> memory.state.delete("token")
            False
        """
        return run_blocking(self._engine.delete(key))

    def increment(self, key: str, by: int = 1, *, ttl: Ttl | None = None) -> int:
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
        return run_blocking(self._engine.increment(key, by, ttl=ttl))

    def list(
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
        return run_blocking(self._engine.list(prefix=prefix, limit=limit, after=after, reverse=reverse))
