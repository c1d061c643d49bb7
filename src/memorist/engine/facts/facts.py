"""Facts are JSON values in a namespace. They have a history and sources, and can be corrected or rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ...errors import Conflict, InvalidValue, NotFound, UsageError
from ...filters import Where, parse_filter
from ...kinds import fact_text, present_status
from ...ports import Ttl, When, as_datetime, to_datetime, to_micros
from ...records import Fact, FactVersion, Ref, Tombstone
from ...scope import OMITTED, Ns
from ...stores.base import Change, Delete, DeleteRange, Expect, Load, Put, Scan
from ...values import (
    Json,
    JsonMapping,
    as_list,
    check_confidence,
    check_name,
    check_prefix,
    encode_json,
)
from ..audit import audit
from ..core import Core
from ..forgetting.guard import Guard, guard, sources_of, value_fingerprint
from ..index_jobs import index_job
from ..options import MemoryScope, check_period, check_reason, page, version_of
from ..removal import part_deletions
from ..versions import MemoryNoun, check_version, ending_changes, tombstone, version_as, written_changes

MAX_GUARD_ATTEMPTS = 40
"""How many times to retry writing a fact whose sources are being forgotten."""
PAGE_ROWS = 1000
RESTORED = "restored from version"
"""The reason of a restored version begins with these words."""
FORGOTTEN = "forgotten."
"""Keys with this prefix record requests to forget. They have no value, only ended versions."""


class Facts(MemoryNoun[Fact]):
    """Reads and writes facts: values under a namespace and a key."""

    _record_type = Fact
    _version_type = FactVersion

    async def set(
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
        core = self._core
        space, name, value = core.scope.resolve_writable(ns, key, value)
        fields = self._check_fields(
            text=text, subject=subject, valid_from=valid_from, valid_until=valid_until, scope=scope, tags=tags,
            metadata=metadata,
        )  # fmt: skip
        fact = self._new(space, key_about(name, subject), value, ttl, confidence, source, index, **fields)
        check_period(fact.valid_from, fact.valid_until)
        expects: list[Change] = [] if expect is None else [Expect(Fact, fact.row_key, version_of(expect))]
        return await (self._write(fact, expects) if source is None else self._derive(fact, expects))

    async def _derive(self, fact: Fact, expects: Sequence[Change] = (), *, since: datetime | None = None) -> Fact:
        """Write a fact with sources, guarded against forgetting.

        It is returned as `rejected` if one of them was forgotten.
        """
        for _ in range(MAX_GUARD_ATTEMPTS):
            # Read in every attempt: after a conflict, the sources may be gone, or only part of one that this fact does
            # not need.
            source_guard = await guard(self._core, fact.sources, since=since)
            if source_guard.forgotten:
                return msgspec.structs.replace(fact, status="rejected", reason="a source of it was forgotten")
            try:
                return await self._write(fact, expects, source_guard)
            except Conflict as conflict:
                # Any other conflict belongs to the caller's `expect`.
                if not source_guard.caused(conflict):
                    raise
        raise Conflict("the sources of this fact are being forgotten")

    async def _write(self, fact: Fact, expects: Sequence[Change], source_guard: Guard | None = None) -> Fact:
        # The user may state a rejected value again; others may not bring it back from the same source.
        if self._core.scope.actor != "user":
            refused = await self._find_refused(fact)
            if refused is not None:
                return refused
        changes = (
            self._changes(fact)
            if source_guard is None
            else [*self._changes(fact, sources=source_guard.sources), *source_guard.changes]
        )
        results = await self._core.apply(*expects, *changes)
        return results.written(fact)

    async def set_many(
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
        core = self._core
        space, items = core.scope.resolve_writable(ns, items)
        pairs: list[Any] = [*items.items()] if isinstance(items, Mapping) else as_list(items, "items")
        if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs):
            raise InvalidValue("items are a dict, or pairs of a key and a value")
        facts = [self._new(space, key, value, ttl, 1.0, None, index) for key, value in pairs]
        refused = {} if core.scope.actor == "user" else await self._refused_of(facts)
        written = [fact for index, fact in enumerate(facts) if index not in refused]
        results = await core.apply(*(change for fact in written for change in self._changes(fact)))
        stored = iter([results.written(fact) for fact in written])
        return [refused[index] if index in refused else next(stored) for index in range(len(facts))]

    async def get(self, ns: Ns | None = None, key: str = OMITTED, *, as_of: When | None = None) -> Fact | None:
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
        space, key = self._core.scope.resolve_readable(ns, key)
        check_name(key, "fact key")
        return await self._at(as_of).get(Fact, space, key)

    async def get_many(self, ns: Ns | Iterable[str] | None = None, keys: Iterable[str] = OMITTED) -> list[Fact | None]:
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
        space, keys = self._core.scope.resolve_readable(ns, keys)
        return await self._core.get_many(Fact, [(space, check_name(key, "fact key")) for key in as_list(keys, "keys")])

    async def update(
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
        space, key = self._core.scope.resolve_writable(ns, key)
        encode_json(value)
        changed = self._check_fields(
            value=value, text=text, valid_from=valid_from, valid_until=valid_until, tags=tags, metadata=metadata,
            confidence=confidence,
        )  # fmt: skip
        if "value" in changed and "text" not in changed:
            changed["text"] = None  # the sentence told the old value
        return await self._update(space, key, changed, reason, expect=expect)

    async def end(
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
        space, key = self._core.scope.resolve_writable(ns, key)
        until = None if since is None else as_datetime(since, "since")
        ended = await self._end(space, key, "ended", reason, expect, until)
        if ended is None:
            raise self._missing(space, key, "end")
        return ended

    async def touch(
        self, ns: Ns | None = None, key: str | Ttl | None = OMITTED, ttl: Ttl | None = OMITTED
    ) -> Fact | None:
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
        core = self._core
        space, key, ttl = core.scope.resolve_writable(ns, key, ttl)
        name = check_name(key, "fact key")

        async def attempt() -> Fact | None:
            old = await core.get(Fact, space, name)
            if old is None:
                return None
            now = core.now()
            touched = msgspec.structs.replace(old, expires_at=core.expiry(ttl, now))
            # Load writes the row without a new version or history. The index job copies the new expiry to the entry.
            job = index_job(old.org, space, f"fact:{name}", to_datetime(now))
            await core.apply(Expect(Fact, old.row_key, old.version), Load(touched), Put(job))
            return touched

        return await core.retry(attempt)

    async def delete(
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
        core = self._core
        space, key = core.scope.resolve_writable(ns, key)
        if history:
            return await self._end(space, key, "deleted", None, expect) is not None
        row = (core.org, space, check_name(key, "fact key"))
        changes: list[Change] = [] if expect is None else [Expect(Fact, row, version_of(expect))]
        deletion, parts = Delete(Fact, row), part_deletions(core.org, space, Ref("fact", space, key))
        event = audit(core, "delete", "fact", f"{space}/{key}")
        return (await core.apply(*changes, deletion, *parts, event)).existed(deletion)

    async def delete_range(self, ns: Ns | None = None, prefix: str = "", *, history: bool = True) -> int:
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
        core, space = self._core, self._core.scope.writable(self._core.scope.namespace(ns))
        total, after = 0, None
        while facts := await self.list(space, prefix=prefix, limit=PAGE_ROWS, after=after):
            after = facts[-1].key
            if history:
                total += sum([await self.delete(space, fact.key) for fact in facts])
                continue
            deletions = [Delete(Fact, fact.row_key) for fact in facts]
            parts = [
                change for fact in facts for change in part_deletions(core.org, space, Ref("fact", space, fact.key))
            ]
            await core.apply(*deletions, *parts, audit(core, "delete", "facts", space, detail={"facts": len(facts)}))
            total += len(facts)
        if not history:
            await self._forget_versions(space, prefix)
        return total

    async def _forget_versions(self, ns: str, prefix: str) -> None:
        """Delete the history of facts that have already been deleted."""
        while past := await self._core.scan(FactVersion, ns, starts=prefix or None, limit=PAGE_ROWS):
            keys = dict.fromkeys((self._core.org, ns, version.key) for version in past)
            await self._core.apply(*(DeleteRange(FactVersion, key) for key in keys))

    async def reject(
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
        space, key = self._core.scope.resolve_writable(ns, key)
        ended = await self._end(space, key, "rejected", reason, expect)
        if ended is None:
            raise self._missing(space, key, "reject")
        return ended

    async def correct(
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
        core = self._core
        space, name, value = core.scope.resolve_writable(ns, key, value)
        check_reason(reason)

        async def attempt() -> Fact:
            old = await core.get(Fact, space, check_name(name, "fact key"))
            check_version(old, name, expect)
            fact = self._new(space, name, value, None, 1.0, None, reason=reason)
            tombstones: list[Change] = []
            if old is not None:
                fact = msgspec.structs.replace(fact, indexed=old.indexed)
                tombstones = [Put(self._tombstone(old, source)) for source in await sources_of(core, old)]
            return await self._commit(old, fact, "correct", *tombstones)

        return await core.retry(attempt)

    async def restore(
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
        core = self._core
        space, key, version = core.scope.resolve_writable(ns, key, version)
        name, number = check_name(key, "fact key"), version_of(version)

        async def attempt() -> Fact:
            current = await core.get(Fact, space, name)
            check_version(current, name, expect)
            old = next((row for row in await self._versions(space, name) if row.version == number), None)
            if old is None or (old.status != "active" and old.value is None):
                raise NotFound(f"fact {name!r} has no version {number} to restore", namespace=space, key=name)
            at = core.at()
            fact = version_as(
                Fact, old, version=0, status="active", actor=core.scope.actor, reason=f"{RESTORED} {number}",
                created_at=at, updated_at=at, valid_until=old.valid_until if old.status == "active" else None,
            )  # fmt: skip
            tombstones = [self._tombstone(fact, source) for source in (None, *await sources_of(core, old))]
            return await self._commit(
                current, fact, "restore", *(Delete(Tombstone, tombstone.row_key) for tombstone in tombstones)
            )

        return await core.retry(attempt)

    async def unforget(self, ns: Ns | None = None, key: str = OMITTED) -> list[Fact]:
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
        core = self._core
        space, key = core.scope.resolve_writable(ns, key)
        check_name(key, "fact key")

        async def attempt() -> Sequence[Fact | None]:
            facts = await core.together(lambda batch: Facts(batch)._undo_request(space, key))
            return await core.get_many(Fact, [(space, fact.key) for fact in facts])

        return [fact for fact in await core.retry(attempt) if fact is not None]

    async def _undo_request(self, space: str, key: str) -> list[Fact]:
        """Bring back everything that a request to forget has ended. The changes belong in one commit."""
        from ..memories import NOUNS

        core = self._core
        request = await self._ended_version(space, key)
        if request is None or not key.startswith(FORGOTTEN):
            raise NotFound(f"no request to forget under {key!r}", namespace=space, key=key)
        facts: list[Fact] = []
        for id in request.value["ended"]:
            # The ids of a request do not name the kind, and only one kind has ended something under each.
            for noun in NOUNS.values():
                record = await noun(core)._unforget(space, id.removeprefix(f"{space}/"))
                facts += [record] if isinstance(record, Fact) else []
        undone = msgspec.structs.replace(
            request, status="restored", version=request.version + 1, actor=core.scope.actor, updated_at=core.at()
        )
        # If two callers undo it at once, the second finds that there is nothing left to undo.
        expected = Expect(FactVersion, undone.row_key, 0)
        await core.apply(expected, Load(undone), Put(index_job(core.org, space, f"fact:{key}", core.at())))
        return facts

    async def _ended_version(self, ns: str, key: str) -> FactVersion | None:
        """Return the last version of a fact if it says that the fact was retracted."""
        last = await self._core.scan(FactVersion, ns, key, reverse=True, limit=1)
        return last[0] if last and last[0].status == "retracted" else None

    async def history(self, ns: Ns | None = None, key: str = OMITTED) -> list[Fact]:
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
        space, key = self._core.scope.resolve_readable(ns, key)
        check_name(key, "fact key")
        return await self._versions(space, key)

    async def delete_expired(self) -> int:
        """Delete this org's expired facts now instead of waiting for the collector, and return how many were deleted.

        Returns:
            How many facts were deleted.

        Examples:
            >>> memory.facts.delete_expired()
            0
        """
        core, total = self._core, 0
        await core.shared.open()
        after: Any = None
        # now=0 makes the scan return expired rows too. `Store.purge` would work on all orgs, this on the handle's own.
        while page := await core.store.scan(Scan(Fact, (core.org,), after=after, limit=PAGE_ROWS), now=0):
            now = core.now()
            dead = [fact for fact in page if fact.expires_at is not None and to_micros(fact.expires_at) <= now]
            own_facts = [fact for fact in dead if core.scope.may_write(fact.ns)]
            if own_facts:
                await core.apply(*(Delete(Fact, fact.row_key) for fact in own_facts))
            total += len(own_facts)
            after = (page[-1].ns, page[-1].key)
        return total

    # -- parts

    def _new(
        self,
        ns: str,
        key: str,
        value: object,
        ttl: Ttl | None,
        confidence: float,
        source: str | None,
        index: bool | Sequence[str] = True,
        **fields: Any,
    ) -> Fact:
        check_name(key, "fact key")
        encode_json(value)
        return Fact(
            key=key,
            value=value,
            confidence=check_confidence(confidence),
            indexed=None if index is True else _indexed(index),
            **self._stamp(ns, source, ttl),
            **fields,
        )

    def _changes(self, fact: Fact, action: str = "set", *, sources: Sequence[Ref] | None = None) -> list[Change]:
        """Return the fact and all that must be committed with it; see `written_changes`."""
        return written_changes(self._core, fact, action, sources)

    async def _find_refused(self, fact: Fact) -> Fact | None:
        """Return the stored version if the new value must not be written, because a tombstone says that it was
        rejected, corrected or forgotten when it came from the same source (or from no source).
        """
        return (await self._refused_of([fact])).get(0)

    async def _refused_of(self, facts: Sequence[Fact]) -> dict[int, Fact]:
        """Do the same as `_find_refused` for several facts, by index. Values that may be written are left out."""
        owners = [index for index, fact in enumerate(facts) for _ in fact.sources or (None,)]
        keys = [("fact", value_fingerprint(fact, source)) for fact in facts for source in fact.sources or (None,)]
        tombstones = await self._core.get_many(Tombstone, keys)
        rejected = {index for index, tombstone in zip(owners, tombstones, strict=True) if tombstone is not None}
        return {index: await self._last_version(facts[index]) for index in sorted(rejected)}

    async def _last_version(self, fact: Fact) -> Fact:
        """Return the current version of a fact, or the last one before it ended."""
        current = await self._core.get(Fact, fact.ns, fact.key)
        if current is not None:
            return current
        past = await self._core.scan(FactVersion, fact.ns, fact.key, reverse=True, limit=1)
        return past[0] if past else msgspec.structs.replace(fact, status="rejected")

    async def _end(
        self,
        space: str,
        key: str,
        status: str,
        reason: str | None,
        expect: int | None = None,
        until: datetime | None = None,
    ) -> Fact | None:
        core = self._core
        check_name(key, "fact key")
        check_reason(reason)

        async def attempt() -> Fact | None:
            old = await core.get(Fact, space, key)
            check_version(old, key, expect)
            if old is None:
                return None
            ended, changes = self._ending(old, status, reason, until=until)
            if status == "rejected":
                changes += [Put(self._tombstone(old, source)) for source in (None, *await sources_of(core, old))]
            await core.apply(Expect(Fact, old.row_key, old.version), *changes)
            return ended

        return await core.retry(attempt)

    def _ending(
        self,
        old: Fact,
        status: str,
        reason: str | None,
        source: str | None = None,
        at: datetime | None = None,
        until: datetime | None = None,
        quote: str | None = None,
    ) -> tuple[FactVersion, list[Change]]:
        """Return the final version of a fact, and the changes that end it.

        The caller adds an Expect for the version it read.
        """
        core = self._core
        changed_at = at or core.at()
        fields: dict[str, object] = {} if status in ("rejected", "ended") else {"value": None}
        if status == "ended":
            fields["valid_until"] = until or changed_at
        if source is not None:
            fields["sources"] = (*old.sources, source)
        if quote is not None:
            fields["metadata"] = {**old.metadata, "quote": quote}
        ended = version_as(
            FactVersion, old, status=status, reason=reason, version=old.version + 1, updated_at=changed_at,
            actor=core.scope.actor, **fields,
        )  # fmt: skip
        action = {"deleted": "delete", "rejected": "reject", "ended": "end"}.get(status, status)
        changes = [*ending_changes(core, old, ended), audit(core, action, "fact", old.id, source)]
        if status == "retracted":  # the messages that stated it are marked
            changes.append(Put(index_job(old.org, old.ns, f"fact:{old.key}", core.at())))
        return ended, changes

    def _at(self, as_of: When | None) -> Core:
        """Return this handle, or one that reads the facts as of an earlier time."""
        if as_of is None:
            return self._core
        from ..past import core_at

        return core_at(self._core, as_datetime(as_of, "as_of"))

    def _tombstone(self, fact: Fact, source: str | None) -> Tombstone:
        return tombstone(self._core, "fact", value_fingerprint(fact, source))

    # -- as one of several kinds of memories

    def _missing(self, ns: str, id: str, action: str) -> NotFound:
        return NotFound(f"no fact {id!r} in this namespace to {action}", namespace=ns, key=id)

    @staticmethod
    def _shown_fields(record: Fact, now: datetime) -> dict[str, Any]:
        return {
            "text": fact_text(record), "key": record.key, "value": record.value, "valid_from": record.valid_from,
            "valid_until": record.valid_until, "status": present_status(record, now),
        }  # fmt: skip

    async def _change(self, ns: str, id: str, *, reason: str | None = None, **fields: Any) -> Fact:
        return await self.update(ns, id, reason=reason, **fields)

    async def _delete(self, ns: str, id: str, *, history: bool = True) -> bool:
        return await self.delete(ns, id, history=history)

    async def _undo(self, versions: Sequence[Fact], *, approved: bool) -> Fact | None:
        last = versions[-1]
        earlier = [version for version in versions[:-1] if version.status == "active"]
        # A fact that was gone before its last change is removed again, however often it had been there.
        was_gone = last.status == "active" and versions[-2:-1] != earlier[-1:]
        if earlier and not was_gone:
            expect = last.version if last.status == "active" else 0
            return await self.restore(last.ns, last.key, earlier[-1].version, expect=expect)
        if last.status == "active" and approved:
            # Not rejected: it can be approved again.
            await self.delete(last.ns, last.key)
        elif last.status == "active":
            await self.reject(last.ns, last.key, reason="undone")
        return None

    async def _remove(self, record: Fact, reason: str) -> None:
        await self.end(record.ns, record.key, reason=reason)

    async def _put_back(self, record: Fact) -> None:
        await self.restore(record.ns, record.key, record.version)

    async def _unforget(self, ns: str, id: str) -> Fact | None:
        """Bring back a retracted fact with its last value, unless it has a newer value."""
        core = self._core
        ended = await self._ended_version(ns, id)
        if ended is None or await core.get(Fact, ns, id) is not None:
            return None
        before = await core.get(FactVersion, ns, id, ended.version - 1)
        if before is None:
            return None
        fact = version_as(Fact, before, version=0, status="active", reason="unforgotten", updated_at=core.at())
        return await self._commit(None, fact, "restore")

    # Last: the name hides the builtin for annotations below it.
    async def list(
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
        core = self._at(as_of)
        return await core.listed(
            Fact,
            core.scope.readable(core.scope.namespace(ns)),
            starts=check_prefix(prefix),
            where=parse_filter(where),
            **page(limit, after, reverse),
        )


def key_about(key: str, subject: str | None) -> str:
    """Return the key of a fact about a subject: `birthday@Mia`, or just the key for the owner of the namespace."""
    check_name(key, "fact key")
    return key if subject is None else check_name(f"{key}@{check_name(subject, 'subject')}", "fact key")


def _indexed(index: bool | Sequence[str]) -> list[str] | None:
    """Return the stored form of `index`: None for the whole value, or otherwise a list of fields."""
    if isinstance(index, bool):
        return None if index else []
    if isinstance(index, str) or not index:
        raise UsageError("index is True, False or a list of fields of the value")
    return [check_name(field, "field to index") for field in index]
