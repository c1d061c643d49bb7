"""Runs a session over a thread on a server. Hooks run on the client; adding a turn, assembling a context and ending the
session each take one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..engine.sessions.assembling import Request
from ..engine.sessions.session import AsyncSession, Ended, Turn
from ..engine.threads.receipts import MessageReceipt
from ..messages.message import Message
from ..values import JsonObject

if TYPE_CHECKING:
    from ..context.context import Context
    from .core import RemoteCore


class RemoteSession(AsyncSession):
    """Represents one run of a conversation over a thread on a server."""

    _carried: tuple[str, JsonObject, str] | None = None
    """This is the input, the recalled memory and the HMAC of the last context, to be sent with the turn that contains
    this input."""

    async def _turn_messages(self, messages: list[Message]) -> tuple[Message, ...]:
        # The server adds the recalled items and the sources of child results.
        return tuple(messages)

    async def _append(self, turn: Turn, keep: bool, key: str | None) -> list[MessageReceipt]:
        """Append a turn, in one request."""
        receipts: list[MessageReceipt] = await self._remote.call(
            "turns.add", id=self.thread, messages=list(turn.messages), session=self.id, number=turn.number, keep=keep,
            key=key, carried=self._carrying(turn), user=self._user, agent=self._agent,
        )  # fmt: skip
        return receipts

    async def _assemble(self, request: Request) -> Context:
        """Assemble a context, in one request to the server."""
        options = {name: getattr(request, name) for name in Request.__struct_fields__ if name != "thread"}
        options |= {"pinned_tools": list(request.pinned_tools), "earlier_tools": list(request.earlier_tools)}
        built = await self._remote.call(
            "turns.context", id=None if self._is_stored is False else self.thread, **options,
            compact_at=self._compact[0], compact_to=self._compact[1],
        )  # fmt: skip
        input = request.input
        self._carried = (input, built.kept, built.proof) if isinstance(input, str) and built.kept else None
        context: Context = built.context
        return context

    async def _conclude(self) -> Ended:
        ended: Ended = await self._remote.call(
            "turns.end", id=self.thread, session=self.id, turns=self._turns, persisted=self._persisted
        )
        return ended

    @property
    def _remote(self) -> RemoteCore:
        return cast("RemoteCore", self._core)

    def _carrying(self, turn: Turn) -> JsonObject | None:
        if self._carried is None:
            return None
        asked, attached, proof = self._carried
        for position, message in enumerate(turn.messages):
            if message.role == "user" and message.text == asked:
                self._carried = None
                return {"place": position, "kept": attached, "proof": proof}
        return None
