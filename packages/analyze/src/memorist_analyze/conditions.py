"""Defines the named conditions that rules consist of. They are predicates on a `Case`, registered with `@condition`.
`analyze --explain` prints the first line of each docstring.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memorist_analyze import words
from memorist_analyze.records import Effect, Function
from memorist_analyze.world import World

_KEPT_FLOWS = ("stored", "returned", "model", "replaced")
_PLAIN_TEXTS = re.compile(r"^(Promise<)?(string\[\]|(Array|ReadonlyArray)<string>|([Ll]ist|Sequence)\[str\])>?$")
_SUMMING = words.bag("summary summarize summarise summarization")
_ROUTE = re.compile(r"^\w+\.(get|post|put|patch|delete|route|websocket)\(")
_SAVE_NAME = re.compile(r"^_?a?(save|set|update|replace|write|put|store|overwrite|commit)", re.I)


@dataclass(slots=True)
class Case:
    """Represents the case that a condition is tested on: one effect of one function, with the whole checkout as
    context."""

    world: World
    function: Function
    effect: Effect


Condition = Callable[[Case], bool]
CONDITIONS: dict[str, Condition] = {}


def condition(function: Condition) -> Condition:
    """Register a predicate as a condition, so that rules can refer to it by name. Use it as a decorator."""
    CONDITIONS[getattr(function, "__name__", "")] = function
    return function


@condition
def message_list(case: Case) -> bool:
    """The subject is a list of messages, judged by its name, type or file."""
    return case.effect.likeness >= 2


@condition
def strong_subject(case: Case) -> bool:
    """The subject's name is about messages or history, or about turns inside a memory class."""
    parts = case.effect.subject.split(".")
    if any(words.name_likeness(part) == 2 for part in parts):
        return True
    store_words = {"memory", "conversation", "history", "chat"} & set(words.words(case.function.owner))
    return (
        bool(store_words) and case.effect.likeness > 1 and words.last_word(parts[-1]) in ("runs", "turns", "exchanges")
    )


@condition
def kept_somewhere(case: Case) -> bool:
    """The result is stored, returned or sent to a model."""
    kind, _, name = case.effect.flow.partition(":")
    return kind in _KEPT_FLOWS or (kind == "passed" and bool(_SAVE_NAME.match(name)))


@condition
def goes_somewhere(case: Case) -> bool:
    """The result is not only read."""
    return case.effect.flow.partition(":")[0] in _KEPT_FLOWS


@condition
def goes_to_context(case: Case) -> bool:
    """The result is stored, returned or sent to a model, or rendered into a prompt next to a model call."""
    if goes_somewhere(case):
        return True
    if case.effect.flow != "prompt":
        return False
    return "message_count" in case.effect.guards or case.world.model_depth.get(case.function.key, 9) <= 1


@condition
def summary_evidence(case: Case) -> bool:
    """The value that replaces the messages is called a summary, or a model wrote it in a summarising function."""
    marks = case.effect.marks
    if "summary_value" in marks:
        return True
    return "model_value" in marks and bool({"summary_name", "summary_words"} & case.function.marks)


@condition
def with_summary(case: Case) -> bool:
    """The removal record contains a summary."""
    return "with_summary" in case.effect.marks


@condition
def model_near(case: Case) -> bool:
    """A language-model call is reachable within a few calls."""
    return case.function.key in case.world.model_depth


@condition
def model_near_or_given(case: Case) -> bool:
    """A model call is reachable, or a caller creates the summary with one and passes it in."""
    if model_near(case):
        return True
    if not any(words.SUMMARY.search(p.name) for p in case.function.params):
        return False
    return model_near_or_beside(case) or any(
        above.key in case.world.model_depth
        for _, caller in case.world.callers.get(case.function.key, [])
        for _, above in case.world.callers.get(caller.key, [])
    )


@condition
def model_near_or_beside(case: Case) -> bool:
    """A model call is reachable, or a caller writes the summary with one and passes it in."""
    if model_near(case):
        return True
    for _, caller in case.world.callers.get(case.function.key, []):
        if caller.model_calls:
            return True
        for _, sibling in case.world.callees.get(caller.key, []):
            if words.SUMMARY.search(sibling.name) and sibling.key in case.world.model_depth:
                return True
    return False


@condition
def score_words(case: Case) -> bool:
    """Names in the function contain score, rank, priority or importance."""
    return "score_words" in case.function.marks


@condition
def token_guard_in_function(case: Case) -> bool:
    """The function compares a token count with a limit."""
    return any(kind == "token_count" for kind, _ in case.function.guards)


@condition
def cuts(case: Case) -> bool:
    """The function drops everything beyond a limit, with a loop that stops or with a slice."""
    return any(
        e.kind in ("token_fill", "token_trim") or (e.kind == "slice" and e.marks & {"head", "tail"})
        for e in case.function.effects
    )


