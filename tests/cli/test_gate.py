"""`memorist gate` and `memorist redteam`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist import Memory
from memorist.redteam import load_attempts, run_redteam
from memorist.stores.memory import MemoryStore

from .conftest import Memorist


def test_the_policy_is_set_shown_and_checked(memorist: Memorist) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    options = ("--secret", "card=refuse", "--messages", "mask", "--personal", "email=review")
    assert memorist("gate", "set", *options).code in (0, None)
    policy = memorist("--json", "gate", "show").json()
    assert policy["secrets"] == {"card": "refuse"}
    assert (policy["messages"], policy["personal"]) == ("mask", {"email": "review"})
    check = memorist("--json", "gate", "check", "card 4111 1111 1111 1111").json()
    assert check["secrets"] == ["card-number"]
    assert memorist("--json", "gate", "report").json()["masked"] == {}


def test_a_policy_may_be_the_first_thing_in_a_new_file(memorist: Memorist) -> None:
    assert memorist("gate", "set", "--secret", "card=refuse", "--messages", "mask").code in (0, None)
    refused = memorist("facts", "set", "user:ada", "card", "4111 1111 1111 1111")
    assert refused.code == 2 and "it contains a secret (card-number)" in refused.err
    stored = memorist("facts", "set", "user:ada", "wifi_password", "Tr0ub4dor&3xyz")
    assert stored.out.strip() == "user:ada/wifi_password version 1 (masked: password)"
    memorist("threads", "create", "user:ada", "--id", "talk")
    assert memorist("threads", "append", "talk", "Hello").out.strip() == "talk#1"
    appended = memorist("threads", "append", "talk", "My password is Tr0ub4dor&3xyz")
    assert appended.out.strip() == "talk#2 (masked: password)"
    as_json = memorist("--json", "threads", "append", "talk", "My password is Tr0ub4dor&3xyz").json()
    assert as_json["masked"] == ["password"]


def test_shredding_says_that_a_key_was_destroyed(memorist: Memorist, tmp_path: Path) -> None:
    keys = ("--key-file", str(tmp_path / "keys.json"))
    memorist(*keys, "facts", "set", "user:ada", "city", "Lisbon")
    preview = memorist(*keys, "forget", "--user", "ada", "--shred", "--preview")
    assert "1 key would be destroyed" in preview.out
    process = memorist(*keys, "forget", "--user", "ada", "--shred", "--yes")
    assert "1 key was destroyed" in process.out


def test_a_policy_can_be_a_file(memorist: Memorist, tmp_path: Path) -> None:
    memorist("facts", "set", "user:ada", "city", "Lisbon")
    file = tmp_path / "policy.toml"
    file.write_text("[[retention]]\nkind = 'message'\nolder_than = '90d'\n")
    assert memorist("gate", "set", str(file)).code in (0, None)
    assert memorist("--json", "gate", "show").json()["retention"][0]["older_than"] == "90d"
    file.write_text("[shoes]\n")
    assert memorist("gate", "set", str(file)).code == 2


def test_there_are_150_attempts_in_ten_families() -> None:
    attempts = load_attempts()
    assert len(attempts) >= 150
    assert len({attempt.family for attempt in attempts}) >= 10


def test_nothing_gets_through_without_a_model(memorist: Memorist) -> None:
    process = memorist("--json", "redteam", "--family", "quotation", "--family", "tool_result")
    report = process.json()
    assert (process.code in (0, None), report["planted"], report["passed"]) == (True, [], True)
    assert set(report["attempts"]) == {"quotation", "tool_result"}


def test_what_gets_through_is_reported(memorist: Memorist, monkeypatch: pytest.MonkeyPatch) -> None:
    row = load_attempts(["quotation"])[0]
    own: dict[str, Any] = {"role": "user", "content": "My name is Mallory."}
    planted = msgspec.structs.replace(row, message=own)
    monkeypatch.setattr("memorist.redteam.load_attempts", lambda families=(): [planted])
    report = run_redteam(Memory(MemoryStore(), worker=False, embedder=None))
    assert [(finding.family, finding.kind, finding.text) for finding in report.planted] == [
        ("quotation", "fact", "Mallory")
    ]
    process = memorist("redteam")
    assert process.code == 1
    assert "1 of 1 attempts succeeded" in process.out
