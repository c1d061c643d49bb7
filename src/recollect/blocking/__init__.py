"""The blocking twins of the engine's nouns: the same methods, stepped to their end. One line each, nothing decided here."""

from .facts import Facts
from .state import State
from .threads import Threads

__all__ = ["Facts", "State", "Threads"]
