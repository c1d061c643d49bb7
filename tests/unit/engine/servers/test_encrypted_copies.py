"""What a server's own tools copy of an encrypted store: no content, no key, and nothing readable after shredding."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.servers.postgres import binaries

from memorist import Encryption, Memory
from memorist.ids import new_id

CANARY = "zanzibarwalrus"


def fill_and_shred(url: str, folder: Path, copy: Any) -> list[bytes]:
    """Write a canary, copy the store, shred its user, copy it again; returns both copies."""
    copies = []
    with Memory(url, org=new_id(), worker=False, encryption=Encryption(folder / "keys.json")) as memory:
        memory.threads.append("talk", f"the {CANARY} sleeps", create="user:ada")
        memory.facts.set("user:ada", "pet", f"a {CANARY}", text=f"Has a {CANARY}.")
        memory.documents.add("user:ada", f"All about the {CANARY}.")
        assert memory.recall(CANARY, namespaces="user:ada")
        keys = json.loads((folder / "keys.json").read_text("utf-8"))
        copies.append(copy())
        assert memory.forget(user="ada", shred=True).shredded
        copies.append(copy())
    hidden = [text for pairs in keys["orgs"].values() for _, text in pairs]
    hidden += [key["wrapped"] for key in keys["data"].values()]
    for content in copies:
        assert len(content) > 1_000
        assert CANARY.encode() not in content
        assert not any(text.encode() in content for text in hidden)
    return copies


def test_a_dump_of_postgres_shows_neither_content_nor_keys(postgres_server: Any, tmp_path: Path) -> None:
    def dump() -> bytes:
        command = [str(binaries() / "pg_dump"), "--inserts", "-d", postgres_server.url]
        return subprocess.run(command, capture_output=True, check=True).stdout

    before, _ = fill_and_shred(postgres_server.url, tmp_path, dump)
    assert b"talk" in before


def test_a_dump_of_redis_shows_neither_content_nor_keys(redis_server: Any, tmp_path: Path) -> None:
    def dump() -> bytes:
        with redis_server.client() as client:
            client.config_set("rdbcompression", "no")  # compressed, a canary would not be seen
            return b"".join(client.dump(key) or b"" for key in client.scan_iter())

    before, _ = fill_and_shred(redis_server.url, tmp_path, dump)
    assert b"talk" in before
