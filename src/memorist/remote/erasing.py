"""Forgets over HTTP. The first request counts the items to delete and returns a code, and the second confirms the
deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..engine.forgetting.forget import Erasure
from ..engine.memories import Remembered, record_id
from ..errors import UsageError
from ..records import Fact

if TYPE_CHECKING:
    from .core import RemoteCore


class RemoteForgetting:
    """Forgets with two requests, a preview and a confirmation."""

    def __init__(self, core: RemoteCore) -> None:
        self._core = core

    async def forget(
        self,
        *,
        fact: object = None,
        physical: bool = False,
        shred: bool = False,
        preview: bool = False,
        **target: object,
    ) -> Erasure:
        """Remove one item and everything derived from it."""
        if self._core.batch is not None:
            raise UsageError("forget cannot be part of a batch; call it on the memory itself")
        named = {**target, "fact": _reference(fact)}
        arguments = {name: value for name, value in named.items() if value is not None}
        # The code is bound to the target, so a confirmation applies to the same item as its preview.
        counted = await self._core.call("erasing.forget", **arguments, physical=physical, shred=shred)
        if preview:
            erasure: Erasure = counted.erasure
            return erasure
        done = await self._core.call("erasing.forget", **arguments, physical=physical, shred=shred, code=counted.code)
        gone: Erasure = done.erasure
        return gone


def _reference(fact: object) -> object:
    if isinstance(fact, Remembered):
        return record_id(fact)
    if isinstance(fact, Fact):
        return f"{fact.ns}/{fact.key}"
    return "/".join(map(str, fact)) if isinstance(fact, tuple) else fact
