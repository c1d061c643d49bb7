"""Contradicts statements, and computes how far back to date an aged memory."""

from __future__ import annotations

from datetime import datetime, timedelta

AGE = timedelta(days=3650)
OTHER_VALUE = "Ulaanbaatar"
"""The text that replaces a value in a contradicting statement."""


def contradict(text: str, at: datetime) -> str:
    """Return a text that contradicts another one. It replaces the longest value that the rules extract, or says that
    the text is wrong."""
    from ..extract.extractor import extract

    values = {str(item.value) for item in extract(text, at=at) if item.kind == "fact"}
    inside = sorted((value for value in values if value and value in text), key=len, reverse=True)
    return text.replace(inside[0], OTHER_VALUE) if inside else f"That is wrong: {text}"
