"""Random sequences of calls for a knowledge graph, and what a server answers to them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from mcp import Client

NAMES = ["Ada", "ada", "Bob/Smith", "Ω", "a%2Fb", "", "İstanbul", "Eve"]
TYPES = ["person", "Person", "", "city/town"]
TEXTS = ["likes tea", "LIKES TEA", "", "born 1815", 'a\nb\t"quoted"', "ß", "\u2028", "tea"]
KINDS = ["knows", "works at", "a/b", ""]
Call = tuple[str, dict[str, Any]]
START: list[Call] = [
    ("delete_entities", {"entityNames": NAMES}),
    (
        "delete_relations",
        {"relations": [{"from": a, "to": b, "relationType": k} for a in NAMES for b in NAMES for k in KINDS]},
    ),
]
"""Empties the graph of all that a sequence may make."""


def sequence(seed: int) -> list[Call]:
    """One sequence, the same for the same number."""
    dice = random.Random(seed)
    return [_call(dice) for _ in range(dice.randint(6, 16))] + [("read_graph", {})]


def _call(dice: random.Random) -> Call:
    tool = dice.choice(
        ["create_entities"] * 4 + ["create_relations"] * 3 + ["add_observations"] * 4 + ["delete_entities"]
        + ["delete_observations"] * 2 + ["delete_relations", "read_graph", "search_nodes", "search_nodes", "open_nodes"]
    )  # fmt: skip
    return tool, {} if dice.random() < 0.02 else _broken(dice, _arguments(dice, tool))


def _arguments(dice: random.Random, tool: str) -> dict[str, Any]:
    def some(choices: list[str], most: int = 3) -> list[str]:
        return [dice.choice(choices) for _ in range(dice.randint(0, most))]

    def relation() -> dict[str, Any]:
        return {"from": dice.choice(NAMES), "to": dice.choice(NAMES), "relationType": dice.choice(KINDS)}

    def entity() -> dict[str, Any]:
        return {"name": dice.choice(NAMES), "entityType": dice.choice(TYPES), "observations": some(TEXTS)}

    many = range(dice.randint(0, 4))
    if tool == "create_entities":
        return {"entities": [entity() for _ in many]}
    if tool in ("create_relations", "delete_relations"):
        return {"relations": [relation() for _ in many]}
    if tool == "add_observations":
        return {"observations": [{"entityName": dice.choice(NAMES), "contents": some(TEXTS)} for _ in many]}
    if tool == "delete_observations":
        return {"deletions": [{"entityName": dice.choice(NAMES), "observations": some(TEXTS)} for _ in many]}
    if tool == "delete_entities":
        return {"entityNames": some(NAMES, 2)}
    if tool == "search_nodes":
        return {"query": dice.choice([*TEXTS, *NAMES, "i", "TEA", "o"])}
    return {"names": some(NAMES)} if tool == "open_nodes" else {}


def _broken(dice: random.Random, arguments: dict[str, Any]) -> dict[str, Any]:
    """Now and then something that the schema does not allow, or does not know."""
    if dice.random() > 0.06 or not arguments:
        return arguments
    name = next(iter(arguments))
    return {name: dice.choice([None, 3, "x", {}, [None], [3, {"name": 1}], True]), "unknown": 1}


async def answers(client: Client, calls: list[Call]) -> list[Any]:
    """What a server answers to each call: error or not, text and data."""
    return [await answer(client, call) for call in calls]


async def answer(client: Client, call: Call) -> Any:
    """What a server answers to one call."""
    result = await client.session.call_tool(*call)
    text = [getattr(part, "text", None) for part in result.content]
    return [bool(result.is_error), text, result.structured_content]


def differences(calls: list[Call], ours: list[Any], theirs: list[Any]) -> Iterator[str]:
    """Where two servers differ."""
    for number, (call, own_answer, other) in enumerate(zip(calls, ours, theirs, strict=True)):
        if own_answer != other:
            yield f"call {number} {call}\n  ours   {own_answer}\n  theirs {other}"
