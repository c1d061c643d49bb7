"""Messages read by a model over HTTP: several per call, the cost counted, the patterns standing in when it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from memorist.engine.derive.outbox import MAX_ATTEMPTS, Outbox
from memorist.models.anthropic import open_anthropic
from memorist.models.openai import open_openai
from memorist.models.retry import Retry
from memorist.runtime import Runtime
from memorist.testing import FakeClock
from memorist_testing.plugin import Run
from tests.models.wire_server import Reply, WireServer, anthropic_answer, openai_answer, serving

from .conftest import OpenMemory, do
from .models import item

NEW = re.compile(r"^(m\d+) \(.*? UTC\) user: (.*)$", re.M)


class Reader(WireServer):
    """Answers as a provider would: notes where people live and what they like, one item for each message that says."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: str | None = None
        """A word that spoils the answer for all messages of a call."""
        self.down: int | None = None
        """The status of every answer while the model is away."""
        self.cut: str | None = None
        """A word of a message for which the answer ends in the middle of a further item."""
        self.loops = 0
        """How often the answer repeats itself before it is cut off."""

    def reply(self, path: str) -> Reply:
        if self.down:
            return Reply({"error": {"message": "overloaded"}}, status=self.down)
        prompt = "\n".join(str(message["content"]) for message in self.requests[-1]["messages"])
        operations = []
        for number, text in NEW.findall(prompt):
            if self.bad and self.bad in text:
                return self._reply_with(path, {"operations": "none"})
            city = re.search(r"I live in (\w+)", text)
            if city:
                operations.append(item("location", city[1], city[0], m=number))
            liked = re.search(r"I like (\w+)", text)
            if liked:
                operations.append(item(f"likes.{liked[1]}", liked[1], liked[0], m=number))
        if self.cut and self.cut in prompt[prompt.rindex("# NEW") :]:
            text = json.dumps({"operations": [*operations, item("boats", 7, 'I have 7 "[boats]"')]})
            return Reply(openai_answer(text[:-40], stop="length"))
        if self.loops:
            text = json.dumps({"operations": operations * self.loops})
            return Reply(openai_answer(text[:-40], stop="length"))
        return self._reply_with(path, {"operations": operations})

    def _reply_with(self, path: str, data: Any) -> Reply:
        completion = (
            anthropic_answer(data=data, stop="tool_use") if "chat" not in path else openai_answer(json.dumps(data))
        )
        return Reply(completion)


@pytest.fixture
def server() -> Iterator[Reader]:
    with serving(Reader()) as wire:
        assert isinstance(wire, Reader)
        yield wire


@pytest.fixture(params=["anthropic", "openai"])
def model(request: pytest.FixtureRequest, server: Reader, runtime: Runtime) -> Any:
    retry, blocking = Retry(attempts=1, first=0.001), runtime.blocking
    if request.param == "anthropic":
        return open_anthropic("claude-haiku-4-5", blocking=blocking, api_key="k", base_url=server.url, retry=retry)
    return open_openai("llama3", blocking=blocking, api_key="k", base_url=f"{server.url}/v1", retry=retry)


async def append_talk(memory: Any, *texts: str) -> list[Any]:
    await do(memory.threads.create("user:ada", id="talk"))
    for number, text in enumerate(texts):
        await do(memory.threads.append("talk", text))
        await do(memory.threads.append("talk", {"role": "assistant", "content": f"Noted {number}."}))
    receipts: list[Any] = await do(memory.threads.append("talk", "That is all."))
    return receipts


async def test_twenty_messages_take_few_calls_whose_cost_stats_shows(
    open_memory: OpenMemory, server: Reader, model: Any, run: Run
) -> None:
    memory = open_memory(model=model)
    receipts = await append_talk(memory, "I live in Porto.", *(f"I like {word}" for word in LIKED))
    assert [receipt.derived for receipt in await do(memory.wait(receipts))] == ["done"]
    facts = {fact.key: fact.value for fact in await do(memory.facts.list("user:ada"))}
    assert facts == {"location": "Porto", **{f"likes.{word}": word for word in LIKED}}
    assert len(server.requests) == 4
    assert all(request["temperature"] == 0 for request in server.requests)
    spent = (await do(memory.stats())).reading
    assert (spent.calls, spent.messages) == (4, 20)
    assert (spent.input_tokens, spent.output_tokens) == (64, 28)
    assert (spent.input_tokens_per_1000, spent.output_tokens_per_1000) == (3200, 1400)
    assert (spent.accepted, spent.refused, spent.accepted_per_1000) == (19, 0, 950)


