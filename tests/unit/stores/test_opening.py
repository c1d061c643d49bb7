"""How a memory is opened: its options and their defaults, the store that a URL gives, and what is refused at once."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, Memory, UsageError
from memorist.stores.tiered import TieredStore
from memorist.types import NothingLasts

DEFAULTS: dict[str, Any] = {
    "url": None, "hot": None, "read_url": None, "api_key": None, "org": "default", "user": None, "read": (),
    "write": (), "shared": None, "all_orgs": False, "actor": "user", "durability": "full", "embedder": "default",
    "reranker": None, "model": None, "counter": None, "clock": None, "extract": "auto", "worker": True,
    "record_bytes": None, "gate": None, "encryption": None,
}  # fmt: skip
WRONG: list[dict[str, Any]] = [
    {"org": ""}, {"user": ""}, {"shared": ""}, {"shared": "default"}, {"actor": "alien"}, {"durability": "some"},
    {"embedder": "nothing"}, {"embedder": 5}, {"model": "nothing"}, {"model": 5}, {"reranker": "nothing"},
    {"reranker": 5}, {"counter": "nothing"}, {"counter": 5}, {"clock": 5}, {"extract": "some"}, {"api_key": "rk_a_b"},
    {"read": ["agent:a"]}, {"user": "ada", "read": "agent:a"}, {"user": "ada", "write": ["agents"]},
]  # fmt: skip


@pytest.mark.parametrize("facade", [Memory, AsyncMemory])
def test_the_options_and_their_defaults(facade: type) -> None:
    parameters = list(inspect.signature(facade).parameters.values())
    assert {parameter.name: parameter.default for parameter in parameters} == DEFAULTS
    assert [parameter.name for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY] == ["url"]


@pytest.mark.parametrize("facade", [Memory, AsyncMemory])
@pytest.mark.parametrize("options", WRONG, ids=str)
def test_what_could_not_be_used_is_refused_at_opening(facade: type, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        facade("memory://", **options)


def test_without_a_url_the_environment_is_read_when_a_memory_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_URL", str(tmp_path / "memory.db"))
    with Memory(worker=False) as memory:
        memory.facts.set("global", "k", 1)
    monkeypatch.setenv("MEMORIST_HOT_URL", "memory://")
    with Memory(worker=False) as memory:
        assert isinstance(memory._core.store, TieredStore)
        fact = memory.facts.get("global", "k")
        assert fact is not None and fact.value == 1


def test_the_other_handle_uses_the_file_that_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_URL", str(tmp_path / "first.db"))
    with Memory(worker=False) as memory:
        memory.facts.set("global", "k", 1)
        monkeypatch.setenv("MEMORIST_URL", str(tmp_path / "second.db"))
        assert asyncio.run(_read(memory.aio)) == 1
    assert not (tmp_path / "second.db").exists()


async def _read(memory: AsyncMemory) -> object:
    fact = await memory.facts.get("global", "k")
    return None if fact is None else fact.value


@pytest.mark.parametrize("url", ["memory://", ":memory:"])
def test_ram_has_two_names_and_says_that_nothing_lasts(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.warns(NothingLasts) as caught, Memory(url, embedder=None, worker=False) as memory:
        memory.facts.set("global", "city", "Porto")
        assert memory._core.store.name == "memory"
    assert [warning.filename for warning in caught] == [__file__], "it points to the line that opened the memory"
    assert list(tmp_path.iterdir()) == []
