"""Forgets in two requests. The first counts the items to delete and returns a code, and the second confirms the
deletion."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from ...engine.records import Records
from ...errors import UsageError
from ...values import JsonObject
from ..keys import KEYS_ORG
from ..server_nouns import Forgetting
from .caller import ServerNoun

CODE_SECONDS = 5 * 60


class Erasing(ServerNoun):
    """Forgets after a confirmation."""

    async def forget(
        self,
        user: str | None = None,
        thread: str | None = None,
        message: str | None = None,
        fact: str | None = None,
        source: str | None = None,
        physical: bool = False,
        shred: bool = False,
        code: str | None = None,
    ) -> Forgetting:
        """Forget one item and everything derived from it. Without a code, items are only counted, and a code is
        returned.

        The code can be used once within five minutes, for this key and this target. `physical` also removes the bytes
        from the store's files, which needs the operator role. `shred` also destroys the key of an encrypted user.
        """
        if physical:
            self._key.check("operator")
        target: JsonObject = {"user": user, "thread": thread, "message": message, "fact": fact, "source": source}
        if code is None:
            counted = await self._memory.forget(**target, shred=shred, preview=True)
            return Forgetting(erasure=counted, code=await self._new_code(target), done=False)
        await self._take_code(code, target)
        return Forgetting(erasure=await self._memory.forget(**target, physical=physical, shred=shred), done=True)

    async def again(self, call: str, code: str | None = None, **target: Any) -> Forgetting:
        """Answer a request whose idempotency key was used before, by running `forget` again to completion."""
        return Forgetting(erasure=await self._memory.forget(**target), done=True)

    async def _new_code(self, target: JsonObject) -> str:
        code = secrets.token_urlsafe(16)
        await self._codes.put("global", ("forget", _digest(code)), self._bound(target), ttl=CODE_SECONDS)
        return code

    async def _take_code(self, code: str, target: JsonObject) -> None:
        state_key = ("forget", _digest(code))
        row = await self._codes.get("global", state_key)
        # Of two requests with the same code, only one deletes the row; `delete` returns False to the other.
        if row is None or row.data != self._bound(target) or not await self._codes.delete("global", state_key):
            raise UsageError("this code is not for this key and target, was used, or has expired; ask for a new one")

    @property
    def _codes(self) -> Records:
        return self._server.memory.scope(org=KEYS_ORG).records

    def _bound(self, target: JsonObject) -> str:
        """Return a digest of the key, scope and target for which a code is valid."""
        scope = self._core.scope
        return _digest(repr((self._key.id, scope.org, scope.user, sorted(target.items()))))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
