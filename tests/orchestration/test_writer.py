"""The memory writer end to end: a model's operations become memories, each accepted or refused on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from memorist import Extraction, UsageError
from tests.orchestration.conftest import OpenMemory, do


class Customer(msgspec.Struct):
    """What we know of a customer."""

    tier: str
    seats: int = 0


def scripted(*answers: list[dict[str, Any]]) -> tuple[Callable[[str], str], list[str]]:
    """A model that answers with these operations in turn, and the prompts it got."""
    prompts: list[str] = []
    left = list(answers)

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return msgspec.json.encode({"operations": left.pop(0) if left else []}).decode()

    return model, prompts


def operation(quote: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"op": "add", "m": "m1", "quote": quote, "text": text, "kind": "fact", "confidence": 0.9, **fields}


async def tell(memory: Any, *texts: str, thread: str = "talk") -> None:
    receipts = await do(memory.threads.append(thread, *texts, create="user:ada"))
    await do(memory.wait(receipts))


async def test_each_item_is_accepted_or_refused_on_its_own(open_memory: OpenMemory) -> None:
    model, prompts = scripted([
        operation("I moved to Porto", "The user lives in Porto.", key="location", value="Porto"),
        operation("My sister Clara", "The user is called Clara.", key="name", value="Clara"),
        operation("My sister Clara", "Clara is the user's sister.", key="sibling", value="Clara"),
        operation("never said", "The user likes golf.", kind="preference"),
    ])  # fmt: skip
    memory = open_memory(model=model, extract=Extraction(instructions="Note homes."))
    await tell(memory, "I moved to Porto. My sister Clara helped.")
    facts = {fact.key: fact.value for fact in await do(memory.facts.list("user:ada"))}
    assert facts == {"location": "Porto", "sibling": "Clara"}
    assert "Note homes." in prompts[0] and "I moved to Porto" in prompts[0]
    [why] = (await do(memory.why("user:ada/location"))).messages
    assert why.text.startswith("I moved to Porto")


async def test_what_is_known_is_shown_and_can_be_ended(open_memory: OpenMemory) -> None:
    model, prompts = scripted(
        [operation("I work at Acme", "The user works at Acme.", key="employer", value="Acme")],
        [{"op": "end", "id": "k1", "m": "m1", "quote": "I left Acme", "reason": "stopped", "confidence": 0.9}],
    )
    memory = open_memory(model=model, extract=Extraction())
    await tell(memory, "Hello there, I work at Acme these days.")
    await tell(memory, "Good news: I left Acme last week!")
    assert "k1 [fact; user; employer = Acme" in prompts[1]
    assert await do(memory.facts.get("user:ada", "employer")) is None
    versions = await do(memory.facts.history("user:ada", "employer"))
    assert [(version.value, version.status) for version in versions] == [("Acme", "active"), ("Acme", "ended")]


async def test_a_schema_is_filled_in_by_type(open_memory: OpenMemory) -> None:
    model, prompts = scripted([
        operation("gold tier with 12 seats", "The user has the gold tier.", key="customer.tier", value="gold"),
        operation("gold tier with 12 seats", "The user has 12 seats.", key="customer.seats", value="12"),
        operation("gold tier with 12 seats", "The user's seats are gold.", key="customer.seats", value="gold"),
        operation("gold tier with 12 seats", "The user's plan is gold.", key="customer.plan", value="gold"),
    ])  # fmt: skip
    memory = open_memory(model=model, extract=Extraction(schemas=[Customer]))
    await tell(memory, "We are on the gold tier with 12 seats.")
    facts = {fact.key: fact.value for fact in await do(memory.facts.list("user:ada"))}
    assert facts == {"customer.tier": "gold", "customer.seats": 12}
    assert "`customer.seats`: integer" in prompts[0]


async def test_admission_sends_memories_to_review_or_refuses_them(open_memory: OpenMemory) -> None:
    model, _ = scripted([
        operation("allergic to nuts", "The user is allergic to nuts.", key="allergy", value="nuts"),
        operation("earn 90,000", "The user earns 90,000.", key="salary", value="90,000"),
    ])  # fmt: skip
    memory = open_memory(model=model, extract=Extraction(admit={"allergy": "review"}, never=["salary"]))
    await tell(memory, "I am allergic to nuts and I earn 90,000 a year.")
    assert await do(memory.facts.list("user:ada")) == []
    [candidate] = await do(memory.review.list(ns="user:ada"))
    assert candidate.text == "The user is allergic to nuts."
    await do(memory.review.approve(candidate.id, ns="user:ada"))
    assert [fact.value for fact in await do(memory.facts.list("user:ada"))] == ["nuts"]


async def test_small_talk_is_not_sent_to_the_model(open_memory: OpenMemory) -> None:
    model, prompts = scripted()
    memory = open_memory(model=model, extract=Extraction())
    await tell(memory, "Hi!")
    await tell(memory, "Thank you")
    assert prompts == []


async def test_remembering_answers_what_was_understood(open_memory: OpenMemory) -> None:
    memory = open_memory()
    understood = await do(memory.remember("I live in Lisbon.", user="ada"))
    assert [(item.id, item.value) for item in understood.stored] == [("fact:location", "Lisbon")]
    assert understood.receipts[0].derived == "done" and understood.waiting == []


async def test_a_secret_is_never_noted(open_memory: OpenMemory) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz012345"
    model, _ = scripted([operation(f"my key is {key}", f"The user's key is {key}.", key="api_key", value=key)])
    memory = open_memory(model=model, extract=Extraction())
    await tell(memory, f"By the way, my key is {key} for now.")
    assert await do(memory.facts.list("user:ada")) == []


@pytest.mark.parametrize("wrong", [{"admit": "maybe"}, {"schemas": [3]}, {"instructions": "x" * 9_000}])
def test_wrong_options_are_refused_when_they_are_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Extraction(**wrong)
