"""A schema of six fields, filled over twenty turns with three changes, in all five ways of writing a schema."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any, Literal, NotRequired, TypedDict

import msgspec
import pydantic
import pytest

from memorist import Extraction
from memorist.models.anthropic import open_anthropic
from memorist.models.openai import open_openai
from memorist.runtime import Runtime
from memorist.testing import FakeClock
from tests.models.wire_server import Reply, WireServer, anthropic_answer, openai_answer, serving

from .conftest import OpenMemory, do

Tier = Literal["basic", "gold", "platinum"]


class StructCustomer(msgspec.Struct):
    """A customer."""

    company: str
    tier: Tier
    seats: int
    renewal: date
    regions: list[str] = []
    trial: bool = False


@dataclasses.dataclass
class DataCustomer:
    company: str
    tier: Tier
    seats: int
    renewal: date
    regions: list[str] = dataclasses.field(default_factory=list)
    trial: bool = False


class DictCustomer(TypedDict):
    company: str
    tier: Tier
    seats: int
    renewal: date
    regions: NotRequired[list[str]]
    trial: NotRequired[bool]


class ModelCustomer(pydantic.BaseModel):
    company: str
    tier: Tier
    seats: pydantic.PositiveInt
    renewal: date
    regions: list[str] = []
    trial: bool = False


JSON_CUSTOMER = {
    "title": "JsonCustomer",
    "type": "object",
    "properties": {
        "company": {"type": "string"},
        "tier": {"enum": ["basic", "gold", "platinum"]},
        "seats": {"type": "integer"},
        "renewal": {"type": "string", "format": "date"},
        "regions": {"type": "array", "items": {"type": "string"}},
        "trial": {"type": "boolean"},
    },
    "required": ["company", "tier", "seats", "renewal"],
}
WAYS: dict[str, Any] = {
    "struct_customer": StructCustomer,
    "data_customer": DataCustomer,
    "dict_customer": DictCustomer,
    "model_customer": ModelCustomer,
    "json_customer": JSON_CUSTOMER,
}
TURNS = (
    "Hi, I run procurement at Nordwind Logistics.",
    "We are evaluating your product this month.",
    "At the moment it is only a trial.",
    "How does the pricing work for larger teams?",
    "Fine. We'd like to begin on the basic plan.",
    "There will be 12 of us using it.",
    "Can everyone sign in with our own accounts?",
    "Good to hear, that makes things easier.",
    "Our people sit in Hamburg and Rotterdam.",
    "The contract would run until 2027-03-31, if that is possible.",
    "Could you send the terms to my colleague?",
    "She will read them tomorrow afternoon.",
    "The trial went well, so we signed yesterday.",
    "What are the steps for the migration?",
    "I changed my mind about the plan: make it gold, please.",
    "The import of last year's orders worked.",
    "Eight colleagues joined, so we are 20 now.",
    "Is there an API for the shipping labels?",
    "Legal moved the renewal to 2027-06-30.",
    "That is all for this week, I think.",
)
RECORDED: dict[int, tuple[str, Any, str, str | None]] = {
    1: ("company", "Nordwind Logistics", "at Nordwind Logistics", None),
    3: ("trial", True, "it is only a trial", None),
    5: ("tier", "basic", "begin on the basic plan", None),
    6: ("seats", 12, "12 of us", None),
    9: ("regions", ["Hamburg", "Rotterdam"], "Hamburg and Rotterdam", None),
    10: ("renewal", "2027-03-31", "until 2027-03-31", None),
    15: ("tier", "gold", "make it gold", "changed"),
    17: ("seats", "20", "we are 20 now", "changed"),
    19: ("renewal", "2027-06-30", "the renewal to 2027-06-30", "changed"),
}
"""What the model noted, by turn: field, value, quote, and for changes the reason."""
HISTORY: dict[str, list[tuple[Any, int]]] = {
    "company": [("Nordwind Logistics", 1)],
    "tier": [("basic", 5), ("gold", 15)],
    "seats": [(12, 6), (20, 17)],
    "renewal": [("2027-03-31", 10), ("2027-06-30", 19)],
    "regions": [(["Hamburg", "Rotterdam"], 9)],
    "trial": [(True, 3)],
}
NEW = re.compile(r"^(m\d+) \(.*? UTC\) user: (.*)$", re.M)


class Recorded(WireServer):
    """Answers with what was recorded for the messages of a request, in the provider's wire format."""

    prefix = ""

    def reply(self, path: str) -> Reply:
        request = self.requests[-1]
        prompt = "\n".join(str(message["content"]) for message in request["messages"])
        operations = []
        for number, text in NEW.findall(prompt):
            noted = RECORDED.get(TURNS.index(text) + 1)
            if noted is not None:
                operations.append(self._operation(number, *noted, prompt=prompt))
        data = {"operations": operations}
        if "chat" in path:
            return Reply(openai_answer(json.dumps(data)))
        return Reply(anthropic_answer(data=data, stop="tool_use"))

    def _operation(
        self, number: str, field: str, value: Any, quote: str, reason: str | None, *, prompt: str
    ) -> dict[str, Any]:
        key = f"{self.prefix}.{field}"
        match = re.search(rf"^(k\d+) \[fact; user; {re.escape(key)} = ", prompt, re.M)
        changed = {"op": "update", "id": match[1], "reason": reason} if reason and match else {"op": "add"}
        return {
            "m": number, "quote": quote, "question": None, "kind": "fact", "subject": "user", "id": None, "key": key,
            "value": value, "text": f"The user's company: {quote}.", "start": None, "end": None, "status": None,
            "people": [], "place": None, "scope": "standing", "inferred": False, "confidence": 0.9, "reason": None,
            **changed,
        }  # fmt: skip


