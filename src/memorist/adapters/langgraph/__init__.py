"""Provides LangGraph with a checkpoint saver and a store over one memory. It needs the `langgraph` extra."""

from __future__ import annotations

from .saver import MemoristSaver
from .store import MemoristStore

__all__ = ["MemoristSaver", "MemoristStore"]
