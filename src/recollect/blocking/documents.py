"""Blocking documents.

Made by scripts/generate-blocking from engine/documents.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine.documents import Documents as EngineDocuments
from ..filters import Where
from ..ports import Ttl
from ..records import Chunk, Document
from ..runtime import run_blocking
from ..scope import Ns
from ..values import Json


class Documents:
    """Knowledge to recall from."""

    def __init__(self, engine: EngineDocuments) -> None:
        self._engine = engine

    def add(
        self,
        ns: Ns,
        text: str,
        *,
        title: str | None = None,
        source: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        ttl: Ttl | None = None,
    ) -> Document:
        """Add a document, or replace the one of the same source (or id); unchanged chunks are kept.

        Examples:
            >>> page = memory.documents.add("global", "Refunds within 30 days.", source="policies.md")
            >>> memory.recall("refunds", namespaces="global", top_k=1)[0].source
            'policies.md'
        """
        return run_blocking(self._engine.add(ns, text, title=title, source=source, metadata=metadata, id=id, ttl=ttl))

    def get(self, ns: Ns, id: str) -> Document | None:
        """A document with its text, or None where there is none.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.", title="Refunds")
            >>> memory.documents.get("global", page.id).title
            'Refunds'
        """
        return run_blocking(self._engine.get(ns, id))

    def get_many(self, ns: Ns, ids: Iterable[str]) -> list[Document | None]:
        """Several documents in one read, in the order of their ids given; None where there is none.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.", title="Refunds")
            >>> [one and one.title for one in memory.documents.get_many("global", [page.id, "nothing"])]
            ['Refunds', None]
        """
        return run_blocking(self._engine.get_many(ns, ids))

    def chunks(self, ns: Ns, id: str) -> list[Chunk]:
        """The chunks of a document, in the order of its text.

        Examples:
            >>> page = memory.documents.add("global", "Refunds within 30 days.")
            >>> [chunk.text for chunk in memory.documents.chunks("global", page.id)]
            ['Refunds within 30 days.']
        """
        return run_blocking(self._engine.chunks(ns, id))

    def delete(self, ns: Ns, id: str) -> bool:
        """Remove a document, its chunks and their index entries; whether there was one.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.")
            >>> memory.documents.delete("global", page.id)
            True
        """
        return run_blocking(self._engine.delete(ns, id))

    def list(
        self,
        ns: Ns,
        *,
        where: Where | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
    ) -> list[Document]:
        """Documents of a namespace in the order of their ids, or `reverse`; the next page is `after` the last id.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.", metadata={"team": "support"})
            >>> len(memory.documents.list("global", where={"team": "support"}))
            1
        """
        return run_blocking(self._engine.list(ns, where=where, limit=limit, after=after, reverse=reverse))
