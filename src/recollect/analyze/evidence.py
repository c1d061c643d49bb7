"""Evidence that needs no flow: how tokens are counted, where things are stored, what goes into the prompt."""

from __future__ import annotations

from recollect.analyze.records import File
from recollect.analyze.syntax import Node


def collect(root: Node, file: File) -> None:
    """Add the counting, storage, slot and budget evidence of one file."""
