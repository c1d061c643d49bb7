"""Upkeep: what `doctor` asks, and removing deleted bytes from the server's files."""

from __future__ import annotations

from typing import Any

from .session import Session


async def scrub(session: Session) -> None:
    raise NotImplementedError


async def diagnose(session: Session, deep: bool) -> dict[str, Any]:
    raise NotImplementedError
