"""Stores the most recent hook errors in a small file. A hook must never make its host fail, so `memorist doctor` shows
the errors instead."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..values import JsonObject

MAX_ERRORS = 50


def state_folder() -> Path:
    """Return the folder for installations and errors, which is `MEMORIST_STATE` or the user's state folder."""
    own = os.environ.get("MEMORIST_STATE")
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(own) if own else Path(base) / "memorist"


def record_error(agent: str, event: str, error: BaseException) -> None:
    """Record the type and message of an error, with the agent and the event."""
    path = state_folder() / "hook-errors.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"), "agent": agent, "event": event,
        "error": f"{type(error).__name__}: {error}"[:400],
    }  # fmt: skip
    # Two hooks that fail at once may lose one of the errors. A lock is not worth it: `doctor` only shows examples.
    lines = [*_lines(path)[-(MAX_ERRORS - 1) :], json.dumps(line)]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def last_errors() -> list[JsonObject]:
    """Return the recorded errors, oldest first."""
    return [json.loads(line) for line in _lines(state_folder() / "hook-errors.jsonl")]


def clear_errors() -> None:
    """Delete the recorded errors."""
    (state_folder() / "hook-errors.jsonl").unlink(missing_ok=True)


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.is_file() else []
