"""Sessions of the real OpenAI Agents SDK: plain SQLite, with branches, and through SQLAlchemy.

    make_agents.py FOLDER [POSTGRES_URL]

Beside each database a JSON file says what the sessions themselves give back, for the tests to compare with. With a URL,
only the sessions on that server are made.
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
    await alchemy(f"sqlite+aiosqlite:///{path}", expected, "alchemy")


async def alchemy(url: str, expected: dict[str, Any], *names: str) -> None:
    engine = create_async_engine(url)
    for name in names:
        session = SQLAlchemySession(name, engine=engine, create_tables=True)
        await session.add_items(TURNS)
        expected[name] = await session.get_items()
    await engine.dispose()


async def on_postgres(folder: Path, expected: dict[str, Any]) -> None:
    await alchemy(sys.argv[2].replace("postgresql:", "postgresql+psycopg:"), expected, "alchemy", "a second one")


async def main(folder: Path) -> None:
    files = ((plain, "agents"), (branched, "agents-branches"), (through_sqlalchemy, "agents-sqlalchemy"))
    for make, name in files if len(sys.argv) == 2 else ((on_postgres, "agents-postgres"),):
        expected: dict[str, Any] = {}
        await make(folder, expected)
        (folder / f"{name}.expected.json").write_text(
            json.dumps(expected, ensure_ascii=False, indent=1) + "\n", "utf-8"
        )


asyncio.run(main(Path(sys.argv[1])))
