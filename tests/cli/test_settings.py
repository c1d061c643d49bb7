"""The model, the extraction file and the key file of the command line and the server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from memorist import Memory, UsageError
from memorist.extract.extraction_file import read_extraction
from tests.models.wire_server import Reply, WireServer, serving

from .conftest import Memorist

SCHEMA = {"title": "Diet", "type": "object", "properties": {"avoids": {"type": "string"}, "meals": {"type": "integer"}}}
SETTINGS = """
instructions = "Note what people eat."
only = ["diet"]
never = ["salary"]
read_from = ["user", "assistant"]
schemas = ["diet.schema.json"]
daily_tokens = 50000
beyond = "wait"

[admit]
allergy = "review"
"""
NOTE = {
    "op": "add", "m": "m1", "quote": "I don't eat pork", "text": "The user doesn't eat pork.", "kind": "fact",
    "subject": "user", "key": "diet.avoids", "value": "pork", "confidence": 0.9,
}  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "diet.schema.json").write_text(json.dumps(SCHEMA), "utf-8")
    path = tmp_path / "extraction.toml"
    path.write_text(SETTINGS, "utf-8")
    return path


def completion(*operations: dict[str, object]) -> Reply:
    content = json.dumps({"operations": operations})
    usage = {"prompt_tokens": 100, "completion_tokens": 20}
    message = {"role": "assistant", "content": content}
    return Reply({"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})


def test_every_option_of_extraction_can_stand_in_a_file(settings: Path) -> None:
    extraction = read_extraction(settings)
    assert extraction.instructions == "Note what people eat."
    assert (extraction.only, extraction.never) == (("diet",), ("salary",))
    assert extraction.read_from == ("user", "assistant")
    assert (extraction.daily_tokens, extraction.beyond) == (50_000, "wait")
    assert extraction.admit == {"allergy": "review"}
    assert [field.name for field in extraction.schemas[0].fields] == ["avoids", "meals"]


def test_the_file_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "extraction.json"
    path.write_text('{"only": ["diet"], "admit": "review"}', "utf-8")
    assert read_extraction(path).only == ("diet",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('instruction = "x"', "unknown field"),
        ("daily_tokens = -1", "daily_tokens"),
        ('read_from = ["nobody"]', "read_from"),
        ('schemas = ["missing.json"]', "missing.json"),
        ("only = [", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "extraction.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=problem):
        read_extraction(path)


def test_a_command_notes_what_the_file_says(memorist: Memorist, settings: Path) -> None:
    with serving(WireServer()) as models:
        models.say(completion(NOTE))
        model = f"openai:small@{models.url}/v1"
        process = memorist(
            "--model", model, "--extraction", str(settings), "--user", "ada", "remember", "I don't eat pork."
        )
        assert process.code == 0, process.err
        prompt = json.dumps(models.requests[0])
    assert "Note what people eat." in prompt
    assert "Never note anything about: salary." in prompt
    assert "diet.avoids" in prompt
    with Memory("memorist.db", worker=False) as memory:
        fact = memory.facts.get("user:ada", "diet.avoids")
        assert fact is not None and fact.value == "pork"


def test_a_server_reads_with_the_model_and_the_file_and_seals_with_the_key(
    memorist: Memorist, settings: Path, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    keys = ("--url", str(tmp_path / "m.db"), "--key-file", str(tmp_path / "keys.json"))
    key = memorist(*keys, "keys", "create", "--role", "writer", "--role", "reader", "--role", "forget").out.strip()
    with serving(WireServer()) as models:
        models.say(completion(NOTE))
        command = [
            sys.executable, "-m", "memorist", *keys, "--model", f"openai:small@{models.url}/v1", "--extraction",
            str(settings), "serve", "--port", str(port), "--no-worker",
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=10)) as client:
                while client.get(f"http://127.0.0.1:{port}/healthz", timeout=60).status_code != 200:
                    assert process.poll() is None
            with Memory(f"http://127.0.0.1:{port}", api_key=key) as memory:
                memory.remember("I don't eat pork.", user="ada")
                fact = memory.facts.get("user:ada", "diet.avoids")
                assert fact is not None and fact.value == "pork"
                assert memory.forget(user="ada", shred=True).shredded
        finally:
            process.kill()
            process.wait(30)
        assert "Note what people eat." in json.dumps(models.requests[0])
    assert b"pork" not in (tmp_path / "m.db").read_bytes()


def test_commands_use_the_embedder_that_you_name(memorist: Memorist) -> None:
    memorist("--embedder", "none", "facts", "set", "user:ada", "city", "Lisbon")
    assert "no embedder" in memorist("--embedder", "none", "process", "reindex").out
    assert "no embedder" not in memorist("process", "reindex").out
    wrong = memorist("--embedder", "nothing", "reindex")
    assert wrong.code == 2 and "no embedder" in wrong.err


def test_recall_asks_the_model_for_wordings_and_for_a_new_order(memorist: Memorist) -> None:
    for number in range(3):
        memorist("facts", "set", "user:ada", f"boat{number}", f"The boat of Ada is called Mira {number}")
    memorist("process", "reindex")
    with serving(WireServer()) as models:
        models.say(_text('{"questions": ["vessel"]}'), _text('{"scores": [1, 9, 5]}'))
        model = f"openai:small@{models.url}/v1"
        answer = memorist("--json", "--model", model, "--reranker", "model", "recall", "boat", "--expand")
        request_count = len(models.requests)
    assert answer.code == 0, answer.err
    assert request_count == 2
    assert all("reranker #1" in row["reasons"][-1] for row in answer.json()[:1])
    assert memorist("recall", "boat", "--hops", "2").code == 2


def _text(content: str) -> Reply:
    message = {"role": "assistant", "content": content}
    return Reply({"id": "1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
