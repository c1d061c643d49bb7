from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memorist import FactExtractor, Memory
from memorist.errors import ModelError, UsageError
from memorist.models import DEFAULT_MODEL, Completion, Model, iterate, open_model
from memorist.models.base import parse_json
from memorist.models.openai import is_strict
from memorist.runtime import run_blocking

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-1")
    monkeypatch.setenv("OPENAI_API_KEY", "key-1")


def test_a_name_opens_the_provider_s_adapter() -> None:
    assert open_model("anthropic:claude-haiku-4-5", blocking=True).name == "anthropic:claude-haiku-4-5"
    assert open_model("openai:gpt-5-mini", blocking=False).name == "openai:gpt-5-mini"


def test_anthropic_alone_means_the_documented_default() -> None:
    assert open_model("anthropic", blocking=True).name == DEFAULT_MODEL == "anthropic:claude-haiku-4-5"


def test_a_base_url_follows_an_at_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    model: Any = open_model("openai:llama3:8b@http://localhost:11434/v1", blocking=True)
    assert model.name == "openai:llama3:8b"
    assert str(model._client.base_url) == "http://localhost:11434/v1/"


def test_a_missing_openai_key_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_model("openai:gpt-5-mini", blocking=True)


def test_a_missing_anthropic_key_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("HOME", "/nonexistent")
    model = open_model("anthropic:claude-haiku-4-5@http://127.0.0.1:9", blocking=True)
    with pytest.raises(ModelError):
        run_blocking(model.complete(HELLO, max_tokens=5))


@pytest.mark.parametrize("spec", ["gemini:x", "", "openai", "openai:", 7, None])
def test_what_is_no_model_is_a_usage_error(spec: Any) -> None:
    with pytest.raises(UsageError):
        open_model(spec, blocking=True)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_missing_extra_names_the_install_command(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, provider, None)
    monkeypatch.delitem(sys.modules, f"memorist.models.{provider}", raising=False)
    with pytest.raises(UsageError, match=rf'pip install "\.\[{provider}\]"'):
        open_model(f"{provider}:x", blocking=True)


def test_importing_the_factory_imports_no_sdk() -> None:
    import subprocess

    code = "import sys, memorist.models, memorist.extract; print({'anthropic', 'openai', 'anyio'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"


def test_a_function_is_a_model_in_both_flavours() -> None:
    def shout(prompt: str) -> str:
        return prompt.upper()

    answer = run_blocking(open_model(shout, blocking=True).complete(HELLO, max_tokens=5))
    assert answer.text == "HELLO"
    assert asyncio.run(open_model(shout, blocking=False).complete(HELLO, max_tokens=5)).text == "HELLO"


def test_a_function_is_run_through_the_given_call() -> None:
    used: list[str] = []

    async def call(function: Any, *args: Any) -> Any:
        used.append(function.__name__)
        return function(*args)

    def shout(prompt: str) -> str:
        return prompt.upper()

    asyncio.run(open_model(shout, blocking=False, call=call).complete(HELLO, max_tokens=5))
    assert used == ["shout"]


def test_an_async_function_is_refused_by_a_blocking_memory() -> None:
    async def shout(prompt: str) -> str:
        return prompt.upper()

    with pytest.raises(UsageError, match="AsyncMemory"):
        open_model(shout, blocking=True)
    assert asyncio.run(open_model(shout, blocking=False).complete(HELLO, max_tokens=5)).text == "HELLO"


def test_an_object_with_an_async_call_is_refused_by_a_blocking_memory() -> None:
    class Shouter:
        async def __call__(self, prompt: str) -> str:
            return prompt.upper()

    with pytest.raises(UsageError, match="AsyncMemory"):
        open_model(Shouter(), blocking=True)
    assert asyncio.run(open_model(Shouter(), blocking=False).complete(HELLO, max_tokens=5)).text == "HELLO"


class Own:
    name = "own"

    async def complete(self, messages: Any, **options: Any) -> Completion:
        return Completion("mine")


