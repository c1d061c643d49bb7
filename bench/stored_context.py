"""A context of 8,000 tokens out of a stored thread, against a reverse scan over stored token counts.

python -m bench.stored_context [--most 1000000]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import apsw
import msgspec

import memorist
from memorist import Memory

from .figures import Figure, against, report
from .ground import THREAD, texts

BUDGET_TOKENS = 8_000
WALKED_FUNCTIONS = 250
"""The most functions that one context may walk."""


def floor_of(path: str) -> Any:
    """Newest messages with their stored counts until 8,000 tokens are full: what the bare driver takes."""
    cursor = apsw.Connection(path).cursor()
    sql = "SELECT role, content, tokens FROM messages WHERE org = 'default' AND thread = ? ORDER BY seq DESC"

    def read(_: int) -> list[Any]:
        messages, remaining = [], BUDGET_TOKENS
        for role, content, tokens in cursor.execute(sql, (THREAD,)):
            remaining -= tokens
            if remaining < 0:
                break
            messages.append({"role": role, "content": msgspec.json.decode(content)})
        return messages[::-1]

    return read


def walked(call: Callable[[], object]) -> int:
    """How many functions of the package one call walks, comprehensions and lambdas included."""
    root, codes = str(Path(memorist.__file__).parent), set[CodeType]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            codes.add(frame.f_code)

    call()  # what is imported and compiled once is not counted
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(codes)


def figures(folder: str, most: int) -> list[Figure]:
    path = os.path.join(folder, "context.db")
    out = []
    with Memory(path, durability="normal", worker=False) as memory:
        memory.threads.create("global", id=THREAD)
        contents, size = texts(10_000), 0
        for target in (10_000, most):
            while size < target:
                batch = [
                    {"role": ("user", "assistant")[n % 2], "content": contents[(size + n) % 10_000]}
                    for n in range(1000)
                ]
                memory.threads.append(THREAD, *batch)
                size += 1000
            ours, floor = against(
                lambda i: memory.context("What next?", thread=THREAD, budget=BUDGET_TOKENS, recall=False).messages(),
                floor_of(path),
                400,
                20,
            )
            if target == 10_000:
                for recall in (False, True):
                    count = walked(
                        lambda recall=recall: memory.context(
                            "What next?", thread=THREAD, budget=BUDGET_TOKENS, recall=recall
                        )
                    )
                    out.append(
                        Figure(
                            f"functions walked, recall={recall}",
                            str(count),
                            str(WALKED_FUNCTIONS),
                            count / WALKED_FUNCTIONS,
                            1.0,
                        )
                    )
            name = f"context of {BUDGET_TOKENS:,} tokens out of {target:,} stored messages, rendered"
            out.append(Figure(name, f"{ours:.0f} µs", f"{floor:.0f} µs", ours / floor, 4.0))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(report("Context out of a stored thread, SQLite", figures(folder, options.most)))


if __name__ == "__main__":
    main()
