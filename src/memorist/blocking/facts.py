"""Blocking facts.

Made by scripts/generate-blocking from engine/facts/facts.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..engine.facts.facts import Facts as EngineFacts
from ..engine.facts.facts import FactScope
from ..filters import Where
from ..ports import Ttl, When
from ..records import Fact
from ..runtime import run_blocking
from ..scope import OMITTED, Ns
from ..values import Json, JsonMapping


class Facts:
    """Reads and writes facts under a namespace and a key."""

    def __init__(self, engine: EngineFacts) -> None:
        self._engine = engine

    def set(
        self,
        ns: Ns | None = None,
        key: str | Json = OMITTED,
        value: Json = OMITTED,
        *,
        ttl: Ttl | None = None,
        confidence: float = 1.0,
        source: str | None = None,
        expect: int | None = None,
        index: bool | Sequence[str] = True,
        text: str | None = None,
        subject: str | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        scope: FactScope = "standing",
        tags: Iterable[str] = (),
        metadata: JsonMapping | None = None,
    ) -> Fact:
        """Write a value; the last write wins unless `expect` names the version to replace (0: none yet).

        A value that was rejected is not written again from the same `source` by anyone but the user: the rejected
        version is returned instead. The same holds for a fact whose `source` was forgotten, whoever writes it.

        Args:
            ns: The namespace, such as `user:ada`. On a user's handle you can leave it out here and in all methods of
                facts: `ada.facts.set("city", "Lisbon")` writes to the user's own namespace.
            key: What the value is, such as `city`.
            value: Any JSON value.
            ttl: Forget it after this time.
            confidence: How certain it is, from 0 to 1.
            source: The id of the message it was taken from.
            expect: The version to replace; 0 if there must be none yet.
            index: What recall indexes: everything, some fields of the value (`["title", "author.name"]`), or nothing.
            text: The fact as a sentence that can be read alone ("Ada lives in Lisbon").
            subject: Whom or what it is about, if not the owner of the namespace. It becomes part of the key
                (`birthday@Mia`), so that facts about two people stay apart.
            valid_from: Since when it holds.
            valid_until: Until when it holds; recall and contexts leave it out afterwards.
            scope: How long it matters: `standing`, `conversation` or `task`.
            tags: Labels of your own.
            metadata: Anything else, as JSON.

        Raises:
            Conflict: `expect` is not the present version.
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> memory.facts.set("user:ada", "city", "Lisbon", source="talk#1").version
            1
            >>> memory.facts.set("user:ada", "city", "Porto", expect=1).value
            'Porto'
            >>> memory.facts.set("user:ada", "birthday", "2 May", subject="Mia").key
            'birthday@Mia'
            >>> memory.scope(user="ada").facts.set("role", "nurse").ns
            'user:ada'
        """
        return run_blocking(
            self._engine.set(
                ns,
                key,
                value,
                ttl=ttl,
                confidence=confidence,
                source=source,
                expect=expect,
                index=index,
                text=text,
                subject=subject,
                valid_from=valid_from,
                valid_until=valid_until,
                scope=scope,
                tags=tags,
                metadata=metadata,
            )
        )

    def set_many(
        self,
        ns: Ns | Mapping[str, Json] | Iterable[tuple[str, Json]] | None = None,
        items: Mapping[str, Json] | Iterable[tuple[str, Json]] = OMITTED,
        *,
        ttl: Ttl | None = None,
        index: bool | Sequence[str] = True,
    ) -> list[Fact]:
        """Write several values in one transaction; `ttl` and `index` apply to each of them, as in `set`.

        Examples:
            >>> [fact.key for fact in memory.facts.set_many("user:ada", {"city": "Lisbon", "role": "nurse"})]
            ['city', 'role']
        """
        return run_blocking(self._engine.set_many(ns, items, ttl=ttl, index=index))

    def get(self, ns: Ns | None = None, key: str = OMITTED, *, as_of: When | None = None) -> Fact | None:
        """Read a fact, or its version at a time (`as_of`); None if there is none.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.get("user:ada", "city").value
            'Lisbon'
            >>> memory.facts.get("user:ada", "shoe_size") is None
            True
        """
        return run_blocking(self._engine.get(ns, key, as_of=as_of))

    def get_many(self, ns: Ns | Iterable[str] | None = None, keys: Iterable[str] = OMITTED) -> list[Fact | None]:
        """Read several facts at once, in the order of the keys; None for those that do not exist.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> [fact and fact.value for fact in memory.facts.get_many("user:ada", ["city", "role"])]
            ['Lisbon', None]
        """
        return run_blocking(self._engine.get_many(ns, keys))

    def update(
        self,
        ns: Ns | None = None,
        key: str = OMITTED,
        *,
        value: Json = None,
        text: str | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        tags: Iterable[str] | None = None,
        metadata: JsonMapping | None = None,
        confidence: float | None = None,
        reason: str | None = None,
        expect: int | None = None,
    ) -> Fact:
        """Change some fields of a fact and return its new version; the others stay as they are.

        Raises:
            NotFound: There is no such fact.
            Conflict: `expect` is not the present version.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon", tags=["home"])
            >>> memory.facts.update("user:ada", "city", value="Porto").tags
            ('home',)
        """
        return run_blocking(
            self._engine.update(
                ns,
                key,
                value=value,
                text=text,
                valid_from=valid_from,
                valid_until=valid_until,
                tags=tags,
                metadata=metadata,
                confidence=confidence,
                reason=reason,
                expect=expect,
            )
        )

    def end(
        self,
        ns: Ns | None = None,
        key: str = OMITTED,
        *,
        since: When | None = None,
        reason: str | None = None,
        expect: int | None = None,
    ) -> Fact:
        """End a fact that was true and no longer is; its history stays, and the same value may be stated again.

        Args:
            ns: The namespace.
            key: The key of the fact.
            since: Since when it no longer holds; now if omitted.
            reason: Why it ended.
            expect: End only this version.

        Returns:
            The last version, with status `ended`.

        Raises:
            NotFound: There is no such fact.

        Examples:
            >>> fact = memory.facts.set("user:ada", "employer", "Acme")
            >>> memory.facts.end("user:ada", "employer", reason="she left").status
            'ended'
        """
        return run_blocking(self._engine.end(ns, key, since=since, reason=reason, expect=expect))

    def touch(self, ns: Ns | None = None, key: str | Ttl | None = OMITTED, ttl: Ttl | None = OMITTED) -> Fact | None:
        """Set a fact's time to live from now (None: no expiry), without a new version; returns None if there is none.

        Examples:
            >>> fact = memory.facts.set("user:ada", "mood", "curious", ttl=60)
            >>> memory.facts.touch("user:ada", "mood", 3600).version
            1
        """
        return run_blocking(self._engine.touch(ns, key, ttl))

    def delete(
        self, ns: Ns | None = None, key: str = OMITTED, *, expect: int | None = None, history: bool = True
    ) -> bool:
        """Delete a fact; returns whether there was one. With `expect`, only that version.

        Its history stays, for `history` and `as_of`; with `history=False` all versions are deleted.

        Raises `Conflict` if `expect` is not the present version.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.delete("user:ada", "city")
            True
        """
        return run_blocking(self._engine.delete(ns, key, expect=expect, history=history))

    def delete_range(self, ns: Ns | None = None, prefix: str = "", *, history: bool = True) -> int:
        """Delete all facts whose key starts with `prefix`; returns how many. See `delete`.

        Examples:
            >>> facts = memory.facts.set_many("user:ada", {"pet.cat": "Mia", "pet.dog": "Rex"})
            >>> memory.facts.delete_range("user:ada", "pet.")
            2
        """
        return run_blocking(self._engine.delete_range(ns, prefix, history=history))

    def reject(
        self, ns: Ns | None = None, key: str = OMITTED, *, reason: str | None = None, expect: int | None = None
    ) -> Fact:
        """Reject a wrong fact: it is removed, and the same value is not derived again from the same sources.

        A new statement of the user is a new source, and is remembered. With `expect`, only that version is rejected.

        Raises `NotFound` if there is no such fact.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.reject("user:ada", "city", reason="she never said so").status
            'rejected'
            >>> memory.facts.get("user:ada", "city") is None
            True
        """
        return run_blocking(self._engine.reject(ns, key, reason=reason, expect=expect))

    def correct(
        self,
        ns: Ns | None = None,
        key: str | Json = OMITTED,
        value: Json = OMITTED,
        *,
        reason: str | None = None,
        expect: int | None = None,
    ) -> Fact:
        """Replace a wrong value by the right one; the wrong one stays in the history, and is not derived again from
        the same sources.

        With `expect`, only that version is corrected.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.correct("user:ada", "city", "Porto", reason="she moved").value
            'Porto'
        """
        return run_blocking(self._engine.correct(ns, key, value, reason=reason, expect=expect))

    def restore(
        self, ns: Ns | None = None, key: str | int = OMITTED, version: int = OMITTED, *, expect: int | None = None
    ) -> Fact:
        """Write an earlier version of a fact again, as a new version with its value, confidence, sources and expiry.

        The value may be derived from its sources again, even if it was rejected. With `expect`, only over that version.

        Raises `NotFound` if there is no such version, `Conflict` if `expect` is not the present version.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> memory.facts.restore("user:ada", "city", 1).value
            'Lisbon'
        """
        return run_blocking(self._engine.restore(ns, key, version, expect=expect))

    def unforget(self, ns: Ns | None = None, key: str = OMITTED) -> list[Fact]:
        """Undo a request to forget, named by the last id in its receipt's `ended`; returns the facts that came back.

        All facts and learnings that the request ended are restored, and the messages it marked lose their mark. A fact
        that was stated again since keeps its newer value.

        Raises `NotFound` if there is no such request, or if it was undone already.

        Examples:
            >>> turn = memory.threads.append("asks", "I live in Oslo.", create="user:eva")
            >>> asked = memory.threads.append("asks", "Forget that I live in Oslo.")
            >>> asked[0].ended
            ('user:eva/location', 'user:eva/forgotten.i_live_in_oslo')
            >>> [fact.value for fact in memory.facts.unforget("user:eva", "forgotten.i_live_in_oslo")]
            ['Oslo']
        """
        return run_blocking(self._engine.unforget(ns, key))

    def history(self, ns: Ns | None = None, key: str = OMITTED) -> list[Fact]:
        """List every version, oldest first, the present one last; ended ones have status `deleted` or `rejected`.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> [(version.version, version.value) for version in memory.facts.history("user:ada", "city")]
            [(1, 'Lisbon'), (2, 'Porto')]
        """
        return run_blocking(self._engine.history(ns, key))

    def delete_expired(self) -> int:
        """Remove this org's expired facts now, without waiting for the collector; returns how many.

        Examples:
            >>> memory.facts.delete_expired()
            0
        """
        return run_blocking(self._engine.delete_expired())

    def list(
        self,
        ns: Ns | None = None,
        *,
        prefix: str | None = None,
        where: Where | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
        as_of: When | None = None,
    ) -> list[Fact]:
        """List facts of a namespace by key (or `reverse`); the next page is `after` the last key.

        With `as_of`, the facts are those of that time, with the values that they had.

        Raises `InvalidFilter` for an invalid `where`.

        Examples:
            >>> facts = memory.facts.set_many("user:ada", {"pet.cat": "Mia", "pet.dog": "Rex", "visits": {"count": 3}})
            >>> [fact.value for fact in memory.facts.list("user:ada", prefix="pet.")]
            ['Mia', 'Rex']
            >>> [fact.key for fact in memory.facts.list("user:ada", where={"count": {"$gt": 2}})]
            ['visits']
        """
        return run_blocking(
            self._engine.list(ns, prefix=prefix, where=where, limit=limit, after=after, reverse=reverse, as_of=as_of)
        )