@condition
def stops_or_backwards(case: Case) -> bool:
    """The loop starts with the newest, stops at the limit, or is meant for trimming."""
    return bool(case.effect.marks & {"backwards", "stops"}) or named_for_trimming(case)


@condition
def gives_messages(case: Case) -> bool:
    """The list that the loop collected, or another message list, leaves the function."""
    flow = case.world.summaries.fate(case.function, case.effect.flow)
    if "gathers" in case.effect.marks and flow in _KEPT_FLOWS:
        return True
    if "removes_messages" in case.function.marks:
        return True
    if case.effect.kind == "slice":
        return "gives_messages" in case.function.marks
    return "gives_messages" in case.function.marks and "backwards" in case.effect.marks


@condition
def splits(case: Case) -> bool:
    """The function only divides a list; its caller decides what happens to the parts."""
    return bool(set(words.words(case.function.name)) & {"split", "chunk", "chunks", "batch", "batches", "partition"})


@condition
def for_summary(case: Case) -> bool:
    """The function, or the list it collects, only prepares the input of a summary."""
    if "rejoined" in case.effect.marks:
        return False  # joined with its first message, the list is a conversation again
    callers = [f.name for _, f in case.world.callers.get(case.function.key, [])]
    named = [bool(set(words.words(name)) & _SUMMING) for name in (case.function.name, *callers)]
    return "for_summary" in case.effect.marks or named[0] or (bool(callers) and all(named[1:]))


@condition
def named_for_trimming(case: Case) -> bool:
    """The function's name is about trimming: trim, truncate, prune, compact and the like."""
    name_words = set(words.words(case.function.name))
    return bool(
        name_words & {"trim", "truncate", "prune", "reduce", "shrink", "evict", "limit", "window", "shorten", "compact"}
    )


@condition
def lists_or_copies(case: Case) -> bool:
    """The function lists, clones or exports something, renders it for people, or answers a web request."""
    name_words = words.words(case.function.name)
    if any(_ROUTE.match(d) for d in case.function.decorators):
        return True
    return bool(name_words) and (
        name_words[0] in ("list", "print", "show", "display", "log", "dump", "export", "search", "preview", "debug")
        or bool(
            set(name_words)
            & {"clone", "fork", "export", "paginate", "telemetry", "preview", "cache", "caching", "cacheable"}
        )
    )


@condition
def keeps_tail(case: Case) -> bool:
    """The slice keeps the newest part."""
    return bool(case.effect.marks & {"tail", "from", "tail_const"})


@condition
def keeps_variable_tail(case: Case) -> bool:
    """The slice keeps a variable number of the newest messages."""
    return case.effect.kind == "tail" or "tail" in case.effect.marks


@condition
def back_into_itself(case: Case) -> bool:
    """The slice is assigned to the list it was cut from."""
    return "back_into_itself" in case.effect.marks


@condition
def token_guarded(case: Case) -> bool:
    """The nearest measurement before the effect is a token count."""
    measured = [g for g in case.effect.guards if g in ("token_count", "message_count", "char_count")]
    return bool(measured) and measured[0] == "token_count"


@condition
def count_guarded(case: Case) -> bool:
    """The effect depends on a comparison of the number of messages with a limit."""
    return "message_count" in case.effect.guards


@condition
def summary_named(case: Case) -> bool:
    """The name of the function or its class is about summarising."""
    return bool(words.SUMMARY.search(case.function.symbol))


@condition
def leaves_as_messages(case: Case) -> bool:
    """The list is returned, or replaces a stored one."""
    return case.effect.flow in ("returned", "replaced")


@condition
def writes_prompt(case: Case) -> bool:
    """The function only writes a prompt."""
    return bool(set(words.words(case.function.name)) & {"prompt", "prompts", "format", "render"})


@condition
def memory_place(case: Case) -> bool:
    """The file or class is about memory, sessions or history."""
    place_words = set(words.words(case.function.path)) | set(words.words(case.function.owner))
    return bool(place_words & (words.PLACES | {"session", "sessions"}))


@condition
def refills(case: Case) -> bool:
    """The function puts messages back after clearing."""
    return any(e.kind in ("refill", "rebuild") for e in case.function.effects)


@condition
def dedup_words(case: Case) -> bool:
    """Names in the function contain outdated, duplicate, stale or superseded."""
    return "dedup_words" in case.function.marks


@condition
def drawn(case: Case) -> bool:
    """The file is part of a user interface, or only such files use the class."""
    return case.function.path in case.world.screens or case.world.is_used_by_screens(case.function)


@condition
def gives_no_messages(case: Case) -> bool:
    """The function stores nothing and returns a boolean, a number or plain texts, so it only measures or lists."""
    if case.effect.flow in ("stored", "replaced"):
        return False
    measures = case.function.returns in ("bool", "boolean", "int", "number", "float")
    return measures or bool(case.effect.flow == "returned" and _PLAIN_TEXTS.search(case.function.returns))
