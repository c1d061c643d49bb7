"""Exports and imports data over HTTP, as a stream."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from ..engine.noun import core_of, facade_of
from ..engine.portable import Progress, Transfer, new_file
from ..errors import CorruptRecord, Unsupported, UsageError
from ..importing.mapping import read_mapping
from ..importing.report import ImportReport
from ..protocol.operations import BY_NAME
from ..values import JsonObject
from .nouns import plain, result_of

if TYPE_CHECKING:
    from .core import RemoteCore


PIECE_BYTES = 256 * 1024


class RemotePortable:
    """Moves an org between a server and a local file."""

    def __init__(self, core: RemoteCore) -> None:
        self._core = core

    async def export(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Write every row of the key's org to a file, which appears only when it is complete."""
        self.check_scope()
        counts, last = Counter[str](), b""
        with new_file(Path(path)) as file:
            async for line in self._core.shared.client.lines("GET", "/v1/export", self._core.headers()):
                file.write(line + b"\n")
                last = line
                if line.startswith(b'{"table":'):
                    counts[msgspec.json.decode(line, type=_Tabled).table] += 1
            # The last line contains the number of rows. Without it, the connection broke in the middle.
            if not last.startswith(b'{"rows":'):
                raise CorruptRecord("the server's export ended early; nothing was written; try again")
        if progress is not None:
            progress(counts.total(), counts.total())
        return Transfer(counts.total(), dict(sorted(counts.items())))

    async def rows(self) -> AsyncIterator[bytes]:
        """Stream the lines of an export."""
        async for line in self._core.shared.client.lines("GET", "/v1/export", self._core.headers()):
            yield line + b"\n"

    async def import_(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transfer:
        """Upload a file that `export` wrote. If a line is damaged, the error names it and nothing is written."""
        self.check_scope()
        operation = BY_NAME["transfers.import_"]
        headers = {**self._core.headers(), "content-type": operation.upload}
        answer = await self._core.shared.client.upload(operation.path, _pieces(Path(path)), headers)
        transfer: Transfer = result_of(operation, answer)
        if progress is not None:
            progress(transfer.rows, transfer.rows)
        return transfer

    async def import_from(
        self, path: str | os.PathLike[str], *, progress: Progress | None = None, **options: object
    ) -> ImportReport:
        """Upload a file from another tool for import."""
        self.check_scope("import_from")
        source = Path(path)
        if await self._core.runtime.offload(source.is_dir):
            raise Unsupported("a folder cannot be sent to a server; import it where the store is opened")
        mapping = options.pop("mapping", None)
        if mapping is not None and not isinstance(mapping, Mapping):
            mapping = read_mapping(mapping)
        arguments = {**options, "name": source.name, "mapping": mapping}
        operation = BY_NAME["transfers.import_from"]
        query = {
            name: value if isinstance(value, str) else msgspec.json.encode(plain(value)).decode()
            for name, value in arguments.items()
            if value is not None
        }
        headers = {**self._core.headers(), "content-type": operation.upload}
        answer = await self._core.shared.client.upload(operation.path, _pieces(source), headers, query)
        import_report: ImportReport = result_of(operation, answer)
        if progress is not None:
            progress(sum(import_report.added.values()), sum(import_report.found.values()))
        return import_report

    def check_scope(self, what: str = "export and import") -> None:
        """Raise an error unless this handle may read and write the whole org, outside a batch."""
        self._core.scope.whole_org(what)
        if self._core.batch is not None:
            raise UsageError("export and import cannot be part of a batch")


class RemoteExporting:
    """Exports to other tools' formats. It fetches the whole org into a temporary file and writes from that copy."""

    def __init__(self, core: RemoteCore) -> None:
        self._core = core

    async def export(self, path: str | os.PathLike[str], **options: object) -> Transfer:
        """Write the same file or folder as a local export would, then delete the copy."""
        import memorist

        whole = RemotePortable(self._core)
        whole.check_scope()
        with TemporaryDirectory(prefix="memorist-export-") as folder:
            lines = Path(folder) / "everything.jsonl"
            await whole.export(lines)
            settings: JsonObject = {"embedder": None, "extract": None, "worker": False}
            url = Path(folder) / "copy.db"
            blocking = self._core.runtime.blocking
            memory_type = memorist.Memory if blocking else memorist.AsyncMemory
            copy = facade_of(core_of(memory_type(url, **settings)), stepped=True)
            try:
                await copy.import_(lines)
                transfer: Transfer = await copy.export(path, **options)
                return transfer
            finally:
                await copy.close()


class _Tabled(msgspec.Struct):
    table: str


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece
