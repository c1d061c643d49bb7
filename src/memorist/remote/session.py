"""Runs a session over a thread on a server. Hooks run on the client; adding a turn, assembling a context and ending the
session each take one request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from ..engine.recalling import Spaces
from ..engine.sessions.assembling import Recall
from ..engine.sessions.session import AsyncSession, Ended, Turn
from ..engine.threads.receipts import MessageReceipt
from ..messages.message import Message
from ..values import Json, JsonObject

if TYPE_CHECKING:
    from ..context.context import Context
    from ..context.given import BudgetSpec, Item, Layout, Prompt, Tool
    from ..context.plan import Policy
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

    async def context(
        self,
        input: Prompt | None,
        *,
        system: Prompt | None = None,
        tools: Iterable[Tool] | None = None,
        pinned_tools: Sequence[str] = (),
        budget: BudgetSpec | None = None,
        policy: Policy | None = None,
        recall: Recall | Spaces | bool | Sequence[Item] = True,
        scratchpad: Json = None,
        layout: Layout | None = None,
    ) -> Context:
        """Assemble the context for the next input, in one request to the server."""
        self._check_open()
        built = await self._remote.call(
            "turns.context", id=None if self._is_stored is False else self.thread,
            input=input,
            system=self._system if system is None else system,
            tools=tools, pinned_tools=list(pinned_tools),
            earlier_tools=self.earlier_tools if (layout or self._layout) == "cached" else [],
            budget=self._budget if budget is None else budget, policy=policy or self._policy,
            recall=False if self._isolated and recall is True else recall, profile=not self._isolated,
            scratchpad=scratchpad, layout=layout or self._layout, stash=self._stash,
            compact_at=self._compact[0], compact_to=self._compact[1],
        )  # fmt: skip
        self._carried = (input, built.kept, built.proof) if isinstance(input, str) and built.kept else None
        return self._compared(built.context)

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
