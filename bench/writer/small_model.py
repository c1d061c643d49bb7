"""The memory writer with a real small model behind a real server: does anything crash, is any stored row invalid?

    python -m bench.writer.small_model [--model qwen2.5-coder-0.5b] [--url http://127.0.0.1:8091/v1] [--messages 500]
                                       [--answer-tokens 0] [--parallel 1] [--folder build/test-model]
                                       [--minutes 0]

Reads the real conversations of `tests/data/writer` with the model that `scripts/serve-model` serves. The memory is a
file in the folder, and a second run continues where the first stopped; `--minutes` stops it after that time.
`--answer-tokens` shortens what the model may answer, for a slow machine. It ends with an error if a call crashed, a job
was given up, or a stored memory is invalid. Messages that the model could not read, so that the rules read them, are
counted.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from memorist import Extraction, Memory
from memorist.engine.memories import Remembered
from memorist.models import Completion
from memorist.models.openai import open_openai
from memorist.models.remote import RemoteModel
from memorist.records import Derivation
from memorist.runtime import run_blocking

from .segments import as_turn, owner_of

SEGMENTS = Path(__file__).parents[2] / "tests" / "data" / "writer"
POLL_SECONDS = 1.0
MAX_TEXT_CHARACTERS = 400


class BriefModel:
    """A model whose answers have at most a number of tokens."""

    blocking = True

    def __init__(self, model: RemoteModel, answer_tokens: int) -> None:
        self._model, self._answer_tokens = model, answer_tokens
        self.name, self.timeout = model.name, model.timeout

    async def complete(self, messages: Any, *, max_tokens: int, **options: Any) -> Completion:
        """Return one answer."""
        max_tokens = min(max_tokens, self._answer_tokens or max_tokens)
        return await self._model.complete(messages, max_tokens=max_tokens, **options)

    async def close(self) -> None:
        """Close the model's client."""
        await self._model.close()


def segment_messages(path: Path) -> list[dict[str, Any]]:
    """The turns of a recorded conversation as messages."""
    turns = json.loads(path.read_text("utf-8"))["turns"]
    owner = owner_of(turns)
    messages = []
    for turn in (as_turn(item, owner) for item in turns):
        name = {} if turn.speaker in ("user", "assistant") else {"name": turn.speaker.replace(" ", "_")}
        messages.append({"role": turn.role, "content": turn.text, **name})
    return messages


def append_segment(memory: Memory, path: Path) -> None:
    """Append a segment unless it was before."""
    if memory.threads.get(path.stem) is None:
        memory.threads.append(path.stem, *segment_messages(path), create=f"user:{path.stem.lower()}")


def read_all(memory: Memory, deadline: float) -> None:
    """Run the jobs until none waits or the time is over; several of these run beside each other."""
    while any(queue.waiting for queue in memory.jobs.backlog()) and time.monotonic() < deadline:
        if not memory.jobs.drain(seconds=max(1.0, min(60.0, deadline - time.monotonic()))):
            time.sleep(POLL_SECONDS)


def is_read(memory: Memory, path: Path) -> bool:
    """Whether the model, or the rules in its place, read all of a segment."""
    derivation = run_blocking(memory._core.get(Derivation, path.stem))
    return derivation is not None and derivation.position >= len(segment_messages(path))


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


def refusal_reasons(memory: Memory, thread: str) -> Counter[str]:
    """Why items of the newest messages were refused, without what follows a colon."""
    derivation = run_blocking(memory._core.get(Derivation, thread))
    reasons = (reason for listed in (derivation.refused if derivation else {}).values() for reason in listed)
    return Counter(re.split(r"[:;]", reason)[0] for reason in reasons)


def main() -> int:
    """Read the conversations and print what came of it; 1 if something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.writer.small_model", description=__doc__)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b")
    parser.add_argument("--url", default="http://127.0.0.1:8091/v1")
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--answer-tokens", type=int, default=0, help="the longest answer; 0 for the writer's own limit")
    parser.add_argument("--parallel", type=int, default=1, help="calls at the same time; the server's SLOTS")
    parser.add_argument("--folder", type=Path, default=Path("build/test-model"))
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after this time; 0 for no limit")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + (options.minutes * 60 or float("inf"))
    total, memories, faults, reasons = 0, 0, list[str](), Counter[str]()
    model = BriefModel(open_openai(options.model, blocking=True, base_url=options.url), options.answer_tokens)
    paths, size = [], 0
    for path in sorted(SEGMENTS.glob("*.json")):
        if size < options.messages:
            paths.append(path)
            size += len(segment_messages(path))
    started = time.monotonic()
    with Memory(
        options.folder / f"{options.model}.db", model=model, extract=Extraction(brief=True), worker=False
    ) as memory:
        for path in paths:
            append_segment(memory, path)
        with ThreadPoolExecutor(options.parallel) as pool:
            for future in [pool.submit(read_all, memory, deadline) for _ in range(options.parallel)]:
                future.result()
        for path in (path for path in paths if is_read(memory, path)):
            count = len(memory.scope(user=path.stem.lower()).memories.list())
            total, memories = total + len(segment_messages(path)), memories + count
            faults += find_faults(memory, path)
            reasons += refusal_reasons(memory, path.stem)
            print(f"{path.stem}: {len(segment_messages(path))} messages, {count} memories", flush=True)
        if total < size:
            print("out of time; run this again to continue")
        dead = list(memory.jobs.dead())
        reading, diagnosis = memory.stats().reading, memory.doctor(deep=True)
    unread = sum(len(job.payload["seqs"]) for job in dead if job.queue == "reread")
    seconds = time.monotonic() - started
    print(f"{options.model}: {total} messages, {memories} memories, {seconds:.0f} s, {reading}")
    print(f"{unread} messages read by the rules, because the model gave no usable answer")
    print(f"refused: {dict(reasons.most_common())}")
    faults += [f"{job.queue} {job.item}: {job.error}" for job in dead if job.queue != "reread"]
    for fault in [*faults, *diagnosis.problems]:
        print(f"FAULT {fault}")
    return 1 if faults or diagnosis.problems else 0


if __name__ == "__main__":
    sys.exit(main())
