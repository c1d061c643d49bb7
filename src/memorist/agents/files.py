"""Replaces other programs' files atomically."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically and keep its mode. A symbolic link stays a link."""
    # A temporary file in the same folder, because a rename is atomic only within one file system.
    own = path.resolve()
    mode = own.stat().st_mode & 0o777 if own.exists() else None
    temporary = own.with_name(f".{own.name}.memorist")
    temporary.write_bytes(content)
    if mode is not None:
        temporary.chmod(mode)
    os.replace(temporary, own)
