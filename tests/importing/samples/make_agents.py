"""Sessions of the real OpenAI Agents SDK: plain SQLite, with branches, and through SQLAlchemy.

Beside each database a JSON file says what the sessions themselves give back, for the tests to compare with.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession, SQLAlchemySession
from sqlalchemy.ext.asyncio import create_async_engine

TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "I live in Berlin. My name is Ada — 東京 👩‍💻\n\twith a tab."},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "She asks for the weather."}]},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": '{"city": "Berlin"}'},
    {"type": "function_call_output", "call_id": "call_1", "output": "sunny, 21°"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It is sunny in Berlin.", "annotations": []}],
    },
    {"role": "user", "content": [{"type": "input_text", "text": "Thanks!"}]},
]


async def plain(folder: Path, expected: dict[str, Any]) -> None:
    path = folder / "agents.db"
    path.unlink(missing_ok=True)
    for number in (1, 2):
        session = SQLiteSession(f"session-{number}", path)
        await session.add_items(TURNS[: 6 // number])
        expected[f"session-{number}"] = await session.get_items()
        session.close()


async def branched(folder: Path, expected: dict[str, Any]) -> None:
    path = folder / "agents-branches.db"
    path.unlink(missing_ok=True)
    session = AdvancedSQLiteSession(session_id="trip", db_path=path, create_tables=True)
    await session.add_items(
        [{"role": "user", "content": "Where shall we go?"}, {"role": "assistant", "content": "Rome."}]
    )
    await session.add_items([{"role": "user", "content": "When?"}, {"role": "assistant", "content": "In May."}])
    branch = await session.create_branch_from_turn(2)
    await session.add_items([{"role": "user", "content": "How?"}, {"role": "assistant", "content": "By train."}])
    expected["trip"] = await session.get_items(branch_id="main")
    expected[f"trip/{branch}"] = await session.get_items(branch_id=branch)
    session.close()


async def through_sqlalchemy(folder: Path, expected: dict[str, Any]) -> None:
    path = folder / "agents-sqlalchemy.db"
    path.unlink(missing_ok=True)
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}")
    session = SQLAlchemySession("alchemy", engine=engine, create_tables=True)
    await session.add_items(TURNS)
    expected["alchemy"] = await session.get_items()
    await engine.dispose()


async def main(folder: Path) -> None:
    for make, name in ((plain, "agents"), (branched, "agents-branches"), (through_sqlalchemy, "agents-sqlalchemy")):
        expected: dict[str, Any] = {}
        await make(folder, expected)
        (folder / f"{name}.expected.json").write_text(
            json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8"
        )


asyncio.run(main(Path(sys.argv[1])))
