"""`Stashed`: a long text that is stored, and what is sent instead of it."""

from __future__ import annotations

import msgspec

from ..records import as_dict

RESULTS = ".results"
"""Ends the id of the thread that holds the stashed results of another thread."""


class Stashed(msgspec.Struct, frozen=True):
    """A long text that was stored, and the preview to send instead of it."""

    to_dict = as_dict

    id: str
    """The id to pass to `read_more`."""
    text: str
    """What to send: a line that says how to read on, and an outline."""
    tokens: int
    """The tokens of the full text."""
    lines: int
    stored: bool = True
    """False for a text under the threshold, which is returned as it is."""
