"""Benchmark conversations as stores: a file for each, kept between runs while what writes them is unchanged."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import memorist
from memorist import Memory
from memorist.checking.datasets import Conversation
from memorist.checking.stored import Hands, Store, aware, fresh, message_of

__all__ = ["Hands", "Store", "aware", "fresh", "message_of", "whole"]
SOURCE = Path(memorist.__file__).parent
WRITES = (
    "extract", "languages", "recall/analyze.py", "recall/features.py", "engine/derive", "records.py",
    "embed/wordllama.py",
)  # fmt: skip
"""What decides the contents of a store; a change in one of them makes the kept files worthless."""


@contextmanager
def whole(
    name: str, talk: Conversation, embedder: str | None = "default", folder: Path | None = None
) -> Iterator[Store]:
    """The store of a whole conversation, made once."""
    place = (folder or Path(tempfile.gettempdir()) / "memorist-bench") / _stamp(embedder)
    place.mkdir(parents=True, exist_ok=True)
    path, ids = place / f"{name}-{talk.id}.db", place / f"{name}-{talk.id}.json"
    clock, known = Hands(), ids.exists()
    if not known:
        path.unlink(missing_ok=True)
    turns = json.loads(ids.read_text()) if known else None
    with Memory(path, org="bench", embedder=embedder, clock=clock, worker=False, durability="normal") as memory:
        store = Store(memory, clock, turns)
        if not known:
            store.write(talk.turns)
            ids.write_text(json.dumps(store.turn_of))
        yield store


def _stamp(embedder: str | None) -> str:
    made = hashlib.blake2b(str(embedder).encode(), digest_size=6)
    for name in WRITES:
        given = SOURCE / name
        for file in sorted(given.rglob("*.[pt][yo]*")) if given.is_dir() else [given]:
            if file.suffix in (".py", ".toml"):
                made.update(file.read_bytes())
    return made.hexdigest()
