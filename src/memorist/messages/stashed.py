"""Defines `Stashed`, which represents a long text that is stored, and the preview that is sent instead."""

from __future__ import annotations

import msgspec

from ..records import as_dict

RESULTS = ".results"
"""Ends the id of the thread that holds the stashed results of another thread."""


class Stashed(msgspec.Struct, frozen=True):
    """Represents a long text that was stored, and the preview to send instead of it."""

    to_dict = as_dict

    id: str
    """Pass this id to `read_more`."""
    text: str
    """This is the text to send: a line that says how to read the rest, and an outline."""
    tokens: int
    """These are the tokens of the full text."""
    lines: int
    stored: bool = True
    """This is False for a text under the threshold, which is returned unchanged."""
