"""Decodes the model's answer (a list of operations on memory) item by item, so that an invalid item does not affect the
others."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from ...values import JsonObject
from .request import MAX_MESSAGES

MAX_OPERATIONS = 24
"""The maximum number of operations in one answer."""
MAX_TEXT_CHARACTERS = 400
MAX_QUOTE_CHARACTERS = 300
MAX_KEY_CHARACTERS = 60
MAX_LIST_ITEMS = 12
BRIEF_FIELDS = ("m", "quote", "kind", "subject", "key", "value", "text")
"""The fields that a small model fills in."""

Op = Literal["add", "update", "end", "confirm"]
Status = Literal["planned", "done", "cancelled"]
Scope = Literal["standing", "conversation", "task"]
Kind = Literal["fact", "event", "preference", "pattern"]
Reason = Literal["changed", "corrected", "more", "stopped", "finished", "withdrawn"]
Value = str | int | float | bool | list[str] | None


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """Holds one operation as the model wrote it. `checks.py` decides whether it is accepted."""

    op: Op = "add"
    id: str | None = None
    m: str | int
    quote: str
    question: str | None = None
    kind: Kind = "fact"
    subject: str = "user"
    key: str | None = None
    value: Value = None
    text: str = ""
    start: str | None = None
    end: str | None = None
    status: Status | None = None
    people: list[str] = []
    location: str | None = msgspec.field(default=None, name="place")
    scope: Scope = "standing"
    inferred: bool = False
    confidence: float = 0.8
    reason: Reason | None = None

    @property
    def number(self) -> int:
        """This is the number of the cited message, or 0 if there is none."""
        # Models write 3, "3" and "m3" alike. `isdecimal` alone would also accept digits of other scripts.
        digits = str(self.m).lstrip("mM")
        return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 6 else 0


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """Holds an operation that was not carried out and the reason. `text` is the model's own text."""

    reason: str
    text: str = ""
    message: int = 0
    """This is the number of the cited message, or 0 if unknown."""


def decode_operations(data: object) -> tuple[list[Operation], list[Refused]] | None:
    """Return the operations in an answer, and the invalid items. Return None if the whole answer is
    unusable."""
    items = data.get("operations") if isinstance(data, dict) else data if isinstance(data, list) else None
    if not isinstance(items, list):
        return None
    operations: list[Operation] = []
    refused: list[Refused] = []
    for item in items[:MAX_OPERATIONS]:
        try:
            # Not strict, because small models write numbers and booleans as texts.
            operations.append(msgspec.convert(item, Operation, strict=False))
        except (msgspec.ValidationError, RecursionError) as error:
            # Only the path of the fault is repeated: the rest of the message may hold what the model made up.
            path = str(error).rpartition(" - at ")[2].strip("`$.") or "item"
            refused.append(Refused(reason=f"malformed: {path[:60]}"))
    if len(items) > MAX_OPERATIONS:
        refused.append(Refused(reason=f"more than {MAX_OPERATIONS} operations; {len(items) - MAX_OPERATIONS} left out"))
    return operations, refused


def _nullable(kind: JsonObject) -> JsonObject:
    return {"anyOf": [kind, {"type": "null"}]}


def _text(limit: int) -> JsonObject:
    return {"type": "string", "maxLength": limit}


def _one_of(literal: object) -> JsonObject:
    return {"type": "string", "enum": [*get_args(literal)]}


def answer_schema(messages: int, *, brief: bool = False) -> JsonObject:
    """Return the JSON Schema of an answer in the subset that providers enforce: objects are closed, and every field is
    required.

    The fields are in the order in which a model should think, with the evidence before its consequences. A `brief`
    answer, for a small model, only adds memories and has few fields.

    Providers cache the schema with the fixed part of the prompt. So only a brief schema depends on the number of
    messages.
    """
    numbers = range(1, (messages if brief else MAX_MESSAGES) + 1)
    properties: JsonObject = {
        "op": _one_of(Op),
        "m": {"type": "string", "enum": [f"m{number}" for number in numbers]},
        "quote": _text(MAX_QUOTE_CHARACTERS),
        "question": _nullable(_text(MAX_QUOTE_CHARACTERS)),
        "kind": _one_of(Kind),
        "subject": _text(80),
        "id": _nullable(_text(8)),
        "key": _nullable(_text(MAX_KEY_CHARACTERS)),
        "value": {
            "anyOf": [
                _text(MAX_QUOTE_CHARACTERS), {"type": "number"}, {"type": "boolean"},
                {"type": "array", "items": _text(120), "maxItems": MAX_LIST_ITEMS}, {"type": "null"},
            ]
        },
        "text": _text(MAX_TEXT_CHARACTERS),
        "start": _nullable(_text(32)),
        "end": _nullable(_text(32)),
        "status": _nullable(_one_of(Status)),
        "people": {"type": "array", "items": _text(80), "maxItems": MAX_LIST_ITEMS},
        "place": _nullable(_text(120)),
        "scope": _one_of(Scope),
        "inferred": {"type": "boolean"},
        "confidence": {"type": "number"},
        "reason": _nullable(_one_of(Reason)),
    }  # fmt: skip
    if brief:
        properties = {name: properties[name] for name in BRIEF_FIELDS}
        properties |= {"quote": _text(120), "value": _nullable(_text(80)), "text": _text(160)}
    item = {
        "type": "object", "additionalProperties": False, "required": [*properties], "properties": properties,
    }  # fmt: skip
    most = min(MAX_OPERATIONS, messages + 2) if brief else MAX_OPERATIONS
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["operations"],
        "properties": {"operations": {"type": "array", "items": item, "maxItems": most}},
    }
