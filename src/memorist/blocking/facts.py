"""Blocking facts.

Made by scripts/generate-blocking from engine/facts/facts.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..engine.facts.facts import Facts as EngineFacts
from ..engine.options import MemoryScope
from ..filters import Where
from ..ports import Ttl, When
from ..records import Fact
from ..runtime import run_blocking
from ..scope import OMITTED, Ns
from ..values import Json, JsonMapping


class Facts:
    """Reads and writes facts: values under a namespace and a key."""

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
        scope: MemoryScope = "standing",
        tags: Iterable[str] = (),
        metadata: JsonMapping | None = None,
    ) -> Fact:
        """Write a value. The last write wins unless you pass the version to replace as `expect`.

        A rejected value is not written again from the same `source`, except by the user; the rejected version is
        returned instead. The same applies to a fact whose `source` was forgotten, regardless of who writes it.

        Args:
            ns: The namespace, such as `user:ada`. On a user's handle you can leave it out in all methods:
                `ada.facts.set("city", "Lisbon")` writes to the user's own namespace.
            key: The name of the value, such as `city`.
            value: A JSON value.
            ttl: How long to keep it, in seconds or as a timedelta.
            confidence: How certain it is, from 0 to 1.
            source: The id of the message it was taken from.
            expect: The version to replace; 0 if there must be no fact yet.
            index: Which parts of the value recall indexes: all of it, some fields (`["title", "author.name"]`), or
                none.
            text: The fact as a sentence that makes sense on its own ("Ada lives in Lisbon").
            subject: The person or thing it is about, if not the owner of the namespace. It becomes part of the key
                (`birthday@Mia`), so that facts about two people stay apart.
            valid_from: When it became true.
            valid_until: When it stops being true; recall and contexts leave it out afterwards.
            scope: How long it matters: `standing`, `conversation` or `task`.
            tags: Your own labels.
            metadata: Anything else, as JSON.

        Returns:
            The stored fact, with its new version.

        Raises:
            Conflict: `expect` is not the current version.
            Forbidden: This handle may not write to the namespace.
            NotAdmitted: The gate refuses the value, for example because it is a secret.

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
        """Write several values in one transaction.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            items: The values by key.
            ttl: How long to keep each of them.
            index: Which parts of each value recall indexes, as in `set`.

        Returns:
            The stored facts, in the order of the items.

        Raises:
            Forbidden: This handle may not write to the namespace.
            NotAdmitted: The gate refuses one of the values; nothing is written.

        Examples:
            >>> [fact.key for fact in memory.facts.set_many("user:ada", {"city": "Lisbon", "role": "nurse"})]
            ['city', 'role']
        """
        return run_blocking(self._engine.set_many(ns, items, ttl=ttl, index=index))

    def get(self, ns: Ns | None = None, key: str = OMITTED, *, as_of: When | None = None) -> Fact | None:
        """Return a fact, or None if it does not exist.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            as_of: Return the version that was current at this time.

        Returns:
            The fact, or None.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.get("user:ada", "city").value
            'Lisbon'
            >>> memory.facts.get("user:ada", "shoe_size") is None
            True
        """
        return run_blocking(self._engine.get(ns, key, as_of=as_of))

    def get_many(self, ns: Ns | Iterable[str] | None = None, keys: Iterable[str] = OMITTED) -> list[Fact | None]:
        """Return several facts at once, in the order of the keys, and None for each one that does not exist.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            keys: The keys to read.

        Returns:
            One fact or None per key.

        Raises:
            Forbidden: This handle may not read the namespace.

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
        """Change some fields of a fact and return its new version. Fields that you leave out stay as they are.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            value: The new value; to store null, use `set`.
            text: The fact as a sentence that makes sense on its own.
            valid_from: When it became true.
            valid_until: When it stops being true.
            tags: Your own labels, which replace the current ones.
            metadata: JSON values, which replace the current metadata.
            confidence: How certain it is, from 0 to 1.
            reason: The reason, for the history.
            expect: The version that you expect to be current.

        Returns:
            The fact with its new version.

        Raises:
            NotFound: There is no such fact.
            Conflict: `expect` is not the current version.

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
        """End a fact that used to be true. Its history is kept, and the same value may be stated again.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key of the fact.
            since: When it stopped being true; now by default.
            reason: Why it ended, for the history.
            expect: The version that you expect to be current.

        Returns:
            The last version, with the status `ended`.

        Raises:
            NotFound: There is no such fact.
            Conflict: `expect` is not the current version.

        Examples:
            >>> fact = memory.facts.set("user:ada", "employer", "Acme")
            >>> memory.facts.end("user:ada", "employer", reason="she left").status
            'ended'
        """
        return run_blocking(self._engine.end(ns, key, since=since, reason=reason, expect=expect))

    def touch(self, ns: Ns | None = None, key: str | Ttl | None = OMITTED, ttl: Ttl | None = OMITTED) -> Fact | None:
        """Change how long a fact is kept, counting from now, without creating a new version.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            ttl: Seconds or a timedelta; None keeps it forever.

        Returns:
            The fact, or None if there is none.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> fact = memory.facts.set("user:ada", "mood", "curious", ttl=60)
            >>> memory.facts.touch("user:ada", "mood", 3600).version
            1
        """
        return run_blocking(self._engine.touch(ns, key, ttl))

    def delete(
        self, ns: Ns | None = None, key: str = OMITTED, *, expect: int | None = None, history: bool = True
    ) -> bool:
        """Delete a fact. Memories derived from it stay; use `forget` to delete them too.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            expect: The version that you expect to be current.
            history: Whether to keep the older versions, for `history` and `as_of`.

        Returns:
            Whether the fact existed.

        Raises:
            Conflict: `expect` is not the current version.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.delete("user:ada", "city")
            True
        """
        return run_blocking(self._engine.delete(ns, key, expect=expect, history=history))

    def delete_range(self, ns: Ns | None = None, prefix: str = "", *, history: bool = True) -> int:
        """Delete all facts whose key starts with `prefix`, as `delete` does, and return how many were deleted.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            prefix: The beginning of the keys; the default matches every key.
            history: Whether to keep the history.

        Returns:
            How many facts were deleted.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> facts = memory.facts.set_many("user:ada", {"pet.cat": "Mia", "pet.dog": "Rex"})
            >>> memory.facts.delete_range("user:ada", "pet.")
            2
        """
        return run_blocking(self._engine.delete_range(ns, prefix, history=history))

    def reject(
        self, ns: Ns | None = None, key: str = OMITTED, *, reason: str | None = None, expect: int | None = None
    ) -> Fact:
        """Reject a fact that was never true. It is removed and is not derived again from the same sources.

        If the user states it again, that counts as a new source, and the fact is remembered.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            reason: The reason, for the history.
            expect: The version that you expect to be current.

        Returns:
            The rejected version.

        Raises:
            NotFound: There is no such fact.
            Conflict: `expect` is not the current version.

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
        """Replace a wrong value with the right one.

        The wrong value stays in the history but is not derived again from the same sources.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            value: The right value.
            reason: The reason, for the history.
            expect: The version that you expect to be current.

        Returns:
            The corrected fact.

        Raises:
            Conflict: `expect` is not the current version.

        Examples:
            >>> fact = memory.facts.set("user:ada", "city", "Lisbon")
            >>> memory.facts.correct("user:ada", "city", "Porto", reason="she moved").value
            'Porto'
        """
        return run_blocking(self._engine.correct(ns, key, value, reason=reason, expect=expect))

    def restore(
        self, ns: Ns | None = None, key: str | int = OMITTED, version: int = OMITTED, *, expect: int | None = None
    ) -> Fact:
        """Make an earlier version of a fact the current one again, with its value, confidence, sources and expiry.

        A rejected value may then be derived from its sources again.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.
            version: The number of the version to restore.
            expect: The version that you expect to be current.

        Returns:
            The restored fact, with its new version.

        Raises:
            NotFound: There is no such version.
            Conflict: `expect` is not the current version.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> memory.facts.restore("user:ada", "city", 1).value
            'Lisbon'
        """
        return run_blocking(self._engine.restore(ns, key, version, expect=expect))

    def unforget(self, ns: Ns | None = None, key: str = OMITTED) -> list[Fact]:
        """Undo a request to forget, and return the facts that came back.

        All facts, learnings and events that the request ended are restored, and the messages it marked lose their mark.
        A fact that the user has stated again since then keeps its newer value.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The last id in the `ended` of the request's receipt.

        Returns:
            The restored facts.

        Raises:
            NotFound: There is no such request, or it has already been undone.

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
        """List every version of a fact, oldest first. The last one is current, or has the status `deleted`, `ended` or
        `rejected`.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            key: The key.

        Returns:
            All versions, or an empty list.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> facts = [memory.facts.set("user:ada", "city", city) for city in ("Lisbon", "Porto")]
            >>> [(version.version, version.value) for version in memory.facts.history("user:ada", "city")]
            [(1, 'Lisbon'), (2, 'Porto')]
        """
        return run_blocking(self._engine.history(ns, key))

    def delete_expired(self) -> int:
        """Delete this org's expired facts now instead of waiting for the collector, and return how many were deleted.

        Returns:
            How many facts were deleted.

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
        """List the facts of a namespace, in the order of their keys.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            prefix: Return only keys that start with this.
            where: A filter on the value and other fields, such as `{"count": {"$gt": 2}}`.
            limit: The maximum number to return.
            after: The last key of the previous page.
            reverse: Whether to list in reverse order.
            as_of: Return the facts that were current at this time, with their values at that time.

        Returns:
            The facts.

        Raises:
            InvalidFilter: `where` is not a valid filter.

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