@pytest.fixture
def server() -> Iterator[Recorded]:
    with serving(Recorded()) as wire:
        assert isinstance(wire, Recorded)
        yield wire


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("way", WAYS)
async def test_every_field_its_history_and_its_sources_are_right(
    open_memory: OpenMemory, runtime: Runtime, clock: FakeClock, server: Recorded, way: str, provider: str
) -> None:
    server.prefix = way
    if provider == "anthropic":
        model = open_anthropic("claude-haiku-4-5", blocking=runtime.blocking, api_key="k", base_url=server.url)
    else:
        model = open_openai("llama3", blocking=runtime.blocking, api_key="k", base_url=f"{server.url}/v1")
    schema = WAYS[way]
    memory = open_memory(model=model, extract=Extraction(schemas=[schema]))
    assert await do(memory.memories.typed(schema, user="ada")) is None
    for turn in TURNS:
        await do(memory.threads.append("talk", turn, create="user:ada"))
        clock.advance(60)
        if turn in (TURNS[7], TURNS[13], TURNS[19]):
            await do(memory.jobs.drain())
    renewal: Any = "2027-06-30" if way == "json_customer" else date(2027, 6, 30)
    expected = {
        "company": "Nordwind Logistics", "tier": "gold", "seats": 20, "renewal": renewal,
        "regions": ["Hamburg", "Rotterdam"], "trial": True,
    }  # fmt: skip
    instance = await do(memory.memories.typed(schema, user="ada"))
    kind = dict if way in ("dict_customer", "json_customer") else schema
    assert instance == kind(**expected) and type(instance) is kind
    for field, versions in HISTORY.items():
        stored = await do(memory.facts.history("user:ada", f"{way}.{field}"))
        assert [(version.value, version.sources[-1]) for version in stored] == [
            (value, f"talk#{turn}") for value, turn in versions
        ], field
    assert {fact.key for fact in await do(memory.facts.list("user:ada"))} == {f"{way}.{field}" for field in HISTORY}


@pytest.mark.parametrize("schema", [ModelCustomer, StructCustomer, JSON_CUSTOMER])
async def test_a_value_that_does_not_fit_its_field_is_refused(open_memory: OpenMemory, schema: Any) -> None:
    prefix = {ModelCustomer: "model", StructCustomer: "struct"}.get(
        schema if isinstance(schema, type) else None, "json"
    )
    wrong = [("seats", "many"), ("tier", "diamond"), ("regions", 7), ("colour", "red")]
    wrong += [("seats", -5)] if schema is ModelCustomer else []
    noted = [
        {
            "op": "add", "m": "m1", "quote": "We are many", "kind": "fact", "key": f"{prefix}_customer.{field}",
            "value": value, "text": "The users are many.", "confidence": 0.9,
        }
        for field, value in wrong
    ]  # fmt: skip
    memory = open_memory(model=lambda prompt: json.dumps({"operations": noted}), extract=Extraction(schemas=[schema]))
    understood = await do(memory.remember("We are many here, at -5 and 7 degrees.", user="ada"))
    assert understood.stored == [] and len(understood.refused) >= len(wrong)
