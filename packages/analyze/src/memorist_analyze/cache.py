"""On-disk cache between runs: explanations of the last analysis of a folder, and a model's verdicts.

The cache lies in one folder (`MEMORIST_CACHE`, else the user's cache folder). Deleting it is safe: its contents are
computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from memorist_analyze.discover import Checkout


def cache_folder() -> Path:
    """The folder of the cache; it may not exist yet."""
    given = os.environ.get("MEMORIST_CACHE") or os.environ.get("XDG_CACHE_HOME")
    base = Path(given) if given else Path.home() / ".cache"
    return base / "memorist" / "analyze"


def fingerprint(checkout: Checkout) -> str:
    """A hash of the paths, sizes and modification times of the sources and of the analyser's own code.

    It is the cache key of an analysis: editing, adding or removing a source file, or upgrading memorist, changes it.
    """
    digest = hashlib.sha256(_own_code())
    for source in checkout.sources:
        stat = (checkout.root / source.path).stat()
        digest.update(f"{source.path}|{stat.st_size}|{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _own_code() -> bytes:
    here = Path(__file__).parent
    return b"".join(hashlib.sha256(p.read_bytes()).digest() for p in sorted(here.glob("*.py")))


class JsonCache:
    """A cache of small JSON documents by key; an unreadable document counts as a miss."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, kind: str, key: str) -> Any:
        """The cached document, or None on a miss."""
        try:
            return json.loads(self._path(kind, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, kind: str, key: str, value: Any) -> None:
        """Store a document atomically (write and rename); a folder that cannot be written to is ignored."""
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
