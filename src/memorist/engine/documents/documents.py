"""Documents are long texts, split into chunks that recall can find.

Adding the same source again replaces the document. A chunk's id is a hash of its text, so a chunk that is unchanged or
has only moved keeps its row, its index entry and its vector.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from ...errors import InvalidValue
from ...filters import Where, parse_filter
from ...ids import digest, new_id
from ...ports import Ttl
from ...records import Chunk, Document, Entry, Ref
from ...scope import OMITTED, Ns
from ...stores.base import Change, Delete, Expect, Put
from ...values import Json, as_list, check_metadata, check_name, check_text, fingerprint_json
from ..audit import audit
from ..core import Core
from ..forgetting.guard import owned, raised
from ..gating import admitted
from ..index_jobs import index_job
from ..options import page
from ..removal import part_deletions
from .files import DocumentSource, ReadableFile, read_document

if TYPE_CHECKING:
    from .chunking import Piece


class Documents:
    """Adds, reads and deletes documents."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def add(
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
        space, text = self._core.scope.resolve_writable(ns, text)
        if isinstance(text, str):
            new = self._new(space, text, title, source, metadata, id, ttl)
            return (await self._store(new, again=ttl is not None))[0]
        # Parsing a long PDF takes seconds, and must not block an event loop.
        file = await self._core.runtime.offload(read_document, text, source)
        if isinstance(text, os.PathLike) and source is None:
            source = os.fspath(text)
        title = title or file.title or (source and os.path.basename(source)) or None
        new = self._new(space, file.text, title, source, metadata, id, ttl)
        return (await self._store(new, again=ttl is not None, file=file))[0]

    async def _store(self, new: Document, *, again: bool, file: ReadableFile | None = None) -> tuple[Document, bool]:
        """Store a document.

        Return the document, and whether it was written. An unchanged document is written only with `again`.
        """
        # The gate passes it before it is cut, so that chunks are pieces of the text that is stored.
        new, counters = await admitted(self._core, new)

        async def attempt() -> tuple[Document, bool]:
            old = await self._core.get(Document, new.ns, new.id)
            if old is not None and not again and _is_same(old, new):
                return old, False
            # Chunks change only together with their document, whose version the commit expects.
            had = await self._core.scan(Chunk, new.ns, new.id)
            has = await self._core.runtime.offload(self._chunks, new, file)
            document = msgspec.structs.replace(new, chunks=len(has))
            results = await self._core.apply(
                Expect(Document, new.row_key, 0 if old is None else old.version),
                Put(document),
                Put(index_job(new.org, new.ns, f"document:{new.id}", self._core.at())),
                audit(self._core, "add" if old is None else "replace", "document", f"{new.ns}/{new.id}", new.source),
                # In the same commit as the document, so that no recall finds chunks of two versions at once.
                *self._moves(had, has),
                *(owned(self._core, new.ns, "document", name) for name in (new.id, new.source) if name),
                *counters,
            )
            return results.written(document), True

        return await self._core.retry(attempt)

    async def get(self, ns: Ns | None = None, id: str = OMITTED) -> Document | None:
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
        space, id = self._core.scope.resolve_readable(ns, id)
        return await self._core.get(Document, space, check_name(id, "document id"))

    async def get_many(
        self, ns: Ns | Iterable[str] | None = None, ids: Iterable[str] = OMITTED
    ) -> list[Document | None]:
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
        space, ids = self._core.scope.resolve_readable(ns, ids)
        keys = [(space, check_name(id, "document id")) for id in as_list(ids, "ids")]
        return await self._core.get_many(Document, keys)

    async def chunks(self, ns: Ns | None = None, id: str = OMITTED) -> list[Chunk]:
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
        space, id = self._core.scope.resolve_readable(ns, id)
        chunks = await self._core.scan(Chunk, space, check_name(id, "document id"))
        return sorted(chunks, key=lambda piece: piece.position)

    async def delete(self, ns: Ns | None = None, id: str = OMITTED) -> bool:
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
        space, id = self._core.scope.resolve_writable(ns, id)
        check_name(id, "document id")

        async def attempt() -> bool:
            document = await self._core.get(Document, space, id)
            if document is None:
                return False
            await self._core.apply(
                Expect(Document, document.row_key, document.version),
                Delete(Document, document.row_key),
                *part_deletions(self._core.org, space, Ref("document", space, id)),
                *raised(self._core, *_refs(space, id)),
                audit(self._core, "delete", "document", f"{space}/{id}"),
            )
            return True

        return await self._core.retry(attempt)

    # -- parts

    def _new(
        self,
        ns: str,
        text: str,
        title: str | None,
        source: str | None,
        metadata: Mapping[str, Json] | None,
        id: str | None,
        ttl: Ttl | None,
    ) -> Document:
        check_text(text, "text")
        if not text.strip():
            raise InvalidValue("a document needs text")
        if title is not None:
            check_text(title, "title", limit=10_000)
        fields = check_metadata(metadata)
        now, at = self._core.now(), self._core.at()
        return Document(
            org=self._core.org,
            ns=ns,
            id=_id(ns, source, id),
            title=title,
            source=source,
            metadata=fields,
            text=text,
            digest=digest(text.encode()),
            actor=self._core.scope.actor,
            created_at=at,
            updated_at=at,
            expires_at=self._core.expiry(ttl, now),
        )

    def _chunks(self, document: Document, file: ReadableFile | None) -> dict[str, Chunk]:
        from .chunking import chunk

        chunks: dict[str, Chunk] = {}
        repeats: dict[str, int] = {}
        pages = () if file is None else file.page_starts
        pieces = chunk(document.text, self._core.shared.counter.count, page_starts=pages)
        for position, piece in enumerate(pieces):
            part = _part(piece, repeats)
            chunks[part] = Chunk(
                org=document.org,
                ns=document.ns,
                document=document.id,
                part=part,
                position=position,
                text=piece.text,
                heading=piece.heading,
                page=None if file is None else file.page_at(piece.start),
                start=piece.start,
                stop=piece.stop,
                tokens=piece.tokens,
                created_at=document.updated_at,
            )
        return chunks

    def _moves(self, had: list[Chunk], has: dict[str, Chunk]) -> list[Change]:
        """Return the changes that turn old chunks into new ones: put the chunks that are new or have moved, and delete
        the others and their entries.
        """
        before = {piece.part: piece for piece in had}
        changes: list[Change] = [
            Put(piece)
            for part, piece in has.items()
            if part not in before or msgspec.structs.replace(piece, created_at=before[part].created_at) != before[part]
        ]
        for part, piece in before.items():
            if part not in has:
                entry = (piece.org, piece.ns, "document", piece.document, piece.id)
                changes += [Delete(Chunk, piece.row_key), Delete(Entry, entry)]
        return changes

    # Last: the name hides the builtin for annotations below it.
    async def list(
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
        return await self._core.listed(
            Document,
            self._core.scope.readable(self._core.scope.namespace(ns)),
            where=parse_filter(where),
            **page(limit, after, reverse),
        )


def _refs(ns: str, id: str) -> tuple[Ref, Ref]:
    """Return both references to a document, with and without its namespace, because sources may use either."""
    return Ref("document", ns, id), Ref("document", key=id)


def _id(ns: str, source: str | None, id: str | None) -> str:
    if id is not None:
        return check_name(id, "document id")
    if source is None:
        return new_id()
    return digest(f"{ns}\x00{check_name(source, 'source')}".encode(), 12)


def _part(piece: Piece, repeats: dict[str, int]) -> str:
    """Return a name for a chunk, derived from its content.

    `repeats` counts chunks with the same content, so that each has its own name.
    """
    # A part is never all digits: `id#12` is message 12 of a thread.
    name = "c" + digest(f"{piece.heading or ''}\x00{piece.text}".encode())[:15]
    repeats[name] = repeats.get(name, 0) + 1
    return name if repeats[name] == 1 else f"{name}-{repeats[name]}"


def _is_same(old: Document, new: Document) -> bool:
    return (old.digest, old.title, old.source, fingerprint_json(old.metadata)) == (
        new.digest,
        new.title,
        new.source,
        fingerprint_json(new.metadata),
    )
