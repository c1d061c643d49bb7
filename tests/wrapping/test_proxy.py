"""`memorist proxy` as a process, between the real SDKs and a local server that speaks the provider's protocol."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import openai
import pytest

from memorist import Memory
from tests.models.wire_server import Reply, WireServer, openai_answer, openai_stream, serving

QUESTION = "Which restaurant do you suggest?"


@contextmanager
def proxied(url: str, upstream: str, *options: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "memorist",
        "--url",
        url,
        *options,
        "proxy",
        "--upstream",
        upstream,
        "--port",
        str(port),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, process.stderr.read().decode() if process.stderr else ""
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)
        if process.stderr is not None:
            process.stderr.close()


@pytest.fixture
def server() -> Iterator[WireServer]:
    with serving() as wire:
        yield wire


def test_requests_and_streams_pass_with_memory(server: WireServer, tmp_path: Path) -> None:
    url = str(tmp_path / "memory.db")
    with Memory(url) as memory:
        memory.remember("I am allergic to shellfish.", user="ada")
    server.say(
        Reply(openai_answer("A green one.")),
        Reply(pieces=openai_stream("Two", "."), kind="text/event-stream"),
        Reply({"error": {"message": "slow down", "type": "x", "code": "y"}}, status=429),
        Reply(openai_answer("Who are you?")),
    )
    with proxied(url, f"{server.url}/v1") as address:
        client = openai.OpenAI(api_key="secret-key", base_url=f"{address}/v1", max_retries=0)
        ada = client.with_options(default_headers={"X-Memorist-User": "ada"})
        answer = ada.chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}])
        assert answer.choices[0].message.content == "A green one."
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "And then?"}], user="ada", stream=True
        )
        assert [chunk.choices[0].delta.content for chunk in stream] == ["Two", ".", None]
        with pytest.raises(openai.RateLimitError, match="slow down"):
            ada.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hm?"}])
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}])
    assert server.paths == ["/v1/chat/completions"] * 4
    assert server.headers[0]["authorization"] == "Bearer secret-key" and "x-memorist-user" not in server.headers[0]
    assert "shellfish" in json.dumps(server.requests[0]) and "shellfish" in json.dumps(server.requests[1])
    assert server.requests[3]["messages"] == [{"role": "user", "content": QUESTION}]
    with Memory(url) as memory:
        threads = [thread.id for thread in memory.threads.list("user:ada") if thread.id.startswith("wrapped/")]
        texts = [message.text for thread in threads for message in memory.threads.messages(thread)]
    assert sorted(texts) == ["A green one.", "And then?", "Two.", QUESTION]


def test_a_turn_is_stored_though_the_program_hangs_up(server: WireServer, tmp_path: Path) -> None:
    url, questions = str(tmp_path / "memory.db"), [f"Question {number}?" for number in range(8)]
    server.say(*(Reply(pieces=openai_stream(*["word "] * 200), kind="text/event-stream") for _ in questions))
    with proxied(url, f"{server.url}/v1", "--user", "ada") as address:
        for question in questions:
            body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]}
            with httpx.stream("POST", f"{address}/v1/chat/completions", json=body, timeout=30) as answer:
                next(answer.iter_raw())
    with Memory(url) as memory:
        threads = [thread.id for thread in memory.threads.list("user:ada")]
        firsts = [memory.threads.messages(thread)[0].text for thread in threads]
    assert sorted(firsts) == questions


def test_other_addresses_and_wrong_upstreams_are_refused(tmp_path: Path) -> None:
    common = [sys.executable, "-m", "memorist", "--url", str(tmp_path / "m.db"), "proxy", "--upstream"]
    for arguments, reason in (
        (["https://api.example/v1", "--host", "0.0.0.0"], "not loopback"),
        (["api.example"], "--upstream"),
    ):
        ended = subprocess.run([*common, *arguments], capture_output=True, text=True, timeout=60)
        assert ended.returncode == 2 and reason in ended.stderr
