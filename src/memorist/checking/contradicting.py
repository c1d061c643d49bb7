"""The opposite of what was said, and how far back an aged memory lies."""

from __future__ import annotations

from datetime import datetime, timedelta

AGE = timedelta(days=3650)
OTHER_VALUE = "Ulaanbaatar"
"""What a contradicting statement says in place of a value."""


def contradict(text: str, at: datetime) -> str:
    """Return a text that says something else: the longest value that rules take from it is replaced, or it is called
    wrong.
    """
    from ..extract.extractor import extract

    values = {str(item.value) for item in extract(text, at=at) if item.kind == "fact"}
    inside = sorted((value for value in values if value and value in text), key=len, reverse=True)
    return text.replace(inside[0], OTHER_VALUE) if inside else f"That is wrong: {text}"
