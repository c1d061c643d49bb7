"""What recall collects before it ranks: how many candidates, tuned with the weights and the same for every store."""

from __future__ import annotations

CANDIDATES = 40
"""Candidates from each search (text and vector); three times the hits wanted where that is more."""
NEIGHBOURS_OF = 4
"""How many of the best candidates of each search bring their neighbours in."""
NEAR = (-2, -1, 1, 2, 3)
"""Offsets of those neighbouring turns: the answer often follows the turn that mentions the subject."""
DATED = 40
"""Nearest vectors taken from within a time that the question names."""
DERIVED = ("fact", "learning")
"""Kinds of things that are taken from messages."""
