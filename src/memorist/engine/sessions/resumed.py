"""Continues sessions by number. A client counts the turns, and each call creates the session again."""

from __future__ import annotations

from ..core import Core
from .session import AsyncSession, Turn


class ResumedSession(AsyncSession):
    """Represents a session at a given turn, under the id that the client gave it."""

    def __init__(
        self,
        core: Core,
        thread: str,
        *,
        id: str,
        turns: int,
        persisted: int = 0,
        keep: bool = True,
        user: str | None = None,
        agent: str | None = None,
    ) -> None:
        super().__init__(core, thread, user=user, agent=agent)
        # Session and number are the idempotency key of a turn, so a repeated request appends nothing twice.
        self.id, self._turns, self._persisted = id, turns, persisted
        self._keep = keep

    async def _is_kept(self, turn: Turn) -> bool:
        return self._keep
