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
WRITING_SOURCES = (
    "extract", "languages", "recall/analyze.py", "recall/features.py", "engine/derive", "records.py",
    "embed/wordllama.py",
)  # fmt: skip
"""What decides the contents of a store; a change in one of them makes the kept files worthless."""


@contextmanager
def whole(
    name: str, talk: Conversation, embedder: str | None = "default", folder: Path | None = None
) -> Iterator[Store]:
    """The store of a whole conversation, made once."""
    cache_folder = (folder or Path(tempfile.gettempdir()) / "memorist-bench") / _stamp(embedder)
    cache_folder.mkdir(parents=True, exist_ok=True)
    path, ids = cache_folder / f"{name}-{talk.id}.db", cache_folder / f"{name}-{talk.id}.json"
    clock, is_cached = Hands(), ids.exists()
    if not is_cached:
        path.unlink(missing_ok=True)
    turns = json.loads(ids.read_text()) if is_cached else None
    with Memory(path, org="bench", embedder=embedder, clock=clock, worker=False, durability="normal") as memory:
        store = Store(memory, clock, turns)
        if not is_cached:
            store.write(talk.turns)
            ids.write_text(json.dumps(store.turn_of))
        yield store


def _stamp(embedder: str | None) -> str:
    digest = hashlib.blake2b(str(embedder).encode(), digest_size=6)
    for name in WRITING_SOURCES:
        source = SOURCE / name
        for file in sorted(source.rglob("*.[pt][yo]*")) if source.is_dir() else [source]:
            if file.suffix in (".py", ".toml"):
                digest.update(file.read_bytes())
    return digest.hexdigest()
