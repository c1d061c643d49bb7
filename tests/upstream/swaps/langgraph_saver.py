"""LangGraph's graph tests: their in-memory checkpointer becomes our saver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from counted import open_memory
from langchain_core.agents import AgentAction, AgentFinish

from memorist.adapters.langgraph import MemoristSaver


@contextmanager
def _ours() -> Iterator[MemoristSaver]:
    # Strict, as it is by default; the types that those graphs put into their state are allowed.
    named = import_module("tests.agents")
    yield MemoristSaver(open_memory(), allow=[AgentAction, AgentFinish, named.AgentAction, named.AgentFinish])


sys.path.insert(0, "")
import_module("tests.conftest_checkpointer")._checkpointer_memory = _ours
