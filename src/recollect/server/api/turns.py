"""Sessions that a client runs: each turn, context and end is one request."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal

import msgspec

from ...context.context import Context
from ...engine.folding import Folding
from ...engine.receipts import MessageReceipt
from ...engine.session import AsyncSession, Ended
from ...errors import InvalidValue, NotFound
from ...messages import ATTACHED, Message, as_message
from ...records import Summary
from .asked import ServerNoun

MAX_TURN = 500


def _as(converted: Any) -> Any:
    """Budgets and policies, which reading the request has made of their data."""
    return converted


class Carried(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was recalled for the user's message of a turn, as the context of the session gave it, with its proof."""

    place: int
    """Which message of the turn."""
    kept: dict[str, Any]
    proof: str


class SessionContext(msgspec.Struct, frozen=True):
    """A request, and what the user's message carries of it when the turn is added."""

    context: Context
    kept: dict[str, Any] | None
    proof: str


class Turns(ServerNoun):
    """Turns of sessions over threads."""

    async def add(
        self,
        id: str,
        messages: list[str | dict[str, Any]],
        session: str,
        number: int,
        keep: bool = True,
        key: str | None = None,
        carried: Carried | None = None,
    ) -> list[MessageReceipt]:
        """Append a turn, and show it to working memory; `number` counts the turns of the session.

        Sending one again is harmless: the session and the number are its key. `keep=false` keeps it out of what facts
        and learnings are taken from.
        """
        if not 0 < len(messages) <= MAX_TURN:
            raise InvalidValue(f"a turn has 1 to {MAX_TURN} messages")
        made = [as_message(message) for message in messages]
        if carried is not None:
            made = await self._carrying(made, carried)
        running = self._session(id, session, number)
        running._should_persist = lambda turn: keep
        return await running.add(made, key=key)

    async def context(
        self,
        id: str,
        input: str | dict[str, Any] | list[str | dict[str, Any]] | None,
        system: str | dict[str, Any] | list[str | dict[str, Any]] | None = None,
        tools: list[dict[str, Any]] | None = None,
        budget: int | str | dict[str, Any] = 8000,
        policy: dict[str, Any] | None = None,
        recall: bool | str | list[str | dict[str, Any]] | dict[str, Any] | None = True,
        scratchpad: Any = None,
        layout: Literal["standard", "cached"] = "cached",
        compact_at: float = 0.8,
        compact_to: float = 0.5,
    ) -> SessionContext:
        """The request for the next input of a session, the thread folded first where it has outgrown its room."""
        running = AsyncSession(
            self._core, id, budget=_as(budget), policy=_as(policy), layout=layout, compact_at=compact_at,
            compact_to=compact_to,
        )  # fmt: skip
        made = await running.context(input, system=system, tools=tools, recall=_as(recall), scratchpad=scratchpad)
        kept = made.attach(Message(role="user", content="")).metadata.get(ATTACHED)
        return SessionContext(made, kept, "" if kept is None else await self._proof(kept))

    async def fold(self, id: str, room_tokens: int, compact_at: float = 0.8, compact_to: float = 0.5) -> Summary | None:
        """Fold a thread's oldest messages into a summary where they take more than their share of the room."""
        await self._exists(id)
        if room_tokens < 1 or not 0 < compact_to <= compact_at <= 1:
            raise InvalidValue("room_tokens is 1 or more, and 0 < compact_to <= compact_at <= 1")
        return await Folding(self._core).fold(
            id, room_tokens=room_tokens, compact_at=compact_at, compact_to=compact_to, model=self._core.shared.model
        )

    async def end(self, id: str, session: str, turns: int = 0, persisted: int = 0) -> Ended:
        """Archive a session as a summary, count its turns, and derive what was learned."""
        running = self._session(id, session, turns + 1)
        if not 0 <= persisted <= turns:
            raise InvalidValue("persisted is from 0 to the number of turns")
        running._persisted = persisted
        await running.start()
        return await running.end()

    async def again(self, call: str, **options: Any) -> Any:
        """The answer to a request that was done before."""
        if call == "add":
            return await self.add(**options)
        if call == "end":
            return Ended(options["id"], options.get("turns", 0), None, 0)
        return await getattr(self, call)(**options)

    async def _exists(self, id: str) -> None:
        if await self._memory.threads.get(id) is None:
            raise NotFound("there is no such thread")

    def _session(self, thread: str, session: str, number: int) -> AsyncSession:
        if number < 1:
            raise InvalidValue("turns are numbered from 1")
        running = AsyncSession(self._core, thread)
        running.id, running._turns = session, number - 1
        return running

    async def _carrying(self, messages: list[Message], carried: Carried) -> list[Message]:
        """The messages with what the user's carries; only what this server gave out itself is taken."""
        if not 0 <= carried.place < len(messages) or not hmac.compare_digest(
            carried.proof, await self._proof(carried.kept)
        ):
            raise InvalidValue("what a message carries must be as the context of the session gave it")
        found = messages[carried.place]
        kept = msgspec.structs.replace(found, metadata={**found.metadata, ATTACHED: carried.kept})
        return [kept if place == carried.place else message for place, message in enumerate(messages)]

    async def _proof(self, kept: Any) -> str:
        """What shows that this server gave something out, to this org and user."""
        scope = self._core.scope
        said = msgspec.json.encode([scope.org, scope.user, kept])
        secret = await self._server.keys.secret()
        return hmac.new(secret, said, hashlib.sha256).hexdigest()
