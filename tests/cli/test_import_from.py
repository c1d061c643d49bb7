"""`memorist import --from`: shown first, asked, imported, undone."""

from __future__ import annotations

import json
from pathlib import Path

from memorist.cli.transfer import KINDS
from memorist.importing.readers import READERS

from .conftest import Memorist


def _graph(folder: Path, *more: str) -> None:
    lines = ['{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}', *more]
    (folder / "memory.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def test_every_reader_can_be_named() -> None:
    assert ("auto", *READERS) == KINDS


def test_it_shows_what_would_come_in_and_asks(memorist: Memorist, tmp_path: Path) -> None:
    _graph(tmp_path)
    refused = memorist("import", "--from", "auto", "memory.jsonl", input="n\n")
    assert refused.code != 0
    assert "1 facts would be imported" in refused.out
    assert "likes tea" in refused.out
    assert not (tmp_path / "memorist.db").exists()
    process = memorist("import", "--from", "auto", "memory.jsonl", "--namespace", "user:ada", input="y\n")
    assert process.code == 0
    assert "memorist forget --source 'mcp:memory.jsonl'" in process.out
    assert memorist("--json", "facts", "list", "user:ada").json()[0]["actor"] == "import"
    again = memorist("--json", "import", "--from", "mcp", "memory.jsonl", "--namespace", "user:ada").json()
    assert (again["added"], again["known"]) == ({}, {"facts": 1})
    assert memorist("forget", "--source", "mcp:memory.jsonl", "--yes").code == 0
    assert memorist("--json", "facts", "list", "user:ada").json() == []


def test_a_dry_run_leaves_no_file_behind_and_takes_none_away(memorist: Memorist, tmp_path: Path) -> None:
    _graph(tmp_path)
    dry = ("import", "--from", "auto", "memory.jsonl", "--dry-run")
    assert "1 facts would be imported" in memorist(*dry).out
    assert memorist("--json", *dry).json()["found"] == {"facts": 1}
    (tmp_path / "empty.jsonl").write_text("")
    assert memorist("import", "--from", "messages", "empty.jsonl").code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl", "memory.jsonl"]
    assert memorist("import", "--from", "auto", "memory.jsonl", "--yes").code == 0
    assert memorist(*dry).code == 0
    assert [row["key"] for row in memorist("--json", "facts", "list", "user:me").json()] == ["entity/Ada"]


def test_what_cannot_come_in_is_named_with_its_place(memorist: Memorist, tmp_path: Path) -> None:
    _graph(tmp_path, "{broken", '{"type":"relation","from":"Ada"}')
    process = memorist("import", "--from", "mcp", "memory.jsonl", "--yes")
    assert process.code == 1
    assert "line 2" in process.out and "it is not JSON" in process.out and "line 3" in process.out
    assert memorist("import", "--from", "mcp", "memory.jsonl", "--yes", "--strict", "--source", "b").code == 1


def test_users_are_mapped_by_options_and_by_a_file(memorist: Memorist, tmp_path: Path) -> None:
    rows = [{"role": "user", "content": who, "thread_id": who, "user_id": who} for who in ("al", "bo", "cy")]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (tmp_path / "map.toml").write_text('[users]\nal = "ada"\n[namespaces]\nbo = "agent:bob"\n', "utf-8")
    command = ("import", "--from", "messages", "log.jsonl", "--map", "map.toml", "--map-user", "cy=cyd", "--yes")
    assert memorist(*command).code == 0

    namespaces = {
        row["id"]: row["ns"] for ns in ("user:ada", "agent:bob", "user:cyd") for row in _threads(memorist, ns)
    }
    assert namespaces == {"al": "user:ada", "bo": "agent:bob", "cy": "user:cyd"}
    assert memorist("import", "--from", "messages", "log.jsonl", "--map-user", "cy").code == 2


def _threads(memorist: Memorist, ns: str) -> list[dict[str, str]]:
    threads: list[dict[str, str]] = memorist("--json", "threads", "list", ns).json()
    return threads


def test_a_source_that_nobody_knows_is_refused_with_what_there_is(memorist: Memorist, tmp_path: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(b"\x00\x01\x02")
    refused = memorist("import", "--from", "auto", "odd.bin")
    assert refused.code == 2
    assert "chatgpt" in refused.err
    assert memorist("import", "--from", "auto", "missing.json").code == 2
