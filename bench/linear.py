"""Does time grow with the length of what a user can send? 100 KB of any text through every path, in CPU milliseconds.

python bench/linear.py [--characters 100000]

The bound is 50 ms for 100 KB on a quiet machine; `growth` is the time for 100 KB over that for 25 KB (4 is linear).
"""

from __future__ import annotations

import argparse
import base64
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from time import process_time
from typing import Any

from memorist import compress
from memorist.context import fence
from memorist.context.tokens import open_counter
from memorist.embed.wordllama import WordLlamaEmbedder
from memorist.engine.documents.chunking import chunk
from memorist.extract import extract
from memorist.recall.analyze import tokens
from memorist.recall.query import analyse

LIMIT_MS = 50
AT = datetime(2026, 11, 16, tzinfo=UTC)
RUNS = [
    ".", "a", "a. ", "\n#", "# ", "|a|b|\n", "Mr. ", "3 March ", "1.", "(", "<", "'", "=\n", "- ", "\n\n", "日本", "é",
    "QUJD", "I am ", "my name is ", "http://a.b/", "a@b.c ", "12:30 ", "last Tuesday ", "```\n", "\"x ", "?", " ",
]  # fmt: skip
_embedder = WordLlamaEmbedder()
PATHS: dict[str, Callable[[str], Any]] = {
    "count": lambda text: open_counter()._exact(text),
    "chunk": lambda text: chunk(text, lambda piece: len(piece) // 4),
    "terms": tokens,
    "question": analyse,
    "embed": lambda text: _embedder.embed([text]),
    "extract": lambda text: extract(text, at=AT),
    "fence": fence.fenced_memory,
    "text()": lambda text: compress([text], budget=1_000_000).text(),
}


def corpus(size: int) -> dict[str, str]:
    """Runs of one thing, and noise: the inputs that make naive readers slow."""
    rng = random.Random(7)
    noise = "".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x3040, 0x9FFF)])) for _ in range(size))
    words = " ".join("".join(rng.choices("abcdefghijklmno", k=6)) for _ in range(size // 7))
    repeated = {repr(run): (run * (size // len(run) + 1))[:size] for run in RUNS}
    return {
        **repeated,
        "noise": noise,
        "random words": words,
        "base64": base64.b64encode(rng.randbytes(size)).decode()[:size],
    }


def milliseconds(work: Callable[[str], Any], text: str) -> float:
    """The better of two runs, so that a first import or a cold cache is not counted."""
    times = []
    for _ in range(2):
        start = process_time()
        work(text)
        times.append(1000 * (process_time() - start))
    return min(times)


def main() -> int:
    """Print the worst text of each path; 1 where one is over the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--characters", type=int, default=100_000)
    size = parser.parse_args().characters
    short, long = corpus(size // 4), corpus(size)
    over = 0
    for path, work in PATHS.items():
        work("warm up 3 March")
        figures = [(milliseconds(work, text), name, text) for name, text in long.items()]
        worst, name, _ = max(figures)
        growth = worst / max(0.01, milliseconds(work, short[name]))
        slow = [name for took, name, _ in figures if took > LIMIT_MS]
        over += len(slow)
        listed = ", ".join(slow) or "-"
        print(f"{path:10} worst {worst:8.1f} ms on {name:16} growth {growth:5.1f}   over {LIMIT_MS} ms: {listed}")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main())
