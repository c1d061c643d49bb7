"""Google ADK: DatabaseSessionService on SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.adk.events import Event
from google.adk.sessions import DatabaseSessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types
from measure import main

NAMES: dict[str, Any] = {"app_name": "app", "user_id": "u", "session_id": "t"}


class Events:
    """One session in a file, held by its writer as an agent holds it."""

    def __init__(self, folder: str) -> None:
        self.service = DatabaseSessionService(db_url=f"sqlite+aiosqlite:///{folder}/adk.db")
        self.session: Any = None

    async def _open_session(self) -> Any:
        if self.session is None:
            self.session = await self.service.get_session(**NAMES, config=GetSessionConfig(num_recent_events=1))
        if self.session is None:
            self.session = await self.service.create_session(**NAMES)
        return self.session

    async def append(self, text: str) -> None:
        content = types.Content(role="user", parts=[types.Part(text=text)])
        await self.service.append_event(await self._open_session(), Event(author="user", content=content))

    async def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            await self.append(text)

    async def last(self, count: int) -> int:
        session: Any = await self.service.get_session(**NAMES, config=GetSessionConfig(num_recent_events=count))
        return len(session.events)

    async def close(self) -> None:
        await self.service.close()


if __name__ == "__main__":
    main(Events)
