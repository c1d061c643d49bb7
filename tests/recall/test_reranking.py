"""Rerankers, other wordings and further questions, and vectors of two embedders, on every store."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from memorist.errors import UsageError
from memorist.types import Completion, Usage

from .conftest import WordHashes
from .test_promises import ADA, hit_texts, thread

SAID = ("The caravan crossed the desert", "The caravan rested in the desert at noon", "The caravan was sold")


def prefers(word: str) -> Any:
    """A reranker to which one word is everything."""
    return lambda query, texts: [float(word in text) for text in texts]


async def test_a_reranker_decides_the_order_and_says_what_it_cost(open_memory: Any) -> None:
    plain = open_memory()
    await thread(plain, *SAID)
    first = await hit_texts(plain, "caravan desert")
    assert first[0] != SAID[2]
    hits = await open_memory(reranker=prefers("sold")).recall("caravan desert", namespaces=ADA)
    assert hits[0].text == SAID[2]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    note = next(reason.note for reason in hits[0].reasons if reason.signal == "reranker")
    assert "3 texts" in note
    assert "ms" in note


async def test_the_first_ranking_stands_where_a_reranker_fails(open_memory: Any) -> None:
    def broken(query: str, texts: Sequence[str]) -> list[float]:
        raise ConnectionError("no one there")

    plain, memory = open_memory(), open_memory(reranker=broken)
    await thread(plain, *SAID)
    hits = await memory.recall("caravan desert", namespaces=ADA)
    assert [hit.text for hit in hits] == await hit_texts(plain, "caravan desert")
    assert any("failed" in reason.note for reason in hits[0].reasons)
    assert any(problem.startswith("reranker: ModelError") for problem in (await memory.doctor()).problems)


async def test_the_first_ranking_stands_where_a_reranker_is_late(open_memory: Any) -> None:
    class Late:
        name = "late"
        time_limit = 0.05

        def __init__(self) -> None:
            self.go = threading.Event()

        def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
            self.go.wait(60)
            return [float("sold" in text) for text in texts]

    late = Late()
    plain, memory = open_memory(), open_memory(reranker=late)
    await thread(plain, *SAID)
    hits = await memory.recall("caravan desert", namespaces=ADA)
    late.go.set()
    assert [hit.text for hit in hits] == await hit_texts(plain, "caravan desert")
    assert any("no answer in 0.05 s" in reason.note for reason in hits[0].reasons)


class Scripted:
    """A model whose answers depend on what it is asked for."""

    name = "scripted"

    def __init__(self, blocking: bool, **answers: Any) -> None:
        self.blocking = blocking
        self.answers = answers
        self.calls = 0

    async def complete(self, messages: Any, *, schema: Any = None, **options: Any) -> Completion:
        self.calls += 1
        [key] = schema["properties"]
        scripted = self.answers[key]
        data = {key: scripted(json.loads(messages[-1]["content"])) if callable(scripted) else scripted}
        return Completion(json.dumps(data), data, usage=Usage(120, 7), model=self.name)

    async def close(self) -> None:
        """Nothing to let go of."""


async def test_the_language_model_reranks_and_its_tokens_are_told(open_memory: Any, runtime: Any) -> None:
    model = Scripted(runtime.blocking, scores=lambda request: [10 * ("sold" in text) for text in request["texts"]])
    memory = open_memory(model=model, reranker="model")
    await thread(memory, *SAID)
    hits = await memory.recall("caravan desert", namespaces=ADA)
    assert hits[0].text == SAID[2]
    assert any("120 tokens in, 7 out" in reason.note for reason in hits[0].reasons)


async def test_other_wordings_find_what_the_question_does_not_name(open_memory: Any, runtime: Any) -> None:
    model = Scripted(runtime.blocking, questions=["camels in the dunes"])
    memory = open_memory(model=model, embedder=None)
    for text in ("Camels walked over the dunes", "Bread is baked at dawn"):
        await thread(memory, text)
    assert "Camels walked over the dunes" not in await hit_texts(memory, "caravan bread")
    assert model.calls == 0
    hits = await memory.recall("caravan bread", namespaces=ADA, expand=True)
    by_wording = next(hit for hit in hits if hit.text.startswith("Camels"))
    assert any("camels in the dunes" in reason.note for reason in by_wording.reasons)
    assert model.calls == 1


async def test_a_second_hop_looks_up_what_the_first_led_to(open_memory: Any, runtime: Any) -> None:
    def following(request: Any) -> list[str]:
        return ["Who is Mira Sol"] if any("Mira Sol" in text for text in request.get("texts", ())) else []

    memory = open_memory(model=Scripted(runtime.blocking, questions=following), embedder=None)
    for text in ("The pump was mended by Mira Sol", "Mira Sol runs a workshop in Faro"):
        await thread(memory, text)
    assert not any("Faro" in text for text in await hit_texts(memory, "town where the pump is mended"))
    hits = await memory.recall("town where the pump is mended", namespaces=ADA, hops=2)
    assert any("Faro" in hit.text for hit in hits)


async def test_expanding_needs_a_model(open_memory: Any) -> None:
    memory = open_memory()
    for options in ({"expand": True}, {"hops": 2}, {"hops": 0}, {"hops": 9}):
        with pytest.raises(UsageError, match=r"model|hops"):
            await memory.recall("caravan", namespaces=ADA, **options)
    with pytest.raises(UsageError, match="model="):
        open_memory(reranker="model")


async def test_vectors_of_two_embedders_are_searched_while_one_replaces_the_other(open_memory: Any) -> None:
    old = open_memory(embedder="default")
    await thread(old, "My kitten naps on the sofa", "The bank raised its interest rate", "We painted the shed green")
    assert await old.recall("a cat asleep", namespaces=ADA)
    new = open_memory(embedder=WordHashes("new", 16))
    await thread(new, "Oslo is cold in winter")
    for _ in range(2):
        hits = await new.recall("a cat asleep", namespaces=ADA)
        best = next(hit for hit in hits if hit.text.startswith("My kitten"))
        assert hits[0] == best
    await new.process("reindex")
    assert not [hit for hit in await new.recall("a cat asleep", namespaces=ADA) if hit.cosine is None]
