"""LangGraph: a checkpoint saver and a store over one memory. Needs the extra `langgraph`."""

from __future__ import annotations

from .saver import MemoristSaver
from .store import MemoristStore

__all__ = ["MemoristSaver", "MemoristStore"]
