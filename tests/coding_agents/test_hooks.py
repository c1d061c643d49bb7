"""The hooks, fired with the payloads that each agent documents."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memorist import Memory
from memorist.agents.payloads import AGENTS
from memorist.agents.projects import project_of
from memorist.context.tokens import open_counter
from tests.coding_agents.running import PAYLOADS, Desk, codex_call
from tests.server.running import Running


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("agent", AGENTS)
def test_what_was_decided_is_in_the_next_sessions_brief(desk: Desk, agent: str) -> None:
    assert desk.fire(agent, "start") == ""
    desk.fire(agent, "prompt", prompt="We decided to keep SQLite for the cart. Never edit the generated client.")
    brief = desk.fire(agent, "start", session="s2")
    assert "We decided to keep SQLite for the cart." in brief and "Never edit the generated client." in brief
    assert brief.startswith('<memorist project="shop">') and brief.endswith("</memorist>")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_prompt_gets_only_what_is_relevant(desk: Desk, agent: str) -> None:
    desk.fire(agent, "prompt", prompt="Always run the tests with pytest -n 2.")
    desk.fire(agent, "prompt", prompt="We decided to keep SQLite for the cart.")
    answer = desk.fire(agent, "prompt", session="s2", prompt="How do I run the tests?")
    assert "pytest -n 2" in answer and "SQLite" not in answer
    assert desk.fire(agent, "prompt", session="s2", prompt="Write a haiku about clouds") == ""


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Add an endpoint that merges two carts; where may the SQL go?", ["raw SQL"]),
        ("What is left to do for the carts?", ["backfill old carts"]),
        ("What's next?", ["backfill old carts", "rename the flags"]),
        ("What is left of the invoice?", []),
        ("Go on. Is that all?", []),
    ],
)
def test_a_question_inside_a_prompt_is_answered_by_itself(desk: Desk, prompt: str, expected: list[str]) -> None:
    desk.fire("claude-code", "prompt", prompt="Never write raw SQL in views. Always run make proto first.")
    desk.fire("claude-code", "stop", answer="- TODO: backfill old carts with a command.\n- TODO: rename the flags.")
    answer = desk.fire("claude-code", "prompt", session="s2", prompt=prompt)
    assert len(answer.splitlines()) == (len(expected) + 2 if expected else 0), answer
    assert all(words in answer for words in expected)


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if "stop" in PAYLOADS[agent]])
def test_a_stop_keeps_what_was_decided_failed_and_left_open(desk: Desk, agent: str) -> None:
    desk.fire(
        agent, "stop",
        answer="Done.\n- We went with a partial index.\n- Retrying in a loop failed because the lock is not released.\n"
        "- TODO: backfill the old rows.\nHere is some prose that nobody needs again.",
    )  # fmt: skip
    brief = desk.fire(agent, "start", session="s2")
    assert "partial index" in brief and "lock is not released" in brief and "backfill the old rows" in brief
    assert "nobody needs" not in brief


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if "failed-tool" in PAYLOADS[agent]])
def test_a_failed_command_is_in_the_brief(desk: Desk, agent: str) -> None:
    desk.fire(agent, "failed-tool", command="make migrate", failure="error: relation users exists")
    brief = desk.fire(agent, "start", session="s2")
    assert "`make migrate` failed: error: relation users exists" in brief


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if "succeeded-tool" in PAYLOADS[agent]])
def test_a_command_that_succeeds_again_is_no_longer_in_the_brief(desk: Desk, agent: str) -> None:
    desk.fire(agent, "failed-tool", command="make migrate", failure="error: relation users exists")
    desk.fire(agent, "failed-tool", command="make lint", failure="error: unused import")
    desk.fire(agent, "succeeded-tool", command="make migrate")
    brief = desk.fire(agent, "start", session="s2")
    assert "make migrate" not in brief and "`make lint` failed" in brief


def test_codex_reads_from_its_session_which_commands_of_the_turn_failed(desk: Desk) -> None:
    """Codex sends the output of a command to its hooks, and not its exit code."""
    desk.fire("codex", "failed-tool", command="make migrate", failure="error: relation users exists")
    desk.fire("codex", "after-tool", command="make migrate", failure="error: relation users exists")
    brief = desk.fire("codex", "start", session="s2")
    assert "`make migrate` failed" in brief and "earlier turn" not in brief
    calls = [*codex_call("call_1", "make migrate", 2, "again"), *codex_call("call_2", "make migrate", 0, "Done.")]
    session = desk.home / "codex.jsonl"
    session.write_text("cut {\n" + "".join(json.dumps(call) + "\n" for call in calls), "utf-8")
    payload = {"session_id": "s3", "cwd": str(desk.repository), "transcript_path": str(session)}
    command = f"{sys.executable} -m memorist.agents.hook Stop --agent codex --url {desk.url} --user ada"
    assert desk.shell(command, json.dumps(payload)).returncode == 0
    assert "make migrate" not in desk.fire("codex", "start", session="s4")


@pytest.mark.parametrize(
    ("agent", "changes"),
    [
        ("claude-code", {"is_interrupt": True}),
        ("cursor", {"failure_type": "permission_denied"}),
    ],
)
def test_a_command_that_the_user_stopped_has_not_failed(desk: Desk, agent: str, changes: dict[str, Any]) -> None:
    event, payload = PAYLOADS[agent]["failed-tool"]
    text = json.dumps({**payload, "cwd": str(desk.repository), **changes}).replace("COMMAND", "make migrate")
    command = f"{sys.executable} -m memorist.agents.hook {event} --agent {agent} --url {desk.url} --user ada"
    assert desk.shell(command, text).returncode == 0
    assert desk.fire(agent, "start", session="s2") == ""


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_command_that_failed_before_is_warned_of(desk: Desk, agent: str) -> None:
    desk.fire(agent, "failed-tool", command="make  migrate", failure="error: relation users exists")
    assert "relation users exists" in desk.fire(agent, "before-tool", command="make migrate")
    assert desk.fire(agent, "before-tool", command="make test") == ""


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode"])
def test_the_state_of_a_task_survives_a_compaction(desk: Desk, agent: str) -> None:
    desk.fire(agent, "prompt", prompt="Port the checkout page to the new router.")
    desk.fire(agent, "stop", answer="The form is ported, the summary page is next.")
    desk.fire(agent, "before-compaction")
    state = desk.fire(agent, "after-compaction")
    assert "Port the checkout page" in state and "the summary page is next" in state
    assert "checkout" not in desk.fire(agent, "after-compaction")


@pytest.mark.parametrize("agent", ["gemini-cli", "cursor", "copilot"])
def test_hosts_without_an_event_after_a_compaction_get_the_state_with_the_next_prompt(desk: Desk, agent: str) -> None:
    desk.fire(agent, "prompt", prompt="Port the checkout page to the new router.")
    desk.fire(agent, "before-compaction")
    assert "Port the checkout page" in desk.fire(agent, "prompt", prompt="Go on.")
    assert desk.fire(agent, "prompt", prompt="Go on again.") == ""


@pytest.mark.parametrize("agent", AGENTS)
def test_the_state_of_a_task_comes_back_beside_many_notes(desk: Desk, agent: str) -> None:
    for number in range(9):
        desk.fire(
            agent, "prompt", session="s0",
            prompt=f"We decided to use library{number} for the component called basket{number} of the shop. "
            f"Always run check{number} before you commit the module delta{number} to the main branch. "
            f"TODO: write tests for the module epsilon{number}, including the case of an empty basket.",
        )  # fmt: skip
    desk.fire(agent, "prompt", session="s0", prompt="I prefer small commits with tests.")
    desk.fire(agent, "prompt", prompt="Port the checkout page. " + "Keep the old one behind a flag meanwhile. " * 9)
    desk.fire(agent, "stop", answer="The form is ported. " + "The summary page needs a loader of its own. " * 9)
    desk.fire(agent, "prompt", prompt="Go on with the summary page. " + "Its loader is too slow for the report. " * 9)
    desk.fire(agent, "before-compaction")
    if "after-compaction" in PAYLOADS[agent]:
        brief = desk.fire(agent, "after-compaction")
        assert "library8" in brief and "epsilon8" in brief and "small commits" in brief
    else:
        brief = desk.fire(agent, "prompt", prompt="Which library does basket8 use?")
        assert "library8" in brief
    assert "Port the checkout page" in brief and "Go on with the summary page" in brief
    assert open_counter("estimate").count(brief) <= 700


def test_a_project_never_sees_another_projects_notes(desk: Desk, tmp_path: Path) -> None:
    other = desk.new_repository(tmp_path / "bank", "https://example.com/acme/bank.git")
    desk.fire("claude-code", "prompt", prompt="We decided to use Kafka for payments.")
    desk.fire("claude-code", "prompt", prompt="I prefer small commits with tests.")
    brief = desk.fire("claude-code", "start", session="s2", cwd=other)
    assert "Kafka" not in brief and "small commits" in brief
    assert "Kafka" not in desk.fire("claude-code", "prompt", session="s2", cwd=other, prompt="Use Kafka for payments?")
    clone = desk.new_repository(tmp_path / "elsewhere" / "shop", "https://example.com/acme/shop")
    assert "Kafka" in desk.fire("claude-code", "start", session="s3", cwd=clone / ".git" / "..")


def test_what_is_private_ignored_or_secret_is_never_stored(desk: Desk) -> None:
    (desk.repository / ".memoristignore").write_text("internal/\n*.sql\n", "utf-8")
    key = "sk-proj-abcdEFGH1234567890abcdEFGH1234567890abcd"
    desk.fire(
        "claude-code", "prompt",
        prompt=f"<private>We decided to fire Bob.</private>\nAlways use the key {key} here.\n"
        "Never touch internal/payroll.py in this repo.\nAlways load seeds.sql first.\nAlways format with ruff.",
    )  # fmt: skip
    desk.fire("claude-code", "failed-tool", command="cat .env", failure="no such file")
    content = b"".join(path.read_bytes() for path in Path(desk.url).parent.glob("agents.db*"))
    for word in (b"Bob", key.encode(), b"payroll", b"seeds.sql", b"cat .env"):
        assert word not in content
    assert "Always format with ruff." in desk.fire("claude-code", "start", session="s2")


def test_hooks_of_two_hosts_that_fire_for_one_prompt_answer_once(desk: Desk) -> None:
    desk.fire("claude-code", "prompt", prompt="Always run the tests with pytest -n 2.")
    assert desk.fire("claude-code", "prompt", session="s2", prompt="How do I run the tests?") != ""
    assert desk.fire("copilot", "prompt", session="s2", prompt="How do I run the tests?") == ""


def test_injected_text_is_not_remembered_again(desk: Desk) -> None:
    desk.fire("claude-code", "prompt", prompt='Go on.\n<memorist project="x">\n- We decided to use Perl.\n</memorist>')
    assert "Perl" not in desk.fire("claude-code", "start", session="s2")


@pytest.mark.parametrize("payload", ["", "{", "[1]", '{"hook_event_name": 7}', '{"hook_event_name": "Unknown"}'])
def test_a_hook_never_fails_its_host(desk: Desk, payload: str) -> None:
    for url in (desk.url, "/nowhere/at/all.db"):
        command = f"{sys.executable} -m memorist.agents.hook Stop --agent claude-code --url {url} --user ada"
        process = desk.shell(command, payload)
        assert (process.returncode, process.stdout) == (0, "")


def test_doctor_shows_what_went_wrong(desk: Desk) -> None:
    desk.fire("claude-code", "start")
    command = f"{sys.executable} -m memorist.agents.hook Stop --agent codex --url {desk.url} --user ada"
    assert desk.shell(command, "{").stdout == ""
    process = desk.started("--json", "doctor")
    assert process.returncode == 1
    problems = json.loads(process.stdout)["problems"]
    assert len(problems) == 1 and "hook Stop of codex" in problems[0] and "DecodeError" in problems[0]
    assert json.loads(desk.started("--json", "doctor", "--clear-hooks").stdout)["problems"] == []


def test_doctor_needs_no_url_to_show_what_went_wrong(desk: Desk) -> None:
    def doctor(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "memorist", "doctor", *options], cwd=desk.repository, env=desk.environment,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    assert "there is no memory at 'memorist.db'" in doctor().stderr
    hook = f"{sys.executable} -m memorist hook"
    assert desk.shell(f"{hook} Stop", "{").returncode == 0
    process = doctor()
    assert process.returncode == 1 and "hook Stop of claude-code" in process.stderr and "DecodeError" in process.stderr
    # The first hook creates the memory that all agents share, installed or not.
    assert desk.shell(f"{hook} SessionStart", json.dumps({"cwd": str(desk.repository)})).returncode == 0
    process = doctor()
    assert process.returncode == 1 and "hook Stop of claude-code" in process.stdout and "agents.db" in process.stdout
    assert doctor("--clear-hooks").returncode == 0


def test_a_hook_inside_a_hook_does_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("MEMORIST_HOOK", "1")
        desk.fire("claude-code", "prompt", prompt="We decided to keep SQLite for the cart.")
    assert desk.fire("claude-code", "start", session="s2") == ""


def test_the_command_of_the_command_line_answers_the_same(desk: Desk) -> None:
    desk.fire("claude-code", "prompt", prompt="We decided to keep SQLite for the cart.")
    event, payload = PAYLOADS["claude-code"]["start"]
    text = json.dumps(payload).replace("CWD", str(desk.repository))
    command = [sys.executable, "-m", "memorist", "--url", desk.url, "--user", "ada", "hook", event]
    process = subprocess.run(command, env=desk.environment, input=text, capture_output=True, text=True, timeout=60)
    assert "SQLite for the cart" in process.stdout and process.returncode == 0


@pytest.mark.parametrize(
    "words", ["memorist.agents.hook UserPromptSubmit --url URL", "memorist --url URL hook UserPromptSubmit"]
)
def test_a_hook_loads_neither_the_command_line_nor_vectors_nor_a_tokenizer(desk: Desk, words: str) -> None:
    """Each of them costs a good part of the 150 ms of CPU time that a hook may take."""
    desk.fire("claude-code", "prompt", prompt="Always run the tests with pytest -n 2.")
    _, payload = PAYLOADS["claude-code"]["prompt"]
    text = json.dumps(payload).replace("CWD", str(desk.repository)).replace("PROMPT", "How do I run the tests?")
    command = [sys.executable, "-X", "importtime", "-m", *words.replace("URL", desk.url).split(), "--user", "ada"]
    process = subprocess.run(command, env=desk.environment, input=text, capture_output=True, text=True, timeout=60)
    assert "pytest -n 2" in process.stdout
    modules = {line.rpartition("|")[2].strip() for line in process.stderr.splitlines()}
    assert "memorist.agents.answering" in modules
    assert not modules & {
        "memorist.memory",
        "memorist.blocking.memory",
        "memorist.engine.derive.deriving",
        "click",
        "numpy",
        "splintr",
        "httpx",
        "asyncio",
        "memorist.cli.main",
        "memorist.recall.ranking",
        "json.decoder",
    }


def test_a_hook_loads_msgspec_without_typing_extensions(desk: Desk) -> None:
    """It takes a tenth of a hook's time, and msgspec works without it."""
    script = (
        "import os, sys; from memorist.agents import hook; "
        "os._exit = lambda status: print(sorted({'msgspec', 'typing_extensions'} & sys.modules.keys())); "
        "hook.main(hook.Options('Unknown', url='m.db'))"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], env=desk.environment, input="", capture_output=True, text=True, timeout=60
    )
    assert process.stdout.strip() == "['msgspec']", process.stderr


