"""Defines conditions that need interprocedural data flow, such as who wrote a text, where a list ends up, and what it
lacks. `analyze --explain` prints the first line of each docstring.
"""

from __future__ import annotations

from memorist_analyze import words
from memorist_analyze.conditions import (
    Case,
    condition,
    dedup_words,
    goes_to_context,
    memory_place,
    message_list,
    model_near_or_beside,
    model_near_or_given,
    score_words,
    strong_subject,
    token_guard_in_function,
)
from memorist_analyze.records import Call, Function
from memorist_analyze.world import World

_SHORTER_MARKS = frozenset(("marker", "shortened", "cut"))
_REPLACEMENT_MARKS = frozenset(("const", "blanked"))
_REMEMBERING = words.bag("memory memories recall remember forget forgetting episodic archival")
_MEMORIES = words.PLACES - words.bag("buffer window") | words.bag("session sessions agent")
_SIZE_GUARDS = frozenset(("token_count", "char_count", "message_count", "overflow_error"))
_HIDING_SECRETS = words.bag(
    "redact redaction redacts redactor scrub scrubber sanitize sanitizer sanitise pii secret secrets "
    "guardrail guardrails "
    "moderation anonymize credentials profanity filterregex"
)
_FOR_PEOPLE = words.bag(
    "log logs logger logging title titles preview display label repr description descriptions debug name names "
    "print show toast "
    "status caption tooltip telemetry trace tracing span slug error errors exception traceback badge diff url"
)
_SIDE_PROMPT_WORDS = words.bag("summary summarize summarise summarization judge grade critique")
_POSTING = words.bag("post edit notify reply toast alert")
_MAX_CALLS_UP = 2
_RESULTS = words.bag(
    "tool tools result results output outputs observation observations content contents message messages "
    "command stdout "
    "stderr response responses history body page file tooloutput execution"
)


@condition
def stands_before_kept(case: Case) -> bool:
    """A new item precedes the kept part of a list, or is put into a list that was emptied."""
    marks = case.effect.marks
    refilled = case.effect.kind == "refill" and "same_owner" in marks and "one_for_each" not in marks
    return "precedes" in marks or refilled


@condition
def shrinks(case: Case) -> bool:
    """The content is cut to a size, a notice says that something was left out, or a size decides what replaces it."""
    if case.effect.marks & _SHORTER_MARKS or (sized_there(case) and case.effect.marks & _REPLACEMENT_MARKS):
        return True
    summaries = case.world.summaries
    having = summaries.shortens if sized_there(case) else summaries.shortens_by_size
    maker_calls = frozenset(f"call:{mark[3:]}" for mark in case.effect.marks if mark.startswith("by:"))
    return summaries.from_any(case.function, case.effect.fed if case.effect.kind == "mapped" else maker_calls, having)


@condition
def sized(case: Case) -> bool:
    """A size or number is compared with a limit anywhere in the function, or before the function is called."""
    if set(case.effect.guards) & _SIZE_GUARDS or any(kind in _SIZE_GUARDS for kind, _ in case.function.guards):
        return True
    return any(set(call.guards) & _SIZE_GUARDS for call in _sure_calls(case))


@condition
def sized_there(case: Case) -> bool:
    """The effect itself, or a call of the function, depends on a comparison of a size with a limit."""
    if set(case.effect.guards) & _SIZE_GUARDS:
        return True
    return any(set(call.guards) & _SIZE_GUARDS for call in _sure_calls(case))


@condition
def made_by_model_here(case: Case) -> bool:
    """A language model that the function calls, directly or through a helper, wrote the new value."""
    return case.world.summaries.made_by_model(case.function, case.effect.fed, depth=2)


@condition
def some_of_many(case: Case) -> bool:
    """Only some messages are changed, in a loop or a copy, or the size determines which."""
    return bool(case.effect.marks & {"in_loop", "copied", "instead", "marker"}) or sized(case)


