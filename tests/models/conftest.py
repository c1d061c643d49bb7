from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from memorist.models import Model, iterate
from memorist.models.anthropic import open_anthropic
from memorist.models.openai import open_openai
from memorist.runtime import run_blocking

from .wire_server import Reply, WireServer, anthropic_answer, anthropic_stream, openai_answer, openai_stream, serving

T = TypeVar("T")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with serving() as wire:
        yield wire


class Bench:
    """One provider in one flavour, against the local server; waits between tries are noted, not slept."""

    def __init__(self, provider: str, blocking: bool, server: WireServer) -> None:
        self.provider, self.blocking, self.server = provider, blocking, server
        self.slept: list[float] = []
        if provider == "anthropic":
            self.model: Model = open_anthropic(
                "claude-haiku-4-5", blocking=blocking, api_key="key-1", base_url=server.url, sleep=self._sleep
            )
        else:
            self.model = open_openai(
                "llama3", blocking=blocking, api_key="key-1", base_url=f"{server.url}/v1", sleep=self._sleep
            )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        if self.blocking:
            return run_blocking(work)
        return asyncio.run(work)

    def ask(self, text: str = "hello", **options: Any) -> Any:
        options.setdefault("max_tokens", 50)
        return self.run(self.model.complete([{"role": "user", "content": text}], **options))

    def pieces(self, **options: Any) -> list[str]:
        stream = self.model.stream([{"role": "user", "content": "hello"}], max_tokens=50, **options)
        if self.blocking:
            return list(iterate(stream))

        async def collect() -> list[str]:
            return [piece async for piece in stream]

        return asyncio.run(collect())

    def text(self, text: str, *, cut: bool = False) -> Reply:
        if self.provider == "anthropic":
            return Reply(anthropic_answer(text, stop="max_tokens" if cut else "end_turn"))
        return Reply(openai_answer(text, stop="length" if cut else "stop"))

    def json(self, data: Any) -> Reply:
        if self.provider == "anthropic":
            return Reply(anthropic_answer(data=data, stop="tool_use"))
        import json

        return Reply(openai_answer(json.dumps(data)))

    def events(self, *pieces: str) -> Reply:
        stream = anthropic_stream(*pieces) if self.provider == "anthropic" else openai_stream(*pieces)
        return Reply(pieces=stream, kind="text/event-stream")


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[True, False], ids=["blocking", "async"])
def bench(request: pytest.FixtureRequest, provider: str, server: WireServer) -> Iterator[Bench]:
    provider_bench = Bench(provider, request.param, server)
    yield provider_bench
    provider_bench.run(provider_bench.model.close())
