"""How long `memorist.wrap` makes a call: the same call through a plain and a wrapped client, on a local server.

The server waits before it answers, as providers do. Between two calls nothing happens for a moment, in which the worker
indexes the turn before; with a pause of 0 the next call does it. Wall time includes the commit of the turn to disk; CPU
time is that of the calling thread.

python -m bench.wrap_overhead [calls [pause in seconds]]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import openai
from tests.models.wire_server import Reply, WireServer, openai_answer, serving

import memorist
from memorist import Memory

STATEMENTS = (
    "I am allergic to shellfish.", "I live in Lisbon.", "I work at Acme.", "I prefer short answers.",
    "My sister Mia plays the cello.", "We launch the shop in May.",
)  # fmt: skip
ANSWER_SECONDS = 0.2
QUESTIONS = ("Where should I eat tonight?", "When do we launch?", "What does my sister play?", "Where do I live?")


class Echo(WireServer):
    """Answers every request alike."""

    def reply(self, path: str) -> Reply:
        time.sleep(ANSWER_SECONDS)
        return Reply(openai_answer("Fine."))


def measure(client: Any, calls: int, pause: float = 0.0) -> tuple[list[float], list[float]]:
    """Milliseconds of wall and of CPU time of each call."""
    wall, cpu = [], []
    for number in range(calls):
        time.sleep(pause)
        question = f"{QUESTIONS[number % len(QUESTIONS)]} ({number})"
        started, used = time.perf_counter(), time.thread_time()
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        wall.append((time.perf_counter() - started) * 1000)
        cpu.append((time.thread_time() - used) * 1000)
    return wall, cpu


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    pause = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    with tempfile.TemporaryDirectory() as folder, Memory(str(Path(folder) / "m.db")) as memory, serving(Echo()) as wire:
        for text in STATEMENTS:
            memory.remember(text, user="ada")
        plain = openai.OpenAI(api_key="k", base_url=f"{wire.url}/v1")
        wrapped = memorist.wrap(plain, memory, user="ada")
        for client in (plain, wrapped):
            measure(client, 5)
        bare, with_memory = measure(plain, calls, pause), measure(wrapped, calls, pause)
    for name, before, after in zip(("wall", "CPU"), bare, with_memory, strict=True):
        first, second = statistics.median(before), statistics.median(after)
        print(f"{name:4}  plain {first:7.2f} ms  wrapped {second:7.2f} ms  overhead {second - first:6.2f} ms")
    print(f"medians of {calls} calls with a pause of {pause} s, SQLite on disk")


if __name__ == "__main__":
    main()