def test_a_hook_may_use_a_memory_on_a_server(desk: Desk, tmp_path: Path) -> None:
    server = Running(str(tmp_path / "server.db"))
    server.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MEMORIST_API_KEY", server.key())
            desk.url = server.url
            desk.fire("claude-code", "prompt", prompt="We decided to keep SQLite for the cart.")
            brief = desk.fire("claude-code", "start", session="s2")
    finally:
        server.stop()
    assert "We decided to keep SQLite for the cart." in brief


def test_a_hooks_command_line_with_anything_else_goes_to_the_command_line(desk: Desk) -> None:
    process = desk.started("hook", "--help")
    assert process.returncode == 0 and "--agent" in process.stdout


def test_notes_have_their_sources(desk: Desk) -> None:
    desk.fire("claude-code", "stop", answer="We went with a partial index.")
    with Memory(desk.url, worker=False, embedder=None) as memory:
        namespace = project_of(desk.repository).namespace
        fact = next(fact for fact in memory.facts.list(namespace) if "decision" in fact.tags)
        assert fact.metadata["agent"] == "claude-code" and fact.metadata["session"] == "s1"
        assert [message.text for message in memory.why(f"{namespace}/{fact.key}").messages] == [fact.value]


def test_notes_from_a_prompt_have_the_prompt_as_their_source(desk: Desk) -> None:
    prompt = "We decided to keep SQLite for the cart. I prefer small commits with tests."
    desk.fire("claude-code", "prompt", prompt=prompt)
    with Memory(desk.url, worker=False, embedder=None) as memory:
        namespace = project_of(desk.repository).namespace
        for space in (namespace, "user:ada"):
            [fact] = [fact for fact in memory.facts.list(space) if fact.tags]
            assert [message.text for message in memory.why(f"{space}/{fact.key}").messages] == [prompt]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "ANSWER"}]}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "ANSWER"}],
            },
        },
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "ANSWER"}]}},
    ],
)
def test_an_answer_missing_from_the_payload_is_read_from_the_transcript(desk: Desk, event: dict[str, Any]) -> None:
    path = desk.home / "transcript.jsonl"
    lines = [json.dumps({"type": "user", "message": {"role": "user", "content": "We decided nothing."}})]
    lines += ["damaged {", json.dumps(event).replace("ANSWER", "We went with a partial index.")]
    path.write_text("\n".join([*lines, json.dumps({"type": "system", "subtype": "end"})]) + "\n", "utf-8")
    payload = {"session_id": "s1", "cwd": str(desk.repository), "transcript_path": str(path)}
    command = f"{sys.executable} -m memorist.agents.hook Stop --agent claude-code --url {desk.url} --user ada"
    assert desk.shell(command, json.dumps(payload)).returncode == 0
    brief = desk.fire("claude-code", "start", session="s2")
    assert "partial index" in brief and "decided nothing" not in brief


def test_repositories_are_known_by_their_remote(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    urls = (
        "git@example.com:acme/app.git",
        "https://user:pass@example.com/acme/app",
        "ssh://git@example.com/acme/app.git",
    )
    spaces = {project_of(desk.new_repository(tmp_path / str(number), url)).namespace for number, url in enumerate(urls)}
    assert len(spaces) == 1
    assert project_of(desk.new_repository(tmp_path / "a")).namespace != project_of(tmp_path / "home").namespace
