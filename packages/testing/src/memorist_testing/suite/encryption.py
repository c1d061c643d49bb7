"""Tests encryption at rest, on every store. Stored rows do not reveal content, and nobody can read it once its key is
destroyed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memorist.gate.encryption import Encryption

CANARY = "zanzibarwalrus"


class EncryptionTests:
    """Tests that content is encrypted before it reaches the store."""

    async def test_an_encrypted_store_shows_no_content(self, open_memory: Any, org: str, tmp_path: Path) -> None:
        memory = open_memory(encryption=Encryption(tmp_path / "keys.json"))
        await _fill(memory)
        assert (await memory.threads.messages("talk"))[0].text == f"the {CANARY} sleeps"
        assert (await memory.facts.get("user:ada", "pet")).value == f"a {CANARY}"
        hits = await memory.recall(CANARY, namespaces="user:ada")
        assert {hit.kind for hit in hits} == {"message", "fact", "document"}
        await memory.export(tmp_path / "all.jsonl")
        assert CANARY not in (tmp_path / "all.jsonl").read_text("utf-8")
        store = memory._core.shared.store
        if hasattr(store, "verify_absent"):
            assert (await store.verify_absent([CANARY.encode()], org=org)).found == []

    async def test_a_shredded_user_is_unreadable_in_every_copy(self, open_memory: Any, tmp_path: Path) -> None:
        memory = open_memory(encryption=Encryption(tmp_path / "keys.json"))
        await _fill(memory)
        await memory.facts.set("user:bea", "pet", "cat")
        await memory.export(tmp_path / "all.jsonl")
        erasure = await memory.forget(user="ada", shred=True)
        assert erasure.complete and len(erasure.shredded) == 1
        await memory.import_(tmp_path / "all.jsonl")
        assert len(await memory.threads.messages("talk")) == 2
        assert {message.text for message in await memory.threads.messages("talk")} == {""}
        assert (await memory.facts.get("user:ada", "pet")).value is None
        assert (await memory.facts.get("user:bea", "pet")).value == "cat"
        assert (await memory.stats()).facts == 2


async def _fill(memory: Any) -> None:
    await memory.threads.create("user:ada", f"about a {CANARY}", id="talk")
    await memory.threads.append("talk", f"the {CANARY} sleeps", "and then?")
    await memory.facts.set("user:ada", "pet", f"a {CANARY}")
    await memory.documents.add("user:ada", f"All about the {CANARY}.")