@condition
def says_it_was_cut(case: Case) -> bool:
    """The remaining text says that the rest was cut; three dots alone are for display."""
    return "marker" in case.effect.marks


@condition
def page_of_many(case: Case) -> bool:
    """The function reads a page between two bounds, which is pagination."""
    return "page" in case.effect.marks


@condition
def found_by_search(case: Case) -> bool:
    """The cut happens inside the loop that found its position, so an element determines it, not a number."""
    return "in_loop" in case.effect.marks and "from" in case.effect.marks


@condition
def never_shown(case: Case) -> bool:
    """The list is a field that never leaves the object, as in a counter or detector."""
    parts = case.effect.subject.split(".")
    if len(parts) < 2 or parts[0] not in ("self", "this") or case.effect.flow not in ("stored", "replaced"):
        return False
    name = parts[1]
    if any(p != case.function.path for p in case.world.references.get(name, {})):
        return False
    return not any(name in f.exposed_fields for f in case.world.functions_of.get(case.function.path, []))


@condition
def hides_secrets(case: Case) -> bool:
    """The function redacts secrets, whatever the size of the text."""
    return bool(set(words.words(case.function.symbol)) & _HIDING_SECRETS)


@condition
def for_people(case: Case) -> bool:
    """The shortened text is displayed, logged, or only read by a side prompt that summarises or judges."""
    if set(words.words(case.effect.flow.partition(":")[2])[:1]) & _POSTING:
        return True
    passed_names = [mark[3:] for mark in case.effect.marks if mark.startswith("as:")]
    name_words = {w for name in (case.function.name, case.effect.subject, *passed_names) for w in words.words(name)}
    return bool(name_words & (_FOR_PEOPLE | _SIDE_PROMPT_WORDS)) or used_aside(case)


@condition
def used_aside(case: Case) -> bool:
    """All callers, if there are any, only log or display the result, or are meant to summarise or judge."""
    return "rejoined" not in case.effect.marks and _is_used_aside(case.world, case.function)


@condition
def handed_on(case: Case) -> bool:
    """The value is stored, returned or sent, here or in a function that receives it."""
    fate = case.world.summaries.fate(case.function, case.effect.flow)
    return fate.partition(":")[0] in ("stored", "returned", "model", "replaced")


@condition
def of_results(case: Case) -> bool:
    """The text that is cut is the output of a tool or command, or the content of a message."""
    spelled = [*(p.name for p in case.function.params), case.effect.subject, case.function.symbol]
    for call, caller in case.world.callers.get(case.function.key, []):
        spelled += [*call.args, caller.name]
    return any(set(words.words(s)) & _RESULTS for s in spelled)


@condition
def saved_elsewhere(case: Case) -> bool:
    """The text itself is written to a file or store, here or in a helper."""
    if "through_helper" not in case.effect.marks:
        return True
    return any("writes_text" in target.marks for _, target in case.world.callees.get(case.function.key, []))


@condition
def sized_or_referenced(case: Case) -> bool:
    """The size decides, or the store's answer or a note about where the text was written replaces the text."""
    copied = any(e.kind == "content" and "copied" in e.marks for e in case.function.effects)
    if "says_where" in case.effect.marks and copied:
        return True
    store_call = f"call:{case.effect.subject}"
    return sized_there(case) or any(e.kind == "content" and store_call in e.fed for e in case.function.effects)


@condition
def leaves_a_note(case: Case) -> bool:
    """A note that says where the rest is, or a shortened text, replaces the text."""
    is_shortened = (
        any(e.kind in ("content", "shortened") for e in case.function.effects) or "helpers" in case.effect.marks
    )
    guards = {*case.effect.guards, *(g for c in _sure_calls(case) for g in c.guards)}
    has_note = "noted" in case.effect.marks and bool({"token_count", "char_count"} & guards)
    return is_shortened or has_note or "shortens_text" in case.function.marks


