"""Defines `Stashed`, which represents a stored long text and the preview that is sent in its place."""

from __future__ import annotations

import msgspec

from ..records import as_dict

RESULTS = ".results"
"""The id suffix of a thread that contains another thread's stashed results."""


class Stashed(msgspec.Struct, frozen=True):
    """Represents a stored long text and the preview to send in its place."""

    to_dict = as_dict

    id: str
    """Pass this id to `read_more`."""
    text: str
    """This is the text to send: a line that says how to read the rest, and an outline."""
    tokens: int
    """This is the number of tokens in the full text."""
    lines: int
    stored: bool = True
    """This is False for a text under the threshold, which is returned unchanged."""
