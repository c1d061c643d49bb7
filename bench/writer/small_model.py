"""The memory writer with a real small model behind a real server: does anything crash, is any stored row invalid?

    python -m bench.writer.small_model [--model qwen2.5-coder-0.5b] [--url http://127.0.0.1:8091/v1] [--messages 500]
                                       [--folder build/test-model] [--minutes 0]

Reads the real conversations of `tests/data/writer` with the model that `scripts/serve-model` serves. The memory is a
file in the folder, and a second run continues where the first stopped; `--minutes` stops it after that time. It ends
with an error if a call crashed, a job was given up, or a stored memory is invalid.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from memorist import Memory
from memorist.engine.memories import Remembered

from .segments import as_turn, owner_of

SEGMENTS = Path(__file__).parents[2] / "tests" / "data" / "writer"
POLL_SECONDS = 1.0
MAX_TEXT_CHARACTERS = 400


def segment_messages(path: Path) -> list[dict[str, Any]]:
    """The turns of a recorded conversation as messages."""
    turns = json.loads(path.read_text("utf-8"))["turns"]
    owner = owner_of(turns)
    messages = []
    for turn in (as_turn(item, owner) for item in turns):
        name = {} if turn.speaker in ("user", "assistant") else {"name": turn.speaker.replace(" ", "_")}
        messages.append({"role": turn.role, "content": turn.text, **name})
    return messages


def read_segment(memory: Memory, path: Path, deadline: float) -> bool:
    """Append a segment unless it was before, and wait until the model has read it; whether there was time for it."""
    user = path.stem.lower()
    if memory.threads.get(path.stem) is None:
        memory.threads.append(path.stem, *segment_messages(path), create=f"user:{user}")
    while any(queue.waiting for queue in memory.jobs.backlog() if queue.queue in ("derive", "index")):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def find_faults(memory: Memory, path: Path) -> list[str]:
    """What is wrong with the memories of a segment."""
    texts = {message.id: message.text for message in memory.threads.messages(path.stem)}
    ada = memory.scope(user=path.stem.lower())
    faults = []
    for item in ada.memories.list():
        faults += [f"{item.id}: {fault}" for fault in item_faults(item, texts)]
        stored = ada.memories.get(item.id)
        if stored is None or stored.text != item.text:
            faults.append(f"{item.id}: another memory, or none, is stored under this id")
    return faults


def item_faults(item: Remembered, texts: dict[str, str]) -> list[str]:
    """What is wrong with a memory: an empty or overlong text, no source, a source that is no message of the thread."""
    faults = []
    if not item.text.strip() or len(item.text) > MAX_TEXT_CHARACTERS:
        faults.append(f"its text has {len(item.text)} characters")
    if not 0 < item.confidence <= 1:
        faults.append(f"its confidence is {item.confidence}")
    if not item.sources or any(source not in texts for source in item.sources):
        faults.append(f"its sources are {item.sources}")
    if item.valid_from and item.valid_until and item.valid_until < item.valid_from:
        faults.append("it ends before it begins")
    return faults


def main() -> int:
    """Read the conversations and print what came of it; 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.writer.small_model", description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--url", default="http://127.0.0.1:8091/v1")
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--folder", type=Path, default=Path("build/test-model"))
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after this time; 0 for no limit")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + (options.minutes * 60 or float("inf"))
    total, memories, faults = 0, 0, list[str]()
    with Memory(options.folder / f"{options.model}.db", model=f"openai:{options.model}@{options.url}") as memory:
        for path in sorted(SEGMENTS.glob("*.json")):
            if total >= options.messages:
                break
            started = time.monotonic()
            if not read_segment(memory, path, deadline):
                print("out of time; run this again to continue")
                break
            count = len(memory.scope(user=path.stem.lower()).memories.list())
            total, memories = total + len(segment_messages(path)), memories + count
            faults += find_faults(memory, path)
            seconds = time.monotonic() - started
            print(f"{path.stem}: {total} messages, {count} memories, {seconds:.0f} s", flush=True)
        dead = [f"{job.queue} {job.item}: {job.error}" for job in memory.jobs.dead()]
        reading, diagnosis = memory.stats().reading, memory.doctor(deep=True)
    print(f"{options.model}: {total} messages, {memories} memories, {reading}")
    for fault in [*faults, *dead, *diagnosis.problems]:
        print(f"FAULT {fault}")
    return 1 if faults or dead or diagnosis.problems else 0


if __name__ == "__main__":
    sys.exit(main())
