"""Blocking profile."""

from __future__ import annotations

from typing import Any

from ..engine import profile as engine
from ..engine.profile import UserProfile
from ..records import Fact
from ..runtime import run_blocking


class Profile:
    """Reads profiles and sets preferences."""

    def __init__(self, engine: engine.Profile) -> None:
        self._engine = engine

    def get(self, user: str | None = None, *, min_confidence: float = 0.0) -> UserProfile:
        return run_blocking(self._engine.get(user, min_confidence=min_confidence))

    def set_preference(self, user: str | None, key: str, value: Any) -> Fact:
        return run_blocking(self._engine.set_preference(user, key, value))
