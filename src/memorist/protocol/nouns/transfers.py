"""Exports and imports an org as a stream of JSON lines, and imports files from other tools."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ...engine.portable import Portable, Transfer, create
from ...errors import CorruptRecord, TooLarge
from ...importing.report import ImportReport
from ...values import JsonObject
from .caller import ServerNoun

MAX_IMPORT_BYTES = 4 * 1024 * 1024 * 1024


class DamagedUpload(CorruptRecord):
    """Raised with status 422 if the uploaded file is damaged; damage to stored data has status 500."""


class Transfers(ServerNoun):
    """Exports and imports an org."""

    async def export(self) -> AsyncIterator[bytes]:
        """Stream every row of this org as JSON lines. The last line contains the number of rows."""
        self._core.scope.whole_org("export and import")
        return Portable(self._core).rows()

    async def import_(self, request: Any) -> Transfer:
        """Load JSON lines that an export wrote. If a line is damaged, the error names it and nothing is written.

        The upload is buffered in a temporary file, so that everything is checked before anything is written.
        """
        self._core.scope.whole_org("export and import")
        async with self._received(request, "import.jsonl") as path:
            try:
                return await self._memory.import_(path)
            except CorruptRecord as damaged:
                raise DamagedUpload(str(damaged), **damaged.facts) from None

    async def import_from(
        self,
        name: str,
        kind: str = "auto",
        namespace: str | None = None,
        users: dict[str, str] | None = None,
        mapping: JsonObject | None = None,
        source: str | None = None,
        dry_run: bool = False,
        strict: bool = False,
        request: Any = None,
    ) -> ImportReport:
        """Import a file from another tool. The file is sent as the body, and `name` is its file name."""
        self._core.scope.whole_org("import_from")
        # Only the file extension matters to the importer. Without separators, the name cannot lead out of the folder.
        plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)[-100:].lstrip(".")
        async with self._received(request, plain or "file") as path:
            try:
                return await self._memory.import_from(
                    path, kind=kind, namespace=namespace, users=users, mapping=mapping, source=source,
                    dry_run=dry_run, strict=strict,
                )  # fmt: skip
            except CorruptRecord as damaged:
                raise DamagedUpload(str(damaged), **damaged.facts) from None

    @asynccontextmanager
    async def _received(self, request: Any, name: str) -> AsyncIterator[Path]:
        """Store the body of a request in a temporary file, which is deleted afterwards."""
        offload = self._core.runtime.offload
        folder = await offload(lambda: Path(tempfile.mkdtemp(prefix="memorist-import-")))
        path, size = folder / name, 0
        try:
            with await offload(create, path) as file:
                async for part in request.stream():
                    size += len(part)
                    if size > MAX_IMPORT_BYTES:
                        raise TooLarge(f"an import may have at most {MAX_IMPORT_BYTES} bytes; split it")
                    await offload(file.write, part)
            yield path
        finally:
            await offload(lambda: shutil.rmtree(folder, ignore_errors=True))
