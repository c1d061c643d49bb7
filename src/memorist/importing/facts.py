"""Imports facts. Each version keeps its own time, and never replaces a newer value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from ..engine.core import Core
from ..engine.facts.facts import Facts
from ..engine.facts.timeline import ended, splice_versions
from ..engine.forgetting.guard import value_fingerprint
from ..records import Fact, FactVersion, Link, Ref, Tombstone
from ..stores.base import Change
from ..values import fingerprint_json
from .items import FactItem, Version

_replace = msgspec.structs.replace


class FactChanges:
    """Turns fact items into store changes."""

    def __init__(self, core: Core, source: str, default_at: datetime) -> None:
        self._core = core
        self._source = source
        self._at = default_at
        self._facts = Facts(core)

    async def plan(
        self,
        items: Sequence[tuple[FactItem, str]],
        changes: list[Change],
        added: Counter[str],
        unchanged: Counter[str],
    ) -> None:
        """Add the changes for the given facts. Items with the same key are merged."""
        merged = _merged(items)
        keys = list(merged)
        facts = await self._core.get_many(Fact, keys)
        source, at = Ref("source", key=self._source), self._core.at()
        needed_links = [Link.of(self._core.org, source, Ref("fact", ns, key), at) for ns, key in keys]
        links = await self._core.get_many(Link, [link.row_key[1:] for link in needed_links])
        for (ns, key), current, link in zip(keys, facts, links, strict=True):
            item = merged[ns, key]
            new = item.versions if link is None else await self._unknown(ns, key, current, item.versions)
            additions = await self._changes(ns, item, new, current) if new else []
            changes += additions
            (added if additions else unchanged)["facts"] += 1

    async def _unknown(
        self, ns: str, key: str, current: Fact | None, versions: Sequence[Version]
    ) -> tuple[Version, ...]:
        """Return the versions that no earlier import has stored."""
        past = await self._core.scan(FactVersion, ns, key)
        own_rows = [row for row in (*past, *([current] if current else ())) if self._source in row.sources]
        fingerprints = {fingerprint_json(row.value) for row in own_rows}
        newest = max((row.updated_at for row in own_rows), default=None)
        return tuple(
            version
            for version in versions
            if (version.at is None and fingerprint_json(version.value) not in fingerprints)
            or (version.at is not None and (newest is None or version.at > newest))
        )

    async def _changes(
        self, ns: str, item: FactItem, versions: Sequence[Version], current: Fact | None
    ) -> list[Change]:
        """Return the changes that insert the versions into the fact's history by time, with its index job, audit and
        links.
        """
        fact = self._facts._new(ns, item.key, None, None, item.confidence, self._source)
        began = versions[0].at or self._at
        rows = [self._version(fact, version, began, item.expires_at) for version in versions]
        accepted = [row for row in rows if not await self._rejected(row)]
        if not accepted:
            return []
        changes = await splice_versions(self._core, current, accepted, ns, item.key)
        return [*changes, *self._facts._changes(accepted[-1], "import", sources=[Ref("source", key=self._source)])[1:]]

    def _version(self, draft: Fact, version: Version, began: datetime, expires_at: datetime | None) -> Fact:
        at = version.at or self._at
        fact = _replace(draft, value=version.value, created_at=began, updated_at=at, expires_at=expires_at)
        return ended(fact, at) if version.ended else fact

    async def _rejected(self, fact: Fact) -> bool:
        """Return whether this value from this source was already rejected, corrected or forgotten in this memory.

        Undoing the whole import does not count.
        """
        return await self._core.get(Tombstone, "fact", value_fingerprint(fact, self._source)) is not None


def _merged(items: Sequence[tuple[FactItem, str]]) -> dict[tuple[str, str], FactItem]:
    """Return facts by namespace and key. Versions of items with the same key are concatenated."""
    merged: dict[tuple[str, str], FactItem] = {}
    for item, ns in items:
        earlier = merged.get((ns, item.key))
        if earlier is not None:
            item = _replace(item, versions=(*earlier.versions, *item.versions))
        merged[ns, item.key] = item
    return merged
