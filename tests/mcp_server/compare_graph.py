"""Compares our graph tools with `@modelcontextprotocol/server-memory`, on random sequences of calls.

python -m tests.mcp_server.compare_graph 1000           # our answers and theirs, call by call
python -m tests.mcp_server.compare_graph 40 --record    # writes their answers for the suite
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import warnings
from pathlib import Path

from mcp import Client, StdioServerParameters

from memorist import AsyncMemory
from tests.mcp_server.graph_calls import START, answers, differences, sequence
from tests.mcp_server.node import environment, installed, node
from tests.mcp_server.running import PLAIN, connected

RECORDED = Path(__file__).parent / "server_memory.json"


def theirs(folder: str) -> StdioServerParameters:
    """Their server, over a file of its own."""
    program = str(installed() / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js")
    env = {**environment(), "MEMORY_FILE_PATH": str(Path(folder) / "memory.jsonl")}
    return StdioServerParameters(command=node(), args=[program], env=env)


async def record(count: int) -> None:
    """Write their tools, and their answers to the first sequences, for tests that have no Node."""
    with tempfile.TemporaryDirectory() as folder:
        async with Client(theirs(folder)) as other:
            tools = (await other.list_tools()).tools
            listed = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]
            recorded = []
            for seed in range(count):
                await answers(other, START)
                recorded.append(await answers(other, sequence(seed)))
    RECORDED.write_text(json.dumps({"tools": listed, "answers": recorded}, indent=None, separators=(",", ":")), "utf-8")


async def compare(count: int) -> int:
    """How many calls were answered alike; ends at the first that was not."""
    calls = 0
    with tempfile.TemporaryDirectory() as folder:
        memory = AsyncMemory(str(Path(folder) / "memory.db"), actor="assistant", **PLAIN)
        async with connected(memory, "graph") as own_client, Client(theirs(folder)) as other:
            for seed in range(count):
                await answers(own_client, START)
                await answers(other, START)
                calls_made = sequence(seed)
                wrong = list(
                    differences(calls_made, await answers(own_client, calls_made), await answers(other, calls_made))
                )
                if wrong:
                    raise SystemExit(f"sequence {seed}\n" + "\n".join(wrong[:3]))
                calls += len(calls_made)
    return calls


def main() -> None:
    warnings.simplefilter("ignore")
    count = int(sys.argv[1])
    if "--record" in sys.argv:
        asyncio.run(record(count))
    else:
        print(f"{count} sequences, {asyncio.run(compare(count))} calls: all answered alike")


if __name__ == "__main__":
    main()