def test_a_user_s_own_async_model_is_refused_by_a_blocking_memory() -> None:
    with pytest.raises(UsageError, match="AsyncMemory"):
        open_model(Own(), blocking=True)
    assert open_model(Own(), blocking=False) is not None


def test_a_user_s_own_model_may_declare_that_it_blocks() -> None:
    own = Own()
    own.blocking = True  # type: ignore[attr-defined]
    assert run_blocking(open_model(own, blocking=True).complete(HELLO, max_tokens=5)).text == "mine"
    with pytest.raises(UsageError, match="event loop"):
        open_model(own, blocking=False)


def test_a_function_sees_system_turns_and_schema() -> None:
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return '```json\n{"a": 1}\n```'

    turns = [*HELLO, {"role": "assistant", "content": [{"type": "text", "text": "yes?"}]}]
    model = open_model(answer, blocking=True)
    completion = run_blocking(model.complete(turns, system="Be brief.", max_tokens=5, schema={"type": "object"}))
    assert completion.data == {"a": 1}
    assert prompts[0].startswith("Be brief.\n\nuser: hello\n\nassistant: yes?\n\nAnswer with JSON only")


def test_a_failing_function_is_a_retryable_model_error_without_content() -> None:
    def broken(prompt: str) -> str:
        raise OSError(f"no answer for {prompt}")

    with pytest.raises(ModelError) as caught:
        run_blocking(open_model(broken, blocking=True).complete(HELLO, max_tokens=5))
    assert caught.value.retryable
    assert "hello" not in str(caught.value)


@pytest.mark.parametrize("answer", ["", "   ", None, 7])
def test_a_function_that_gives_no_text_is_an_error(answer: Any) -> None:
    with pytest.raises(ModelError):
        run_blocking(open_model(lambda prompt: answer, blocking=True).complete(HELLO, max_tokens=5))


def test_a_function_streams_its_answer_as_one_piece() -> None:
    model = open_model(lambda prompt: "one", blocking=True)
    assert list(iterate(model.stream(HELLO, max_tokens=5))) == ["one"]


def test_adapters_fulfil_the_port() -> None:
    assert isinstance(open_model("anthropic", blocking=True), Model)
    assert isinstance(open_model(str.upper, blocking=True), Model)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("```json\n[1]\n```", [1]),
        ("```\n2\n```", 2),
        ("no", None),
        ("", None),
        ('{"a": ', None),
    ],
)
def test_json_is_found_in_an_answer(text: str, value: Any) -> None:
    assert parse_json(text) == value


def test_deep_json_is_no_crash() -> None:
    assert parse_json("[" * 200_000) is None


def test_strictness_is_recognised() -> None:
    closed = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    assert is_strict(closed)
    assert not is_strict({**closed, "required": []})
    assert not is_strict({"type": "array", "items": {"type": "object", "properties": {}}})


class Part:
    """A model, embedder, reranker and counter in one, which notes when somebody closes it."""

    name = "part"
    dimensions = 2
    blocking = True

    def __init__(self) -> None:
        self.is_closed = False

    async def complete(self, messages: Any, **options: Any) -> Completion:
        return Completion('{"operations": []}', data={"operations": []})

    async def stream(self, messages: Any, **options: Any) -> AsyncIterator[str]:
        yield ""

    def embed(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 2))

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return [1.0] * len(texts)

    def count(self, text: str) -> int:
        return len(text)

    async def close(self) -> None:
        self.is_closed = True


def test_closing_a_memory_leaves_the_parts_open_that_it_was_given(tmp_path: Path) -> None:
    part = Part()
    options: dict[str, Any] = {"model": part, "embedder": part, "reranker": part, "counter": part}
    with Memory(tmp_path / "memory.db", **options) as memory:
        memory.threads.append("talk", "My name is Grace.", create="user:ada")
        memory.jobs.drain()
        memory.recall("Grace", namespaces="user:ada")
        memory.process(FactExtractor(part))
    assert not part.is_closed
