"""The tests of the OpenAI Agents SDK: SQLiteSession becomes our session, one memory for each database path."""

from __future__ import annotations

from typing import Any

import agents
import agents.memory
from counted import open_memory

from memorist import Memory
from memorist.adapters.openai_agents import MemoristSession

_paths: dict[str, Memory] = {}


class SQLiteSession(MemoristSession):
    """Ours, made with the arguments of theirs."""

    def __init__(
        self,
        session_id: str,
        db_path: Any = ":memory:",
        sessions_table: str = "agent_sessions",
        messages_table: str = "agent_messages",
        session_settings: Any = None,
    ) -> None:
        memory = _paths.get(str(db_path))
        if memory is None or memory._core.shared.closed or str(db_path) == ":memory:":
            memory = _paths[str(db_path)] = open_memory()
        super().__init__(session_id, memory, session_settings=session_settings)


agents.SQLiteSession = SQLiteSession  # type: ignore[misc, assignment]
agents.memory.SQLiteSession = SQLiteSession  # type: ignore[misc, assignment]