@condition
def of_conversation(case: Case) -> bool:
    """The list is named after messages, typed as messages, sent to a model, or a field of a memory class."""
    own = case.function
    if strong_subject(case) or "takes_messages" in own.marks or words.type_likeness(own.returns) == 2:
        return True
    return own.key in case.world.summaries.asked_with or bool(_memory_words(own.owner) & _MEMORIES)


@condition
def remembers(case: Case) -> bool:
    """The function's name, parameters, return type or subject contain a word for memory."""
    own = case.function
    spelled = (own.name, own.returns, case.effect.subject, *(f"{p.name} {p.annotation}" for p in own.params))
    return any(set(words.words(s)) & _REMEMBERING for s in spelled)


@condition
def kept_by_score(case: Case) -> bool:
    """The list was ordered by score before it was cut."""
    return "sorted_score" in case.effect.marks


@condition
def bounded_by_setting(case: Case) -> bool:
    """The number of elements to keep is a setting, not a number in the code."""
    return "fixed" not in case.effect.marks


@condition
def freed_of_doubles(case: Case) -> bool:
    """Elements with repeated content are dropped; dropping repeated ids is only a join."""
    return "unseen" in case.effect.marks and "by_id_seen" not in case.effect.marks


@condition
def sets_property(case: Case) -> bool:
    """The function is a property setter, which only stores its argument."""
    return any(d.endswith(".setter") for d in case.function.decorators)


@condition
def finds_no_cut(case: Case) -> bool:
    """The function adds up tokens but neither collects messages nor cuts a list."""
    cut = any(e.kind in ("slice", "pop_front", "pop_other", "filter", "kept_in_loop") for e in case.function.effects)
    return "gathers" not in case.effect.marks and not cut and "removes_messages" not in case.function.marks


@condition
def cut_anyway(case: Case) -> bool:
    """The text is cut whether it is saved or not, so the saved copy is only an option of an elision."""
    return "optional" in case.effect.marks


@condition
def only_written_out(case: Case) -> bool:
    """The summary is a field of a new object that is only written out, such as the title in a list of sessions."""
    return "given_away" in case.effect.marks


@condition
def trims_answer(case: Case) -> bool:
    """The trimmed list contains a model's answers and is not sent to a model again, as in a bounded summary."""
    return "after_asking" in case.effect.marks


@condition
def offloads(case: Case) -> bool:
    """The function stores content elsewhere and keeps every message."""
    return any(e.kind == "offload" for e in case.function.effects)


@condition
def gathers_ids(case: Case) -> bool:
    """The function collects only ids, and the messages stay."""
    return "ids_only" in case.effect.marks


@condition
def read_newest(case: Case) -> bool:
    """The newest stored messages are read up to a limit; a general listing interface does not count."""
    if case.function.key in case.world.summaries.asked_with and message_list(case):
        return case.effect.flow != "read"
    if "options" in case.effect.marks:
        joined = "takes_messages" in case.function.marks or "lrange" in case.effect.evidence
        return joined and (message_list(case) or memory_place(case)) and case.effect.flow != "read"
    return memory_place(case)


@condition
def indexes_messages(case: Case) -> bool:
    """Messages are added to the vector store."""
    return case.effect.likeness > 1 or "takes_messages" in case.function.marks


@condition
def searched_beside(case: Case) -> bool:
    """The same class or file also searches the vector store."""
    return any("vector_query" in f.marks for f in _beside(case))


@condition
def empties_memory(case: Case) -> bool:
    """A method with a matching name (reset, clear, forget, wipe) empties the memory or conversation, and is called."""
    name_words = words.words(case.function.name)
    verbs = {"reset", "clear", "forget", "wipe"}
    of = set(words.words(case.function.owner)) & {"agent", "memory", "chat", "session", "conversation", "commands"}
    if set(name_words) & {"queue", "queues", "queued", "pending", "cache"}:
        return False
    called = name_words[:1] in (("cmd",), ("command",), ("on",), ("handle",)) or bool(
        case.world.callers.get(case.function.key)
    )
    return bool(verbs & set(name_words[:2])) and bool(of) and called and not case.function.name.startswith("__")