async def test_a_message_that_spoils_a_call_is_read_by_patterns_and_the_others_by_the_model(
    open_memory: OpenMemory, server: Reader, model: Any, run: Run
) -> None:
    server.bad = "Lisbon"
    memory = open_memory(model=model)
    await append_talk(memory, "I like tea", "I live in Lisbon.", "I like figs")
    await Outbox(memory._core.shared, memory.org).drain()
    facts = {fact.key: fact.reason for fact in await do(memory.facts.list("user:ada"))}
    assert set(facts) == {"likes.tea", "location", "likes.figs"}
    assert [key for key, reason in facts.items() if "by en." in (reason or "")] == ["location"]
    (dead,) = await do(memory.jobs.dead())
    assert (dead.queue, dead.payload) == ("reread", {"seqs": [3]})
    # Together and repaired, then one by one, of which the bad one is repaired too.
    assert (await do(memory.stats())).reading.calls == 2 + 5


async def test_what_is_whole_in_an_answer_that_was_cut_off_is_noted(
    open_memory: OpenMemory, server: Reader, runtime: Runtime, run: Run
) -> None:
    """A small model often runs into the limit of its answer: that costs the item it was at, and nothing else."""
    server.cut = "figs"
    model = open_openai("llama3", blocking=runtime.blocking, api_key="k", base_url=f"{server.url}/v1")
    memory = open_memory(model=model)
    await append_talk(memory, "I like tea", "I like figs")
    await Outbox(memory._core.shared, memory.org).drain()
    assert {fact.key for fact in await do(memory.facts.list("user:ada"))} == {"likes.tea", "likes.figs"}
    assert await do(memory.jobs.dead()) == []
    assert (await do(memory.stats())).reading.refused == 1, "the item that was cut off"
    messages = await do(memory.threads.messages("talk"))
    (fact,) = [fact for fact in await do(memory.facts.list("user:ada")) if fact.key == "likes.figs"]
    assert fact.sources == (messages[2].id,)


async def test_an_answer_that_repeats_itself_until_it_is_cut_off_is_not_asked_for_again(
    open_memory: OpenMemory, server: Reader, runtime: Runtime, run: Run
) -> None:
    """The smallest models write one operation again and again; asked message by message they would do the same."""
    server.loops = 9
    model = open_openai("llama3", blocking=runtime.blocking, api_key="k", base_url=f"{server.url}/v1")
    memory = open_memory(model=model)
    await append_talk(memory, "I like tea", "I like figs")
    await Outbox(memory._core.shared, memory.org).drain()
    assert {fact.key for fact in await do(memory.facts.list("user:ada"))} == {"likes.tea", "likes.figs"}
    assert len(server.requests) == 1
    spent = (await do(memory.stats())).reading
    assert (spent.calls, spent.output_tokens) == (1, 7), "an answer that was cut off has its price too"


@pytest.mark.parametrize("status", [503, 401, 404])
async def test_patterns_stand_in_while_the_model_is_away_and_it_reads_again_when_it_is_back(
    open_memory: OpenMemory, server: Reader, model: Any, clock: FakeClock, run: Run, status: int
) -> None:
    server.down = status  # overloaded, an expired key, or a wrong name
    memory = open_memory(model=model)
    await append_talk(memory, "I live in Lisbon.", "I like figs")
    for _ in range(MAX_ATTEMPTS + 1):
        await Outbox(memory._core.shared, memory.org).drain()
        clock.advance(500)
    facts = {fact.key: fact for fact in await do(memory.facts.list("user:ada"))}
    assert set(facts) == {"location"}
    assert all("by en." in (fact.reason or "") for fact in facts.values())
    assert (await do(memory.stats())).dead_letters == 0
    server.down = None
    clock.advance(7_200)
    await Outbox(memory._core.shared, memory.org).drain()
    again = {fact.key: fact for fact in await do(memory.facts.list("user:ada"))}
    assert {key: fact.value for key, fact in again.items()} == {"location": "Lisbon", "likes.figs": "figs"}
    assert all("by en." not in (fact.reason or "") for fact in again.values())
    assert all(again[key].confidence == fact.confidence for key, fact in facts.items()), "read twice is not said twice"
    assert [queue.waiting for queue in await do(memory.jobs.backlog())] == [0, 0]


LIKED = (
    "tea", "figs", "jazz", "chess", "cycling", "sushi", "opera", "rain", "snow", "maps", "trains", "cats", "dogs",
    "books", "salsa", "mangoes", "plums", "pears",
)  # fmt: skip
