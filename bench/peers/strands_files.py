"""Strands: FileSessionManager, a file per message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from measure import main
from strands.session.file_session_manager import FileSessionManager
from strands.types.session import SessionAgent, SessionMessage


class Files:
    """One session in a folder; numbers go on from those that are there, as its agent does."""

    def __init__(self, folder: str) -> None:
        self.manager = FileSessionManager("t", storage_dir=f"{folder}/strands")
        if self.manager.read_agent("t", "a") is None:
            self.manager.create_agent("t", SessionAgent(agent_id="a", state={}, conversation_manager_state={}))
        self.next = len(self.manager.list_messages("t", "a"))

    async def append(self, text: str) -> None:
        message: Any = {"role": "user", "content": [{"text": text}]}
        self.manager.create_message("t", "a", SessionMessage(message, self.next))
        self.next += 1

    async def fill(self, texts: Sequence[str]) -> None:
        for text in texts:
            await self.append(text)

    async def last(self, count: int) -> int:
        # Its offset counts from the oldest: the newest are read by reading all.
        return len(self.manager.list_messages("t", "a")[-count:])

    async def close(self) -> None:
        """Nothing is held."""


if __name__ == "__main__":
    main(Files)
