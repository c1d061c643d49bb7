"""How far recall looks before it ranks: learned with the weights, and the same for every store."""

from __future__ import annotations

CANDIDATES = 40
"""From each arm; three for every hit wanted, where that is more."""
NEIGHBOURS_OF = 4
NEAR = (-2, -1, 1, 2, 3)
"""Turns around the best of each arm are looked at too: what follows a mention is often the answer."""
DATED = 40
"""The nearest of what was said at a time that the question names."""
