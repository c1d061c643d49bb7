"""A server over an encrypted memory: clients write, forget and shred; no copy of the store shows content or keys."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorist import Encryption, Memory
from memorist.errors import Unsupported

from .running import Running, running

CANARY = "zanzibarwalrus"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "store").mkdir()
    encryption = Encryption(tmp_path / "keys.json")
    with running(tmp_path / "store" / "memory.db", encryption=encryption) as server:
        yield server


def fill(memory: Memory) -> None:
    memory.threads.append("talk", f"the {CANARY} sleeps", create="user:ada")
    memory.facts.set("user:ada", "pet", f"a {CANARY}")
    memory.facts.set("user:bea", "pet", "a cat")


def secrets_of(keys: Path) -> list[bytes]:
    """The bytes of keys that no copy of the store may hold."""
    content = json.loads(keys.read_text("utf-8"))
    org_keys = [text for pairs in content["orgs"].values() for _, text in pairs]
    return [text.encode() for text in [*org_keys, *(key["wrapped"] for key in content["data"].values())]]


def test_a_user_is_shredded_over_http(server: Running, tmp_path: Path) -> None:
    with Memory(server.url, api_key=server.key(org="acme")) as memory:
        fill(memory)
        keys = secrets_of(tmp_path / "keys.json")
        memory.export(tmp_path / "store" / "all.jsonl")
        shutil.copytree(tmp_path / "store", tmp_path / "backup")
        erasure = memory.forget(user="ada", shred=True)
        assert erasure.complete and len(erasure.shredded) == 1
        assert memory.facts.get("user:ada", "pet") is None
        fact = memory.facts.get("user:bea", "pet")
        assert fact is not None and fact.value == "a cat"
    server.stop()
    files = [path for folder in ("store", "backup") for path in (tmp_path / folder).iterdir()]
    assert any(path.name == "all.jsonl" for path in files)
    for path in files:
        content = path.read_bytes()
        assert CANARY.encode() not in content, path.name
        assert not any(key in content for key in keys), path.name
    with Memory(
        tmp_path / "backup" / "memory.db", org="acme", worker=False, embedder=None,
        encryption=Encryption(tmp_path / "keys.json"),
    ) as restored:  # fmt: skip
        assert [message.text for message in restored.threads.messages("talk")] == [""]
        fact = restored.facts.get("user:bea", "pet")
        assert fact is not None and fact.value == "a cat"


def test_a_server_without_encryption_has_no_key_to_destroy(tmp_path: Path) -> None:
    with running(tmp_path / "memory.db") as server, Memory(server.url, api_key=server.key(org="acme")) as memory:
        memory.facts.set("user:ada", "pet", "a cat")
        with pytest.raises(Unsupported, match="no key to destroy"):
            memory.forget(user="ada", shred=True)
        assert memory.facts.get("user:ada", "pet") is not None
