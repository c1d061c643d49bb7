"""Blocking facts.

Made by scripts/generate-blocking from engine/facts.py; change that, then run the script.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence

from ..engine.facts import Facts as EngineFacts
from ..filters import Where
from ..ports import Ttl, When
from ..records import Fact
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json


class Facts:
    """What is known, under `namespace` and `key`."""

    def __init__(self, engine: EngineFacts) -> None:
        self._engine = engine

    def set(
        self,
        ns: Ns,
        key: str,
        value: Json,
        *,
        ttl: Ttl | None = None,
        confidence: float = 1.0,
        source: str | None = None,
        expect: int | None = None,
        index: bool | Sequence[str] = True,
    ) -> Fact:
        """Write a value; the last one wins unless `expect` names the version it must replace (0: none yet).

        Recall finds it by all it says, by the fields of its value that `index` names (`["title", "author.name"]`), or
        not at all with `index=False`.
        A value that was rejected is not written again by anyone but the user: the rejected version comes back instead.
        So does a fact whose `source` was forgotten, whoever writes it.

        Raises `Conflict` where `expect` is not the present version, `Forbidden` where this handle may not write there.

        Examples:
            >>> memory.facts.set("user:ada", "city", "Lisbon", source="talk#1").version
            1
            >>> memory.facts.set("user:ada", "city", "Porto", expect=1).value
            'Porto'
        """
        return run_blocking(
            self._engine.set(ns, key, value, ttl=ttl, confidence=confidence, source=source, expect=expect, index=index)
        )

    def set_many(
        self,
        ns: Ns,
        items: Mapping[str, Json] | Iterable[tuple[str, Json]],
        *,
        ttl: Ttl | None = None,
        index: bool | Sequence[str] = True,
    ) -> list[Fact]:
        """Write several values together, all or none; `ttl` and `index` are for each of them, as in `set`.

        Examples:
            >>> [fact.key for fact in memory.facts.set_many("user:ada", {"city": "Lisbon", "role": "nurse"})]
            ['city', 'role']
        """
        return run_blocking(self._engine.set_many(ns, items, ttl=ttl, index=index))

    def get(self, ns: Ns, key: str, *, as_of: When | None = None) -> Fact | None:
        """The value now, or the one that held at a moment; None where there is none.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.get("user:ada", "city").value
            'Lisbon'
            >>> memory.facts.get("user:ada", "shoe_size") is None
            True
        """
        return run_blocking(self._engine.get(ns, key, as_of=as_of))

    def get_many(self, ns: Ns, keys: Iterable[str]) -> builtins.list[Fact | None]:
        """The values under several keys in one read, in their order; None where there is none.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [fact and fact.value for fact in memory.facts.get_many("user:ada", ["city", "role"])]
            ['Lisbon', None]
        """
        return run_blocking(self._engine.get_many(ns, keys))

    def touch(self, ns: Ns, key: str, ttl: Ttl | None) -> Fact | None:
        """Let a fact live for `ttl` from now (None: for good), without a new version; None where there is none.

        Examples:
            >>> fact = memory.facts.set("user:ada", "mood", "curious", ttl=60)
            >>> memory.facts.touch("user:ada", "mood", 3600).version
            1
        """
        return run_blocking(self._engine.touch(ns, key, ttl))

    def delete(self, ns: Ns, key: str, *, expect: int | None = None, history: bool = True) -> bool:
        """Take a fact back; whether there was one. With `expect`, only that version.

        Its history stays, so that `history` and `as_of` still know it; with `history=False` all versions go.

        Raises `Conflict` where `expect` is not the present version.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.delete("user:ada", "city")
            True
        """
        return run_blocking(self._engine.delete(ns, key, expect=expect, history=history))

    def delete_range(self, ns: Ns, prefix: str = "", *, history: bool = True) -> int:
        """Take back all facts whose key starts with `prefix`; how many there were. See `delete`.

        Examples:
            >>> facts = memory.facts.set_many("user:ada", {"pet.cat": "Mia", "pet.dog": "Rex"})
            >>> memory.facts.delete_range("user:ada", "pet.")
            2
        """
        return run_blocking(self._engine.delete_range(ns, prefix, history=history))

    def reject(self, ns: Ns, key: str, *, reason: str | None = None, expect: int | None = None) -> Fact:
        """Say that a fact is wrong: it is gone from view, and the same value does not come back from a derivation.

        With `expect`, only that version is rejected.

        Raises `NotFound` where there is no such fact.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.reject("user:ada", "city", reason="she never said so").status
            'rejected'
            >>> memory.facts.get("user:ada", "city") is None
            True
        """
        return run_blocking(self._engine.reject(ns, key, reason=reason, expect=expect))

    def correct(self, ns: Ns, key: str, value: Json, *, reason: str | None = None, expect: int | None = None) -> Fact:
        """Replace a wrong value by the right one; the wrong one stays in the history and out of re-derivation.

        With `expect`, only that version is corrected.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.correct("user:ada", "city", "Porto", reason="she moved").value
            'Porto'
        """
        return run_blocking(self._engine.correct(ns, key, value, reason=reason, expect=expect))

    def history(self, ns: Ns, key: str) -> builtins.list[Fact]:
        """Every version, oldest first, the present one last; ended ones have status `deleted` or `rejected`.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> [(version.version, version.value) for version in memory.facts.history("user:ada", "city")]
            [(1, 'Lisbon'), (2, 'Porto')]
        """
        return run_blocking(self._engine.history(ns, key))

    def delete_expired(self) -> int:
        """Remove this org's expired facts for good now, without waiting for the collector; how many went.

        Examples:
            >>> memory.facts.delete_expired()
            0
        """
        return run_blocking(self._engine.delete_expired())

    def list(
        self,
        ns: Ns,
        *,
        prefix: str | None = None,
        where: Where | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
    ) -> list[Fact]:
        """Facts of a namespace in the order of their keys, or `reverse`; the next page is `after` the last key.

        Raises `InvalidFilter` for a `where` that cannot be read.

        Examples:
            >>> facts = memory.facts.set_many("user:ada", {"pet.cat": "Mia", "pet.dog": "Rex", "visits": {"count": 3}})
            >>> [fact.value for fact in memory.facts.list("user:ada", prefix="pet.")]
            ['Mia', 'Rex']
            >>> [fact.key for fact in memory.facts.list("user:ada", where={"count": {"$gt": 2}})]
            ['visits']
        """
        return run_blocking(
            self._engine.list(ns, prefix=prefix, where=where, limit=limit, after=after, reverse=reverse)
        )
