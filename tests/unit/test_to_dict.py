"""Every record that a call returns has `to_dict()`, and gives plain JSON."""

from __future__ import annotations

import json

import msgspec

import memorist
from memorist import types
from memorist.engine.tidying import Plan, PlanLine
from memorist.messages.message import ToolCall

PASSED_IN = {
    "ElideToolResults", "Fifo", "Importance", "SlidingWindow", "Summarize", "VectorSwap", "Namespace", "Recall",
    "Remember", "Retention", "TokenBudget", "RecordPut", "Completion", "Usage",
}  # fmt: skip
"""Structs that callers make and pass in, or that a model returns to us."""


def test_every_public_record_has_to_dict() -> None:
    names = {name: getattr(module, name) for module in (memorist, types) for name in module.__all__}
    structs = {name for name, item in names.items() if isinstance(item, type) and issubclass(item, msgspec.Struct)}
    assert {name for name in structs if not hasattr(names[name], "to_dict")} == PASSED_IN


def test_nested_records_become_plain_values() -> None:
    plan = Plan(id="p", ns="user:ada", lines=[PlanLine(op="end", ids=["fact:city"], before=["Lives in Porto"])])
    assert json.loads(json.dumps(plan.to_dict()))["lines"][0]["ids"] == ["fact:city"]
    assert ToolCall(id="c", name="find", arguments={"n": 1}).to_dict()["arguments"] == {"n": 1}
