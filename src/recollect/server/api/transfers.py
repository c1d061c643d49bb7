"""An org as JSON lines, streamed out and in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ...engine.portable import Portable, Transfer
from ...errors import TooLarge
from .asked import ServerNoun

MAX_IMPORT = 4 * 1024 * 1024 * 1024


class Transfers(ServerNoun):
    """Export and import."""

    async def export(self) -> AsyncIterator[bytes]:
        """Every row of this org as JSON lines, sent as they are read; the last line says how many there were."""
        self._core.scope.whole_org("export and import")
        return Portable(self._core).rows()

    async def import_(self, request: Any) -> Transfer:
        """Load JSON lines that an export wrote; a damaged line is named, and then nothing is changed.

        They are kept in a file of the server's until all have come: the whole is checked before anything is written.
        """
        self._core.scope.whole_org("export and import")
        handle, name = tempfile.mkstemp(prefix="recollect-import-", suffix=".jsonl")
        path, offload = Path(name), self._core.runtime.offload
        try:
            with os.fdopen(handle, "wb") as file:
                size = 0
                async for part in request.stream():
                    size += len(part)
                    if size > MAX_IMPORT:
                        raise TooLarge(f"an import may have {MAX_IMPORT} bytes")
                    await offload(file.write, part)
            return await self._memory.import_(path)
        finally:
            await offload(lambda: path.unlink(missing_ok=True))
