"""RecollectSaver: the public suite, upstream's suite, strict types, growth, processes that die and race."""

from __future__ import annotations

import pytest

from recollect import Memory
from recollect.adapters.langgraph import RecollectSaver
from recollect.testing.langgraph_saver import SaverConformance


class TestSaver(SaverConformance):
    @pytest.fixture
    def saver(self, memory: Memory) -> RecollectSaver:
        return RecollectSaver(memory)
