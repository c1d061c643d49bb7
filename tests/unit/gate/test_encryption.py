"""Encryption at rest: no content in files, backups and exports, and none readable once a key is destroyed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from memorist import AsyncMemory, Encryption, Memory, UsageError
from memorist.errors import StoreError, Unsupported
from memorist.gate.encryption import KEY_BYTES, KeyGone
from memorist.gate.sealing import BY_TABLE, CONTENT
from memorist.kinds import KINDS

CANARY = "zanzibarwalrus"


def fill(memory: Memory, user: str = "ada", canary: str = CANARY) -> None:
    """Write a canary into everything that holds content."""
    ns = f"user:{user}"
    handle = memory.scope(user=user)
    memory.threads.create(ns, f"about {canary}", id=f"talk-{user}", metadata={"topic": canary})
    memory.threads.append(f"talk-{user}", f"the {canary} sleeps", {"role": "assistant", "content": f"a {canary}?"})
    memory.facts.set(ns, "pet", canary, text=f"Has a {canary}", tags=[canary], metadata={"note": canary})
    memory.facts.set(ns, "pet", f"old {canary}")
    memory.events.add(f"Saw a {canary}", ns=ns, people=[canary], location=canary)
    memory.learnings.add(f"Likes every {canary}", user=user)
    memory.documents.add(ns, f"All about the {canary}.", title=canary, metadata={"k": canary})
    memory.records.put(ns, ("k",), canary.encode(), meta={"m": canary})
    memory.records.put(ns, ("j",), {"v": canary})
    handle.working.update(scratchpad=canary)
    with memory.tasks.run(f"task-{user}", ns=ns) as task:
        task.complete("one", state={"found": canary})


def read_all(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def opened(tmp_path: Path, **options: Any) -> Memory:
    options = {"worker": False, "embedder": None, "encryption": Encryption(tmp_path / "keys.json"), **options}
    return Memory(tmp_path / "store" / "memory.db", **options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path


def test_every_kind_with_content_is_sealed() -> None:
    speaking = {kind.record for kind in KINDS if kind.says is not None or kind.findable is not None}
    assert speaking <= set(CONTENT)
    assert set(BY_TABLE.values()) == set(CONTENT)


def test_no_file_backup_or_export_holds_content_or_a_key(folder: Path) -> None:
    with opened(folder) as memory:
        fill(memory)
        assert memory.recall(CANARY, namespaces="user:ada")
        memory.export(folder / "store" / "all.jsonl")
        with (
            sqlite3.connect(folder / "store" / "memory.db") as source,
            sqlite3.connect(folder / "store" / "b.db") as to,
        ):
            source.backup(to)
    written = read_all(folder / "store")
    assert CANARY.encode() not in written
    keys = (folder / "keys.json").read_text("utf-8")
    data = json.loads(keys)
    for id, text in data["orgs"]["default"]:
        assert text.encode() not in written and id.encode() not in written
    for key in data["data"].values():
        assert key["wrapped"].encode() not in written
    assert os.stat(folder / "keys.json").st_mode & 0o077 == 0


def test_everything_reads_as_it_was_written(folder: Path) -> None:
    with opened(folder) as memory:
        fill(memory)
    with opened(folder) as memory:
        assert memory.threads.get("talk-ada").title == f"about {CANARY}"
        assert memory.threads.messages("talk-ada")[0].text == f"the {CANARY} sleeps"
        fact = memory.facts.get("user:ada", "pet")
        assert (fact.value, fact.version) == (f"old {CANARY}", 2)
        first = memory.facts.history("user:ada", "pet")[0]
        assert (first.tags, first.metadata, first.text) == ((CANARY,), {"note": CANARY}, f"Has a {CANARY}")
        assert memory.facts.list("user:ada", where={"value": {"$contains": CANARY}})
        assert memory.records.get("user:ada", ("k",)).data == CANARY.encode()
        assert memory.records.get("user:ada", ("j",)).data == {"v": CANARY}
        assert memory.tasks.resume("task-ada").state == {"found": CANARY}
        assert memory.scope(user="ada").working.get().scratchpad == CANARY
        assert {hit.kind for hit in memory.recall(CANARY, namespaces="user:ada", top_k=20)} >= {
            "message",
            "fact",
            "event",
        }
        assert memory.doctor(deep=True).problems == []


@pytest.mark.parametrize("text", ["memorist-sealed:", "memorist-sealed:0123456789abcdef:zanzibarwalrus"])
def test_a_text_that_looks_encrypted_is_encrypted_and_read_back(folder: Path, text: str) -> None:
    with opened(folder) as memory:
        memory.facts.set("user:ada", "note", text)
        memory.threads.append("talk", text, create="user:ada")
        assert memory.facts.get("user:ada", "note").value == text
        assert [message.text for message in memory.threads.messages("talk")] == [text]
        assert memory.facts.correct("user:ada", "note", f"{text}=").value == f"{text}="
        assert memory.facts.get("user:ada", "note").value == f"{text}="
    assert CANARY.encode() not in read_all(folder / "store")


def test_shredding_makes_every_copy_unreadable(folder: Path) -> None:
    with opened(folder) as memory:
        fill(memory)
        fill(memory, "bea", "quokkameadow")
        memory.export(folder / "all.jsonl")
        shutil.copytree(folder / "store", folder / "backup")
        preview = memory.forget(user="ada", shred=True, preview=True)
        erasure = memory.forget(user="ada", shred=True)
        assert erasure.complete and len(erasure.shredded) == 1
        assert preview.shredded == erasure.shredded and memory.forget(user="bea", preview=True).shredded == []
        assert memory.facts.get("user:bea", "pet").value == "old quokkameadow"
    keys = Encryption(folder / "keys.json")
    with Memory(folder / "backup" / "memory.db", worker=False, embedder=None, encryption=keys) as backup:
        assert backup.stats().facts == 2  # counts, ids and times need no key
        fact = backup.facts.get("user:ada", "pet")
        assert (fact.value, fact.metadata, fact.version) == (None, {"memorist.unreadable": True}, 2)
        assert [message.text for message in backup.threads.messages("talk-ada")] == ["", ""]
        assert backup.facts.get("user:bea", "pet").value == "old quokkameadow"
    with Memory(folder / "restored.db", worker=False, embedder=None, encryption=keys) as restored:
        restored.import_(folder / "all.jsonl")
        assert restored.facts.get("user:ada", "pet").value is None
        assert restored.facts.get("user:bea", "pet").value == "old quokkameadow"


def test_shredding_needs_encryption_and_a_user(folder: Path) -> None:
    with Memory(folder / "plain.db", worker=False) as memory:
        memory.facts.set("user:ada", "pet", "cat")
        with pytest.raises(Unsupported):
            memory.forget(user="ada", shred=True)
    with opened(folder) as memory, pytest.raises(UsageError):
        memory.forget(thread="talk", shred=True)


def test_keys_rotate_and_old_rows_stay_readable(folder: Path) -> None:
    keys = Encryption(folder / "keys.json")
    with opened(folder, encryption=keys) as memory:
        memory.facts.set("user:ada", "pet", "cat")
        before = (folder / "keys.json").read_text("utf-8")
        keys.rotate("default")
        keys.rotate("default", "user:ada")
        memory.facts.set("user:ada", "city", "Lisbon")
        assert len(keys.key_ids("default", "user:ada")) == 2
        assert before != (folder / "keys.json").read_text("utf-8")
    with opened(folder) as memory:
        assert [fact.value for fact in memory.facts.list("user:ada")] == ["Lisbon", "cat"]


def test_another_process_notices_a_destroyed_key(tmp_path: Path) -> None:
    first, second = Encryption(tmp_path / "keys.json"), Encryption(tmp_path / "keys.json")
    cell = first.seal("default", "user:ada", b"words")
    assert second.unseal(cell) == b"words"
    first.destroy("default", "user:ada")
    with pytest.raises(KeyGone):
        second.unseal(cell)


def test_keys_of_orgs_may_come_from_a_function(tmp_path: Path) -> None:
    versions = {"v1": os.urandom(KEY_BYTES), "v2": os.urandom(KEY_BYTES)}
    current = ["v1"]
    keys = Encryption(tmp_path / "ring.json", key=lambda org, id: (id or current[0], versions[id or current[0]]))
    cell = keys.seal("default", "user:ada", b"words")
    current[0] = "v2"
    assert keys.rotate("default") == "v2"
    del versions["v1"]
    again = Encryption(tmp_path / "ring.json", key=lambda org, id: (id or "v2", versions[id or "v2"]))
    assert again.unseal(cell) == b"words"


def test_changed_content_is_refused(tmp_path: Path) -> None:
    keys = Encryption(tmp_path / "keys.json")
    cell = keys.seal("default", "user:ada", b"words")
    damaged = cell[:-6] + ("A" if cell[-6] != "A" else "B") + cell[-5:]
    with pytest.raises(StoreError):
        keys.unseal(damaged)


@pytest.mark.parametrize("name", ["", "a\0b", ".", "x" * 300, "no folder/keys.json", "file/keys.json", "junk"])
def test_a_key_file_that_cannot_be_used_raises_our_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "junk").write_bytes(b"\xff\xfe junk")
    with pytest.raises(UsageError):
        Encryption(f"{tmp_path}/{name}" if name else "").seal("acme", "user:ada", b"words")


def test_another_json_file_is_not_taken_for_a_key_file(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"theme": "dark"}')
    with pytest.raises(UsageError, match="not a key file"):
        Encryption(tmp_path / "settings.json")
    assert (tmp_path / "settings.json").read_text() == '{"theme": "dark"}'


def test_a_wrong_encryption_is_refused_when_opened() -> None:
    with pytest.raises(UsageError):
        Memory("memory.db", encryption="keys.json")  # type: ignore[arg-type]


def test_an_awaited_memory_is_sealed_too(folder: Path) -> None:
    import asyncio

    async def use() -> None:
        keys = Encryption(folder / "keys.json")
        async with AsyncMemory(folder / "store" / "a.db", worker=False, embedder=None, encryption=keys) as memory:
            await memory.facts.set("user:ada", "pet", CANARY)
            assert (await memory.facts.get("user:ada", "pet")).value == CANARY  # type: ignore[union-attr]
            assert memory.blocking.facts.get("user:ada", "pet").value == CANARY  # type: ignore[union-attr]

    asyncio.run(use())
    assert CANARY.encode() not in read_all(folder / "store")
