"""Counts the tokens of the recorded prompts and answers of the memory writer, and what they would cost.

    python -m bench.writer.tokens [INPUT_PRICE OUTPUT_PRICE CACHED_PRICE]

Prices are for a million tokens. The fixed part of a prompt, the same for every call, is what a provider's cache serves.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from memorist.context.tokens import open_counter
from memorist.extract.writer.request import rules

from .recordings import SEGMENTS
from .segments import read_segment


def main(read_price: float = 1.0, write_price: float = 5.0, cached_price: float = 0.1) -> None:
    counter = open_counter("o200k_base")
    calls = messages = read = written = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for segment in sorted(SEGMENTS.glob("*.json")):
            data = json.loads(segment.read_text("utf-8"))
            for number, answer in enumerate(data["answers"], start=1):
                (folder / f"{segment.stem}.{number}.json").write_text(json.dumps(answer), "utf-8")
                written += counter.count(json.dumps({"operations": answer["operations"]}))
            read_segment(segment, folder)
            calls += len(data["answers"])
            messages += sum(turn["speaker"].lower() != "assistant" for turn in data["turns"])
        read = sum(counter.count(path.read_text("utf-8")) for path in folder.glob("*.prompt.txt"))
    cached = counter.count(rules()) * calls
    scale = 1000 / messages
    cost = ((read - cached) * read_price + cached * cached_price + written * write_price) * scale / 1e6
    print(f"{calls} calls for {messages} messages of users")
    print(f"per 1,000: {calls * scale:.0f} calls, {read * scale:,.0f} tokens read, {written * scale:,.0f} written")
    print(f"the fixed part is {cached / read:.0%} of what is read; ${cost:.2f} per 1,000 messages if it is cached")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:4]))
