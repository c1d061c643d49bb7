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
        """Add a document, or replace the one of the same source (or id); unchanged chunks are kept."""
        return run_blocking(self._engine.add(ns, text, title=title, source=source, metadata=metadata, id=id, ttl=ttl))

    def get(self, ns: Ns, id: str) -> Document | None:
        """A document with its text, or None where there is none."""
        return run_blocking(self._engine.get(ns, id))

    def get_many(self, ns: Ns, ids: Iterable[str]) -> list[Document | None]:
        """Several documents in one read, in the order of their ids given; None where there is none."""
        return run_blocking(self._engine.get_many(ns, ids))

    def chunks(self, ns: Ns, id: str) -> list[Chunk]:
        """The chunks of a document, in the order of its text."""
        return run_blocking(self._engine.chunks(ns, id))

    def delete(self, ns: Ns, id: str) -> bool:
        """Remove a document, its chunks and their index entries; whether there was one."""
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
        """Documents of a namespace in the order of their ids, or `reverse`; the next page is `after` the last id."""
        return run_blocking(self._engine.list(ns, where=where, limit=limit, after=after, reverse=reverse))
