"""Blocking documents.

Made by scripts/generate-blocking from engine/documents/documents.py; change that, then run the script.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..engine.documents.documents import Documents as EngineDocuments
from ..engine.documents.files import DocumentSource
from ..filters import Where
from ..ports import Ttl
from ..records import Chunk, Document
from ..runtime import run_blocking
from ..scope import OMITTED, Ns
from ..values import Json


class Documents:
    """Adds, reads and deletes documents."""

    def __init__(self, engine: EngineDocuments) -> None:
        self._engine = engine

    def add(
        self,
        ns: Ns | DocumentSource | None = None,
        text: DocumentSource = OMITTED,
        *,
        title: str | None = None,
        source: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        ttl: Ttl | None = None,
    ) -> Document:
        """Add a document, or replace the one with the same source or id. Unchanged chunks are kept.

        Args:
            ns: The namespace it belongs to.
            text: The text, or a file as bytes or as a `Path`: Markdown, HTML, PDF, Word (.docx) or plain text. HTML,
                PDF and Word need the extra `documents`. The ending of `source` names the format of bytes; without one,
                the format is detected.
            title: The title. By default, this is the file's own title, or the last part of its source.
            source: Where it came from; by default, the path of the file. Adding the same source again replaces the
                document.
            metadata: JSON values that you want to filter by.
            id: Your own id for the document.
            ttl: How long to keep it.

        Returns:
            The stored document.

        Raises:
            InvalidValue: The file cannot be read, or has no text.
            Unsupported: The format needs an extra that is not installed.

        Examples:
            >>> page = memory.documents.add("global", "Refunds within 30 days.", source="policies.md")
            >>> memory.recall("refunds", namespaces="global", top_k=1)[0].source
            'policies.md'
        """
        return run_blocking(self._engine.add(ns, text, title=title, source=source, metadata=metadata, id=id, ttl=ttl))

    def get(self, ns: Ns | None = None, id: str = OMITTED) -> Document | None:
        """Return a document with its text, or None if it does not exist.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            id: The id of the document.

        Returns:
            The document, or None.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.", title="Refunds")
            >>> memory.documents.get("global", page.id).title
            'Refunds'
        """
        return run_blocking(self._engine.get(ns, id))

    def get_many(self, ns: Ns | Iterable[str] | None = None, ids: Iterable[str] = OMITTED) -> list[Document | None]:
        """Return several documents at once, in the order of the ids, and None for each one that does not exist.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            ids: The ids of the documents.

        Returns:
            One document or None per id.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.", title="Refunds")
            >>> [one and one.title for one in memory.documents.get_many("global", [page.id, "nothing"])]
            ['Refunds', None]
        """
        return run_blocking(self._engine.get_many(ns, ids))

    def chunks(self, ns: Ns | None = None, id: str = OMITTED) -> list[Chunk]:
        """List the chunks of a document, in the order of the text.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            id: The id of the document.

        Returns:
            The chunks, or an empty list.

        Raises:
            Forbidden: This handle may not read the namespace.

        Examples:
            >>> page = memory.documents.add("global", "Refunds within 30 days.")
            >>> [chunk.text for chunk in memory.documents.chunks("global", page.id)]
            ['Refunds within 30 days.']
        """
        return run_blocking(self._engine.chunks(ns, id))

    def delete(self, ns: Ns | None = None, id: str = OMITTED) -> bool:
        """Delete a document, its chunks and their index entries, and return whether it existed.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            id: The id of the document.

        Returns:
            Whether the document existed.

        Raises:
            Forbidden: This handle may not write to the namespace.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.")
            >>> memory.documents.delete("global", page.id)
            True
        """
        return run_blocking(self._engine.delete(ns, id))

    def list(
        self,
        ns: Ns | None = None,
        *,
        where: Where | None = None,
        limit: int | None = None,
        after: str | None = None,
        reverse: bool = False,
    ) -> list[Document]:
        """List the documents of a namespace, in the order of their ids.

        Args:
            ns: The namespace. On a user's handle, it defaults to the user's own.
            where: A filter on metadata and the other fields.
            limit: The maximum number to return.
            after: The last id of the previous page.
            reverse: Whether to list in reverse order.

        Returns:
            The documents.

        Raises:
            Forbidden: This handle may not read the namespace.
            InvalidFilter: `where` is not a valid filter.

        Examples:
            >>> page = memory.documents.add("global", "Within 30 days.", metadata={"team": "support"})
            >>> len(memory.documents.list("global", where={"team": "support"}))
            1
        """
        return run_blocking(self._engine.list(ns, where=where, limit=limit, after=after, reverse=reverse))
