"""Importing: messages a second into SQLite, and the memory it takes.

    python bench/importing.py [--messages 1000000] [--dry-gigabytes 2] [--on FOLDER]

A file of messages in threads of twenty is imported by a process of its own, which tells every tenth of the way how
much memory it holds. Then a ChatGPT export of so many gigabytes is read and checked, and nothing written.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WORDS = "the quick brown fox jumps over a lazy dog and then we talk about invoices in Paris with Ada or Bob".split()
CHILD_CODE = """
import resource, sys, time
from memorist import Memory

path, source, dry = sys.argv[1], sys.argv[2], sys.argv[3] == "dry"
megabytes, began = [], {}

def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024 // 1024

def tick(done, total):
    began.setdefault(total is not None, time.perf_counter())
    if total is not None and done * 10 // total > len(megabytes):
        megabytes.append(resident_megabytes())

with Memory(path, worker=False, extract=None) as memory:
    start = time.perf_counter()
    report = memory.import_from(source, progress=tick, dry_run=dry)
    took, worked = time.perf_counter() - start, time.process_time()
reading = began.get(True, start + took) - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(report.found.get("messages", 0), report.added.get("messages", 0), took, reading, peak, worked, *megabytes)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--dry-gigabytes", type=float, default=2.0)
    parser.add_argument("--on", help="a folder to work in; a temporary one otherwise")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.on) as name:
        folder = Path(name)
        short = _import(folder, options.messages)
        if options.dry_gigabytes:
            _dry(folder, options.dry_gigabytes)
    return short


def _import(folder: Path, count: int) -> int:
    source = _lines(folder / "log.jsonl", count)
    _, added, took, reading, peak, worked, *tenths = _child(folder / "memory.db", source, "write")
    rate = added / took
    print(f"{added:,.0f} messages ({source.stat().st_size / 1e6:,.0f} MB) in {took:.1f} s: {rate:,.0f} a second")
    print(
        f"of this {reading:.1f} s to read and check all of it first; after the reading {added / (took - reading):,.0f}"
    )
    print(f"of a core it took {worked:.1f} s: {added / worked:,.0f} a second of its own")
    print(f"memory at each tenth, MB: {', '.join(f'{megabytes:.0f}' for megabytes in tenths)}; most {peak:.0f}")
    again = _child(folder / "memory.db", source, "write")
    print(f"imported again: {again[1]:,.0f} added in {again[2]:.1f} s")
    return 0 if rate >= 10_000 else 1


def _dry(folder: Path, gigabytes: float) -> None:
    source = _export(folder / "conversations.json", int(gigabytes * 1e9))
    count, _, took, _, peak, worked, *_ = _child(folder / "dry.db", source, "dry")
    size = source.stat().st_size / 1e9
    print(f"a ChatGPT export of {size:.2f} GB, {count:,.0f} messages: read and checked in {took:.0f} s")
    print(f"of a core it took {worked:.0f} s; most {peak:.0f} MB")


def _child(path: Path, source: Path, mode: str) -> list[float]:
    command = [sys.executable, "-c", CHILD_CODE, str(path), str(source), mode]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(figure) for figure in process.stdout.split()]


def _lines(path: Path, count: int) -> Path:
    dice = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = {
                "role": "assistant" if number % 2 else "user",
                "content": " ".join(dice.choices(WORDS, k=25)),
                "thread_id": f"talk-{number // 20}",
                "timestamp": 1_600_000_000 + number,
            }
            file.write(f"{json.dumps(row)}\n")
    return path


def _export(path: Path, size: int) -> Path:
    """A ChatGPT export of about so many bytes, in conversations of forty messages."""
    text = " ".join(random.Random(2).choices(WORDS, k=150))
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        number = 0
        while file.tell() < size:
            file.write("," if number else "")
            file.write(json.dumps(_conversation(number, text)))
            number += 1
        file.write("]")
    return path


def _conversation(number: int, text: str) -> dict[str, Any]:
    mapping = {}
    for at in range(40):
        content = {"content_type": "text", "parts": [f"{number} {at} {text}"]}
        author = {"role": "assistant" if at % 2 else "user"}
        message = {"id": str(at), "author": author, "create_time": 1_600_000_000 + at, "content": content}
        mapping[str(at)] = {"id": str(at), "message": message, "parent": str(at - 1) if at else None, "children": []}
    return {
        "title": "Talk",
        "conversation_id": f"c-{number}",
        "current_node": "39",
        "mapping": mapping,
        "create_time": 1,
    }


if __name__ == "__main__":
    began = time.perf_counter()
    status = main()
    print(f"({time.perf_counter() - began:.0f} s in all)")
    sys.exit(status)
