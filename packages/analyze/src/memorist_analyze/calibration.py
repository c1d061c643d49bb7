"""Computes the probability of a candidate, using a logistic model of the rule that fired and the evidence around it.
`weights.json` contains the coefficients. `bench/analyze/fit.py` computes them from labelled frameworks, with a penalty
on large weights, so that a rule seen twice is trusted less than one seen twenty times.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

from memorist_analyze.conditions import CONDITIONS, Case
from memorist_analyze.rules import Rule
from memorist_analyze.support import Support

SHOWN_ABOVE = 0.8
LISTED_ABOVE = 0.06
_UNREAD_CAP = 0.5  # for elision and offload if the code does not show who reads the result
_READ_BY_MODEL = ("content_elision", "offload")
_MEASURES = ("token_count", "message_count", "char_count", "overflow_error")
_CONDITIONS = (
    "message_list", "strong_subject", "for_people", "used_aside", "lists_or_copies", "gives_no_messages", "never_shown",
    "for_summary", "sized", "sized_there", "handed_on", "of_conversation", "named_for_trimming", "shrinks",
    "says_it_was_cut", "hides_secrets", "made_by_model_here", "summary_named", "goes_to_context", "memory_place",
    "remembers", "page_of_many", "some_of_many", "of_results", "leaves_a_note", "keeps_variable_tail",
)  # fmt: skip
_MARKS = ("in_loop", "rejoined", "copied", "backwards", "stops", "gathers", "precedes", "summary_value", "model_value",
          "back_into_itself", "through_helper", "optional", "noted", "says_where", "cut", "const", "fixed")  # fmt: skip
_FUNCTION_MARKS = ("gives_messages", "takes_messages", "summary_name", "minds_tools", "removes_messages", "dispatched",
                   "shortens_text", "writes_text", "logging")  # fmt: skip


def features(rule: Rule, case: Case, support: Support) -> list[str]:
    """Return the features of a candidate, by the names that the model uses."""
    function, effect = case.function, case.effect
    family = _FAMILIES[rule.strategy]
    named = [f"rule:{rule.id}", f"strategy:{rule.strategy}", f"effect:{effect.kind}", f"reader:{support.reader}"]
    named.append(f"sink:{case.world.summaries.fate(function, effect.flow).partition(':')[0]}")
    named += [f"measure:{kind}" for kind in _MEASURES if kind in effect.guards]
    named.append(f"measured:{support.measure is not None}")
    named += [f"is:{name}" for name in _CONDITIONS if CONDITIONS[name](case)]
    named += [f"mark:{mark}" for mark in _MARKS if mark in effect.marks]
    named += [f"function:{mark}" for mark in _FUNCTION_MARKS if mark in function.marks]
    callers = {f.key for _, f in case.world.callers.get(function.key, [])}
    named.append(f"callers:{'none' if not callers else 'one' if len(callers) == 1 else 'many'}")
    depth = case.world.model_depth.get(function.key)
    named.append(f"model:{depth if depth is not None else 'far'}")
    if function.key in case.world.summaries.asked_with:
        named.append("sent")
    return [*named, *(f"{family}/{name}" for name in named if not name.startswith(("rule:", "strategy:", "effect:")))]


_FAMILIES = {
    "content_elision": "text", "offload": "text", "summarization": "summary", "token_window": "list",
    "fifo_message_count": "list", "importance_scoring": "list", "dedup": "list", "vector_swap": "other",
    "reset": "other", "provider_managed": "other",
}  # fmt: skip


def probability(rule: Rule, case: Case, support: Support) -> float:
    """Return the probability, between 0 and 1, that a reader would call the candidate a mechanism of this strategy."""
    weights = _weights()
    score = weights["bias"] + sum(weights["features"].get(name, 0.0) for name in features(rule, case, support))
    likely = 1 / (1 + math.exp(-score))
    if rule.strategy in _READ_BY_MODEL and not support.reader:
        likely = min(likely, _UNREAD_CAP)
    return round(likely, 3)


@cache
def _weights() -> dict[str, Any]:
    weights: dict[str, Any] = json.loads(files("memorist_analyze").joinpath("weights.json").read_text("utf-8"))
    return weights
