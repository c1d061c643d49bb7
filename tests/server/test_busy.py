"""A server whose store is written to without a pause still answers recall and context."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import Memory
from memorist_testing.suite.busy import BusyWriter

from .running import Running, running

NS = "user:ada"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "memory.db") as started:
        yield started


def test_recall_and_context_return_while_the_thread_grows(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = server.memory.scope(org="acme")
    with Memory(server.url, api_key=server.key(org="acme")) as memory:
        memory.threads.create(NS, id="talk")
        memory.threads.append("talk", {"role": "user", "content": "The heron stands in the reeds."})

        async def write(number: int) -> None:
            await ours.threads.append("talk", {"role": "user", "content": f"Entry {number} of the log."})

        writer = BusyWriter(server.memory, write, monkeypatch)
        assert "heron" in memory.recall("Where is the heron?", namespaces=NS)[0].text
        assert "heron" in str(memory.context("Where is the heron?", thread="talk", budget=2_000).openai())
        assert 0 < writer.writes < 10
