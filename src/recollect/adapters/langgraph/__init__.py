"""LangGraph: a checkpoint saver and a store over one memory. `pip install 'recollect[langgraph]'`."""

from __future__ import annotations

from .saver import RecollectSaver
from .store import RecollectStore

__all__ = ["RecollectSaver", "RecollectStore"]
