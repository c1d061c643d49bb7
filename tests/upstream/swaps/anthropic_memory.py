"""The tests of Anthropic's file memory tool: both halves become ours; what they look up on the disk is not replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as theirs
import pytest
from counted import open_memory

from memorist.adapters.anthropic_memory import AsyncMemoristMemoryTool, MemoristMemoryTool

_tools: dict[str, Any] = {}


class Tool(MemoristMemoryTool):
    """Ours, made with a folder's name."""

    def __init__(self, base_path: str = "./memory") -> None:
        self.base_path = Path(base_path)
        _tools[str(base_path)] = self
        super().__init__(open_memory())


class AsyncTool(AsyncMemoristMemoryTool):
    """Ours, made with a folder's name."""

    def __init__(self, base_path: str = "./memory") -> None:
        self.base_path = Path(base_path)
        _tools[str(base_path)] = self
        super().__init__(open_memory())


def snapshot(base_path: str) -> dict[str, str]:
    """The files of the tool that was made with this folder."""
    tool = _tools[str(base_path)]
    return {fact.key: fact.value for fact in tool._handles.memory.facts.list(tool._space)}


theirs.BetaLocalFilesystemMemoryTool = Tool  # type: ignore[misc, assignment]
theirs.BetaAsyncLocalFilesystemMemoryTool = AsyncTool  # type: ignore[misc, assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Their look at the folder becomes a look at the facts."""
    for item in items:
        module: Any = getattr(item, "module", None)
        if hasattr(module, "get_directory_snapshot"):
            module.get_directory_snapshot = snapshot
