"""Caches a model's verdicts on disk between runs. The cache is in one folder (`MEMORIST_CACHE`, or the user's cache
folder). You can safely delete it, because its contents are recomputed when they are needed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any


def cache_folder() -> Path:
    """Return the folder of the cache, which may not exist yet."""
    override = os.environ.get("MEMORIST_CACHE") or os.environ.get("XDG_CACHE_HOME")
    base = Path(override) if override else Path.home() / ".cache"
    return base / "memorist" / "analyze"


class JsonCache:
    """Implements a cache of small JSON documents by key. An unreadable document counts as a miss."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, kind: str, key: str) -> Any:
        """Return the cached document, or None on a miss."""
        try:
            return json.loads(self._path(kind, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, kind: str, key: str, value: Any) -> None:
        """Store a document atomically (write and rename). If the folder is not writable, nothing is stored."""
        path = self._path(kind, key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}.tmp")
            draft.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
            draft.replace(path)
        except OSError:
            return

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / kind / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
