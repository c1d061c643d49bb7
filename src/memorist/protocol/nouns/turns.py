"""Serves sessions of remote clients. Adding a turn, assembling a context and ending the session each take one
request."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any, Literal

import msgspec

from ...engine.derive.folding import Folding
from ...engine.sessions.resumed import ResumedSession
from ...engine.sessions.session import AsyncSession, Ended
from ...engine.threads.receipts import MessageReceipt
from ...errors import InvalidValue, NotFound
from ...messages.message import ATTACHED, Message, as_message
from ...records import Summary
from ...values import JsonObject
from ..server_nouns import Carried, SessionContext
from .caller import ServerNoun

MAX_TURN_MESSAGES = 500


def _as(converted: object) -> Any:
    """Return the argument unchanged.

    This is only a cast, because the request's decoder has already created budgets and policies from JSON.
    """
    return converted


class Turns(ServerNoun):
    """Stores session turns and builds their requests."""

    async def add(
        self,
        id: str,
        messages: list[str | JsonObject],
        session: str,
        number: int,
        keep: bool = True,
        key: str | None = None,
        carried: Carried | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> list[MessageReceipt]:
        """Append a turn to the thread, which is created if it does not exist. `number` counts the turns of the session.

        A new thread belongs to the `user` if there is one, otherwise to the `agent`, and otherwise to everyone
        (`global`). The call is idempotent, because session and number form its key. With `keep=false`, no facts or
        learnings are derived from it.
        """
        if not 0 < len(messages) <= MAX_TURN_MESSAGES:
            raise InvalidValue(f"a turn has 1 to {MAX_TURN_MESSAGES} messages")
        turn_messages = [as_message(message) for message in messages]
        if carried is not None:
            turn_messages = await self._carrying(turn_messages, carried)
        running = self._session(id, session, number, keep=keep, user=user, agent=agent)
        return await running.add(turn_messages, key=key)

    async def context(
        self,
        input: str | JsonObject | list[str | JsonObject] | None,
        id: str | None = None,
        system: str | JsonObject | list[str | JsonObject] | None = None,
        tools: list[JsonObject] | None = None,
        budget: int | str | JsonObject = 8000,
        policy: JsonObject | None = None,
        recall: bool | str | list[str | JsonObject] | JsonObject | None = True,
        scratchpad: Any = None,
        layout: Literal["standard", "cached"] = "cached",
        compact_at: float = 0.9,
        compact_to: float = 0.5,
        stash: int | None = None,
        pinned_tools: list[str] | None = None,
        earlier_tools: list[str] | None = None,
        profile: bool = True,
    ) -> SessionContext:
        """Assemble the request for the next input. A thread that has outgrown its room is summarised (folded) first.

        Without an `id`, this is the first request of a session whose thread has not been written yet.
        """
        running = AsyncSession(
            self._core, id, budget=_as(budget), policy=_as(policy), layout=layout, compact_at=compact_at,
            compact_to=compact_to, stash=stash, isolated=not profile,
        )  # fmt: skip
        running.earlier_tools = earlier_tools or []
        request = await running.context(
            input, system=system, tools=tools, pinned_tools=pinned_tools or (), recall=_as(recall),
            scratchpad=scratchpad,
        )  # fmt: skip
        attached = request.attach(Message(role="user", content="")).metadata.get(ATTACHED)
        return SessionContext(request, attached, "" if attached is None else await self._proof(attached))

    async def fold(self, id: str, room_tokens: int, compact_at: float = 0.8, compact_to: float = 0.5) -> Summary | None:
        """Summarise (fold) a thread's oldest messages once history uses more than `compact_at` of the room."""
        await self._exists(id)
        if room_tokens < 1 or not 0 < compact_to <= compact_at <= 1:
            raise InvalidValue("room_tokens must be 1 or more, and 0 < compact_to <= compact_at <= 1")
        return await Folding(self._core).fold(
            id, room_tokens=room_tokens, compact_at=compact_at, compact_to=compact_to, model=self._core.shared.model
        )

    async def end(self, id: str, session: str, turns: int = 0, persisted: int = 0) -> Ended:
        """End a session: archive it as a summary and extract facts and learnings."""
        if not 0 <= persisted <= turns:
            raise InvalidValue("persisted must be from 0 to the number of turns")
        running = self._session(id, session, turns + 1, persisted=persisted)
        if await self._memory.threads.get(id) is None:
            # The thread was forgotten during the session. As in a local session, there is nothing left to archive.
            return Ended(id, turns, None, 0)
        return await running.end()

    async def again(self, call: str, **options: Any) -> Any:
        """Return the answer to a request whose idempotency key was used before."""
        if call == "add":
            return await self.add(**options)
        if call == "end":
            return Ended(options["id"], options.get("turns", 0), None, 0)
        return await getattr(self, call)(**options)

    async def _exists(self, id: str) -> None:
        if await self._memory.threads.get(id) is None:
            raise NotFound("there is no such thread")

    def _session(
        self, thread: str, session: str, number: int, *, persisted: int = 0, keep: bool = True,
        user: str | None = None, agent: str | None = None,
    ) -> AsyncSession:  # fmt: skip
        """Return a session at a given turn, under the id that the client gave it."""
        if number < 1:
            raise InvalidValue("turns are numbered from 1")
        return ResumedSession(
            self._core, thread, id=session, turns=number - 1, persisted=persisted, keep=keep, user=user, agent=agent
        )

    async def _carrying(self, messages: list[Message], carried: Carried) -> list[Message]:
        """Verify with the HMAC that this server created the recalled memory, and return the messages with it stored in
        one.
        """
        if not 0 <= carried.place < len(messages) or not hmac.compare_digest(
            carried.proof, await self._proof(carried.kept)
        ):
            raise InvalidValue("carried must be sent back unchanged, as the context of the session returned it")
        message_ = messages[carried.place]
        carrier = msgspec.structs.replace(message_, metadata={**message_.metadata, ATTACHED: carried.kept})
        return [carrier if position == carried.place else message for position, message in enumerate(messages)]

    async def _proof(self, memory: object) -> str:
        """Return an HMAC of recalled memory, bound to the org and user that received it."""
        scope = self._core.scope
        signed = msgspec.json.encode([scope.org, scope.user, memory])
        secret = await self._server.keys.secret()
        return hmac.new(secret, signed, hashlib.sha256).hexdigest()
