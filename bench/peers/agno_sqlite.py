"""agno: runs of a session in its SqliteDb, a message each; user memories for facts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from agno.db.base import SessionType
from agno.db.schemas import UserMemory
from agno.db.sqlite import SqliteDb
from agno.models.message import Message
from agno.run.agent import RunOutput
from agno.run.base import RunStatus
from agno.session import AgentSession
from measure import main


class Runs:
    """One session in a file."""

    def __init__(self, folder: str) -> None:
        self.db = SqliteDb(db_file=f"{folder}/agno.db")
        self.numbers = itertools.count()
        if self.db.get_session("t", SessionType.AGENT) is None:
            self.db.upsert_session(AgentSession(session_id="t", agent_id="a", user_id="u"))

    async def append(self, text: str) -> None:
        run = RunOutput(
            agent_id="a",
            session_id="t",
            user_id="u",
            content=text,
            messages=[Message(role="user", content=text)],
            status=RunStatus.completed,
        )
        run.run_id = f"{text[:60]} {next(self.numbers)}"
        self.db.upsert_run(run, "t", "u")

    async def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            await self.append(text)

    async def last(self, count: int) -> int:
        session: Any = self.db.get_session("t", SessionType.AGENT, runs_limit=count)
        return len(session.get_messages(limit=count))

    async def put(self, space: str, key: str, value: Any) -> None:
        self.db.upsert_user_memory(UserMemory(memory=str(value), memory_id=f"{space}/{key}", user_id=space))

    async def get(self, space: str, key: str) -> Any:
        return self.db.get_user_memory(f"{space}/{key}", user_id=space)

    async def list(self, space: str) -> int:
        return len(self.db.get_user_memories(user_id=space))

    async def close(self) -> None:
        self.db.close()


if __name__ == "__main__":
    main(Runs)
