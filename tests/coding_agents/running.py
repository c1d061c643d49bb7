"""Runs hooks as agents do: the installed command, with a payload of the host on stdin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from memorist.agents.errors_log import last_errors
from memorist.agents.hook import run_hook
from memorist.cli.main import cli

PAYLOADS: dict[str, dict[str, tuple[str, dict[str, Any]]]] = json.loads(
    (Path(__file__).parent / "payloads.json").read_text("utf-8")
)


def codex_call(call: str, command: str, code: int, output: str) -> list[dict[str, Any]]:
    """A command and its result, as Codex records them in a session's file."""
    arguments = json.dumps({"cmd": command, "yield_time_ms": 10000})
    text = f"Chunk ID: 1a2b3c\nWall time: 0.0512 seconds\nProcess exited with code {code}\nOutput:\n{output}\n"
    items = (
        {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call},
        {"type": "function_call_output", "call_id": call, "output": text},
    )
    return [{"timestamp": "2026-11-17T10:00:00.000Z", "type": "response_item", "payload": item} for item in items]


class Desk:
    """A home folder, a repository and a memory, for the hooks of one test."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.url = str(folder / "agents.db")
        self.clock: Any = None
        self.repository = self.new_repository(folder / "shop", "git@example.com:acme/shop.git")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("MEMORIST_", "XDG_"))},
            "HOME": str(self.home),
        }

    def new_repository(self, folder: Path, remote: str | None = None) -> Path:
        (folder / ".git").mkdir(parents=True)
        config = "" if remote is None else f'[remote "origin"]\n\turl = {remote}\n'
        (folder / ".git" / "config").write_text(f"[core]\n\tbare = false\n{config}", "utf-8")
        return folder

    def command(self, *arguments: str) -> str:
        """What `memorist` prints, run in this process for the repository; it must succeed."""
        words = [
            word for name in ("install", "uninstall", "status", "mirror") if name in arguments for word in ("--root",)
        ]
        more = [*words, str(self.repository)] if words else []
        result = CliRunner().invoke(
            cli, ["--url", self.url, *arguments, *more], env=self._only(), catch_exceptions=False
        )
        assert result.exit_code == 0, result.output
        return result.stdout

    def _only(self) -> dict[str, str | None]:
        """The environment of this desk, for CliRunner: what it does not have is removed."""
        return {**dict.fromkeys(os.environ), **self.environment}

    def started(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`memorist` as a process, in the repository."""
        command = [sys.executable, "-m", "memorist", "--url", self.url, *arguments]
        return subprocess.run(
            command, cwd=self.repository, env=self.environment, capture_output=True, text=True, timeout=120
        )

    def shell(self, command: str, payload: str) -> subprocess.CompletedProcess[str]:
        """A hook's command line, as a host runs it."""
        return subprocess.run(
            command, shell=True, cwd=self.repository, env=self.environment, input=payload, capture_output=True,
            text=True, timeout=120,
        )  # fmt: skip

    def _transcript(self, agent: str, session: str, words: dict[str, str]) -> Path:
        """The session as Copilot and Codex write it down. Copilot's stop hook does not repeat the answer, and Codex's
        hooks do not say whether a command failed."""
        path = self.home / f"{session}-events.jsonl"
        answer = words.get("answer", "")
        events: list[dict[str, Any]] = [
            {"type": "user.message", "data": {"content": "We decided to ask first."}},
            {"type": "assistant.message", "data": {"content": "Reading.", "toolRequests": [{"name": "view"}]}},
            {"type": "assistant.message", "data": {"content": answer, "toolRequests": []}},
            {"type": "assistant.turn_end", "data": {"turnId": "0"}},
        ]
        if agent == "codex":
            events = [
                *codex_call("call_0", "make earlier", 1, "error: of an earlier turn"),
                {"type": "turn_context", "payload": {"cwd": str(self.repository), "model": "gpt-5"}},
                *codex_call("call_1", words.get("command", ""), 1, words.get("failure", "")),
            ]
        path.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
        return path

    def fire(self, agent: str, moment: str, *, session: str = "s1", cwd: Path | None = None, **words: str) -> str:
        """Fire a hook with the host's documented payload; returns the context it answered."""
        event, payload = PAYLOADS[agent][moment]
        text = json.dumps(payload).replace("SESSION", session).replace("CWD", str(cwd or self.repository))
        for name in ("PROMPT", "ANSWER", "COMMAND", "FAILURE"):
            text = text.replace(name, json.dumps(words.get(name.lower(), ""))[1:-1])
        text = text.replace("TRANSCRIPT", str(self._transcript(agent, session, words)))
        # A hook hides its errors from the host; here they fail the test.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMORIST_STATE", str(self.home / "state"))
            output = run_hook(event, text, agent=agent, url=self.url, user="ada", clock=self.clock)
            assert last_errors() == []
        return context_of(agent, moment, event, output)


def context_of(agent: str, moment: str, event: str, output: str) -> str:
    """The context in an answer, whose shape must be exactly the host's."""
    if not output:
        return ""
    answer = json.loads(output)
    if agent == "cursor":
        assert set(answer) == {"additional_context"}
        return str(answer["additional_context"])
    if agent == "copilot":
        assert set(answer) == {"additionalContext"}
        return str(answer["additionalContext"])
    if agent == "opencode":
        return str(answer["context"])
    assert set(answer) == {"hookSpecificOutput"}
    assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert answer["hookSpecificOutput"]["hookEventName"] == event
    return str(answer["hookSpecificOutput"]["additionalContext"])
