"""Keys and sessions that end while a request is being checked: this process accepts neither afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory
from memorist.protocol.keys import Unauthorized
from memorist.server.auth import Keys
from memorist.server.browser import Sessions, local_operator


class Interleaved:
    """Lets another request run before a delete, or between a read and the return of what it read."""

    def __init__(self, records: Any) -> None:
        self._records = records
        self.before: Any = None
        self.after: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    async def delete(self, *args: Any, **options: Any) -> bool:
        if self.before is not None:
            await self.before()
        return bool(await self._records.delete(*args, **options))

    async def get(self, *args: Any) -> Any:
        row, after = await self._records.get(*args), self.after
        self.after = None
        if after is not None:
            await after()
        return row


def _memory(path: Path) -> AsyncMemory:
    return AsyncMemory(path / "memory.db", all_orgs=True, worker=False)


@pytest.mark.parametrize("order", ["read while it is deleted", "deleted while it is read"])
def test_a_key_that_is_read_while_it_is_revoked_is_not_cached(tmp_path: Path, order: str) -> None:
    async def main() -> None:
        async with _memory(tmp_path) as memory:
            keys = Keys(memory)
            key = await keys.create()
            records: Any = Interleaved(keys._records)
            keys._records = records
            header = f"Bearer {key.key}"
            if order == "read while it is deleted":
                records.before = lambda: keys.check(header)
                await keys.revoke(key.id)
            else:
                records.after = lambda: keys.revoke(key.id)
                await keys.check(header)
            with pytest.raises(Unauthorized):
                await keys.check(header)

    asyncio.run(main())


def test_a_key_that_is_read_while_it_is_rotated_is_not_cached(tmp_path: Path) -> None:
    async def main() -> None:
        async with _memory(tmp_path) as memory:
            keys = Keys(memory)
            key = await keys.create()
            records: Any = Interleaved(keys._records)
            keys._records = records
            records.after = lambda: keys.rotate(key.id)
            await keys.check(f"Bearer {key.key}")
            with pytest.raises(Unauthorized):
                await keys.check(f"Bearer {key.key}")

    asyncio.run(main())


@pytest.mark.parametrize("order", ["read while it is deleted", "deleted while it is read"])
def test_a_session_that_is_read_while_it_ends_is_not_cached(tmp_path: Path, order: str) -> None:
    async def main() -> None:
        async with _memory(tmp_path) as memory:
            sessions = Sessions(memory, Keys(memory))
            secret = await sessions.redeem(await sessions.link(local_operator("default")))
            records: Any = Interleaved(sessions._records)
            sessions._records = records
            if order == "read while it is deleted":
                records.before = lambda: sessions.check(secret)
                await sessions.end(secret)
            else:
                records.after = lambda: sessions.end(secret)
                await sessions.check(secret)
            with pytest.raises(Unauthorized):
                await sessions.check(secret)

    asyncio.run(main())
