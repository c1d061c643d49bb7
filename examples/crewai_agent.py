"""A storage backend for CrewAI's memory, and an agent whose memory survives the kill of its process.

CrewAI is large, so this package has no extra for it. Run `pip install . crewai` and then this file, or do both with
`make test-crewai`. Copy `MemoristStorage` into your project and pass it to CrewAI:
`Crew(..., memory=crewai.Memory(storage=MemoristStorage("agent.db")))`.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import numpy as np
from killed import answer, survive_a_kill

os.environ["CREWAI_DISABLE_TELEMETRY"] = os.environ["OTEL_SDK_DISABLED"] = "true"
from crewai.memory.types import MemoryRecord, ScopeInfo
from crewai.memory.unified_memory import Memory as CrewMemory

from memorist import Memory

SPACE, ROOT = "workflow:crewai", "crewai"


class MemoristStorage:
    """A `StorageBackend` for CrewAI that stores each memory as one record, together with its vector."""

    def __init__(self, url: str) -> None:
        self._memory = Memory(url, embedder=None, extract=None, worker=False)

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()

    def save(self, records: list[MemoryRecord]) -> None:
        """Store all of the records in one transaction."""
        with self._memory.batch() as batch:
            for record in records:
                data = {**record.model_dump(mode="json"), "embedding": record.embedding}
                batch.records.put(SPACE, (ROOT, record.id), data)

    def update(self, record: MemoryRecord) -> None:
        """Replace the record with the same id."""
        self.save([record])

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """Return one record, or None."""
        record = self._memory.records.get(SPACE, (ROOT, record_id))
        return None if record is None else MemoryRecord(**_data(record))

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records whose vectors are most similar to a vector, by cosine."""
        query = np.asarray(query_embedding)
        ranked = []
        for record in self._passing(scope_prefix, categories, metadata_filter):
            if record.embedding:
                norms = np.linalg.norm(query) * np.linalg.norm(record.embedding)
                ranked.append((record, float(query @ np.asarray(record.embedding) / norms) if norms else 0.0))
        ranked.sort(key=lambda match: -match[1])
        return [match for match in ranked if match[1] >= min_score][:limit]

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that match all of the conditions, and return how many there were."""
        going = [
            record.id
            for record in self._passing(scope_prefix, categories, metadata_filter)
            if (record_ids is None or record.id in record_ids)
            and (older_than is None or record.created_at < older_than)
        ]
        with self._memory.batch() as batch:
            for id in going:
                batch.records.delete(SPACE, (ROOT, id))
        return len(going)

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """Return the records in a scope and below it, newest first."""
        records = sorted(self._passing(scope_prefix), key=lambda record: record.created_at, reverse=True)
        return records[offset : offset + limit]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Return a summary of a scope."""
        records = list(self._passing(scope))
        times = sorted(record.created_at for record in records)
        categories = sorted({category for record in records for category in record.categories})
        return ScopeInfo(
            path=scope, record_count=len(records), categories=categories,
            oldest_record=times[0] if times else None, newest_record=times[-1] if times else None,
            child_scopes=self.list_scopes(scope),
        )  # fmt: skip

    def list_scopes(self, parent: str = "/") -> list[str]:
        """Return the scopes directly below a scope."""
        base = parent.rstrip("/")
        below = {record.scope[len(base) + 1 :].split("/")[0] for record in self._passing(parent)}
        return sorted(f"{base}/{name}" for name in below if name)

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Return how often each category occurs."""
        return dict(Counter(category for record in self._passing(scope_prefix) for category in record.categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """Return the number of records in a scope."""
        return sum(1 for _ in self._passing(scope_prefix))

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records in a scope."""
        self.delete(scope_prefix)

    async def asave(self, records: list[MemoryRecord]) -> None:
        """Store records."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self, query_embedding: list[float], *args: Any, **options: Any
    ) -> list[tuple[MemoryRecord, float]]:
        """Return the records whose vectors are most similar to a vector."""
        return await asyncio.to_thread(self.search, query_embedding, *args, **options)

    async def adelete(self, *args: Any, **options: Any) -> int:
        """Delete the records that match all of the conditions."""
        return await asyncio.to_thread(self.delete, *args, **options)

    def _passing(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Iterator[MemoryRecord]:
        base = (scope or "/").rstrip("/")
        for stored in self._memory.records.scan(SPACE, (ROOT,)):
            record = MemoryRecord(**_data(stored))
            inside = not base or record.scope == base or record.scope.startswith(f"{base}/")
            tagged = not categories or set(categories) & set(record.categories)
            if inside and tagged and all(record.metadata.get(key) == value for key, value in (metadata or {}).items()):
                yield record


def _data(stored: Any) -> dict[str, Any]:
    return dict(stored.data)


def letters(texts: list[str]) -> list[list[float]]:
    """Embed texts by counting their letters, so that the example needs no model."""
    return [[float(text.lower().count(chr(letter))) for letter in range(97, 123)] for text in texts]


def talk(path: str, text: str) -> str:
    """Run one turn: search the memory for the message, then store the message in it."""
    # CrewAI calls no model if scope, categories and importance are set. At 1.0, it merges only equal vectors.
    memory = CrewMemory(storage=MemoristStorage(path), embedder=letters, consolidation_threshold=1.0)
    memories = [match.record.content for match in memory.recall(text, scope="/ada", depth="shallow")]
    if text not in memories:
        memory.remember(text, scope="/ada", categories=["said"], importance=0.5, metadata={"by": "ada"})
    reply = answer(" ".join([*memories, text]))
    memory.close()
    return reply


if __name__ == "__main__":
    survive_a_kill(talk)
