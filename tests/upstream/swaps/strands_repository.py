"""Strands' tests of its session manager: their mocked repository becomes ours."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from counted import open_memory

from memorist.adapters.strands import MemoristSessionRepository


class Repository(MemoristSessionRepository):
    """Ours, made without arguments."""

    def __init__(self) -> None:
        super().__init__(open_memory())


sys.path.insert(0, "")
theirs: Any = import_module("tests.fixtures.mock_session_repository")
theirs.MockedSessionRepository = Repository