@condition
def main_or_stored(case: Case) -> bool:
    """The shortened list is stored, returned or sent by the main loop, not only used in a side prompt."""
    if not goes_to_context(case):
        return False
    return case.effect.flow in ("stored", "replaced", "returned") or not _answers_aside(case.function)


@condition
def model_around(case: Case) -> bool:
    """A model call is reachable, or a caller makes one."""
    return model_near_or_given(case) or model_near_or_beside(case)


@condition
def of_messages(case: Case) -> bool:
    """The list may be one of messages, or the function is about memory."""
    return case.effect.likeness >= 1 or memory_place(case)


@condition
def by_tokens(case: Case) -> bool:
    """The function compares tokens with a limit, or calls a helper that does."""
    if token_guard_in_function(case):
        return True
    return any(e.kind == "token_fill" for _, f in case.world.callees.get(case.function.key, []) for e in f.effects)


@condition
def by_score(case: Case) -> bool:
    """A score, rank or priority decides."""
    return case.effect.kind == "score_sort" or kept_by_score(case) or "by_score" in case.effect.marks or (
        score_words(case) and case.effect.kind in ("removal", "filter")
    )  # fmt: skip


@condition
def takes_or_keeps_messages(case: Case) -> bool:
    """The vector store may receive messages or memories."""
    return indexes_messages(case) or memory_place(case)


@condition
def may_shrink(case: Case) -> bool:
    """The content is cut, replaced or created by a helper, and a size, a notice or a loop over messages is nearby."""
    return shrinks(case) or sized(case) or says_it_was_cut(case)


@condition
def leaves_doubles_out(case: Case) -> bool:
    """Repeated or outdated content is left out."""
    return freed_of_doubles(case) or (case.effect.kind == "content" and dedup_words(case))


def _answers_aside(function: Function) -> bool:
    """Return whether a function asks a model for a decision, so that its answer is not a message."""
    return (
        function.returns not in ("", "str", "string")
        and bool(function.model_calls)
        and not ({"tools", "functions", "toolDefinitions"} & {k for c in function.model_calls for k in c.keywords})
    )


def _is_used_aside(world: World, function: Function, depth: int = 0) -> bool:
    """Return whether all callers, or their callers, log, display, summarise or judge."""
    callers = world.callers.get(function.key, [])
    return bool(callers) and all(
        bool({*words.words(f.name), *words.words(f.owner)} & (_FOR_PEOPLE | _SIDE_PROMPT_WORDS))
        or _only_logs(f, call)
        or (depth < _MAX_CALLS_UP and f.key != function.key and _is_used_aside(world, f, depth + 1))
        for call, f in callers
    )


def _only_logs(function: Function, call: Call) -> bool:
    """Return whether a function passes the result of a call only to loggers."""
    result_origin = f"call:{call.callee}"
    taking = [c for c in function.calls if result_origin in c.fed and c.callee != call.callee]
    return (
        result_origin not in function.returned and bool(taking) and all(words.LOGGING.search(c.callee) for c in taking)
    )


def _sure_calls(case: Case) -> list[Call]:
    """Return the calls to a function, without calls to another object's method with the same name."""
    own = case.function
    return [
        c
        for c, f in case.world.callers.get(own.key, [])
        if f.path == own.path
        or c.owner in ("", "self", "this", "cls", "super")
        or set(words.words(c.owner.rpartition(".")[2])) & set(words.words(own.owner))
    ]


def _memory_words(owner: str) -> set[str]:
    """Return the words of a class name, without `in memory` if that only describes where something is stored."""
    owner_words = words.words(owner)
    for at in range(len(owner_words) - 1):
        if owner_words[at : at + 2] == ("in", "memory"):
            return {*owner_words[:at], *owner_words[at + 2 :]}
    return set(owner_words)


def _beside(case: Case) -> list[Function]:
    """Return the functions of the same class or, for free functions, of the same file."""
    own = case.function
    return [f for f in case.world.functions_of.get(own.path, []) if f.owner == own.owner]
