"""Conditions that need interprocedural data flow: who made a text, where a list goes, what was left out of it.

The first line of each docstring is printed by `analyze --explain`.
"""

from __future__ import annotations

from recollect.analyze import words
from recollect.analyze.conditions import Case, condition, goes_to_context, memory_place, message_list, strong_subject
from recollect.analyze.records import Function

_LESS = frozenset(("marker", "shortened", "const", "cut", "blanked"))
_REMEMBERING = words.bag("memory memories recall remember forget forgetting episodic archival")
_SIZED = frozenset(("token_count", "char_count", "message_count", "overflow_error"))
_HIDING_SECRETS = words.bag(
    "redact redaction redacts redactor scrub scrubber sanitize sanitizer sanitise pii secret secrets "
    "guardrail guardrails "
    "moderation anonymize credentials profanity filterregex"
)
_FOR_PEOPLE = words.bag(
    "log logs logger title titles preview display label repr description descriptions debug name names "
    "print show toast "
    "status caption tooltip telemetry trace span slug error errors exception traceback badge diff url"
)
_RESULTS = words.bag(
    "tool tools result results output outputs observation observations content contents message messages "
    "command stdout "
    "stderr response responses history body page file tooloutput execution"
)
_SHORTENING = words.bag(
    "truncate truncated truncation limit shorten clip trim mask elide cap compress fit crop cut "
    "abbreviate preview reduce"
)
_PAGING_IN = words.bag("search recall retrieve query find lookup read get load")
_PAGING_OUT = words.bag("insert store save add write archive append remember put memorize")
_PAGED = words.bag("memory memories archival conversation history recall knowledge core")


@condition
def made_by_model(case: Case) -> bool:
    """What is put in place was made by a language model, here, in a helper or in a caller."""
    return case.world.summaries.made_by_model(case.function, case.effect.fed)


@condition
def stands_before_kept(case: Case) -> bool:
    """Something new stands before the part of a list that is kept, or in a list that was emptied."""
    return "precedes" in case.effect.marks or (case.effect.kind == "refill" and "same_owner" in case.effect.marks)


@condition
def shrinks(case: Case) -> bool:
    """The new content is less than the old: cut, a notice, a constant, or what a shortening helper gave."""
    if case.effect.marks & _LESS:
        return True
    return sized_there(case) and case.world.summaries.from_any(
        case.function, case.effect.fed, case.world.summaries.shortens
    )


@condition
def sized(case: Case) -> bool:
    """A size or number is compared with a limit before, here or in the caller."""
    if set(case.effect.guards) & _SIZED or any(kind in _SIZED for kind, _ in case.function.guards):
        return True
    return any(set(call.guards) & _SIZED for call, _ in case.world.callers.get(case.function.key, []))


@condition
def sized_there(case: Case) -> bool:
    """A size or number is compared with a limit right before, or before the call of the function."""
    if set(case.effect.guards) & _SIZED:
        return True
    return any(set(call.guards) & _SIZED for call, _ in case.world.callers.get(case.function.key, []))


@condition
def made_by_model_here(case: Case) -> bool:
    """What is put in place was made by a language model that the function asks, itself or through a helper."""
    return case.world.summaries.made_by_model(case.function, case.effect.fed, depth=2)


@condition
def some_of_many(case: Case) -> bool:
    """Only some messages are touched, in a loop or a copy, or the size decides."""
    return bool(case.effect.marks & {"in_loop", "copied", "instead", "marker"}) or sized(case)


@condition
def named_for_shortening(case: Case) -> bool:
    """The function says it shortens, and what it shortens is a result, an output or a message."""
    found = set(words.words(case.function.name))
    what = {w for p in case.function.params for w in words.words(p.name)} | set(words.words(case.function.symbol))
    return bool(found & _SHORTENING) and bool(what & _RESULTS)


@condition
def page_of_many(case: Case) -> bool:
    """A page between two bounds is read: someone turns pages."""
    return "page" in case.effect.marks


@condition
def never_shown(case: Case) -> bool:
    """The list is a field of the object that nobody reads out: a counter or detector keeps it for itself."""
    parts = case.effect.subject.split(".")
    if len(parts) < 2 or parts[0] not in ("self", "this") or case.effect.flow not in ("stored", "replaced"):
        return False
    name = parts[1]
    if any(p != case.function.path for p in case.world.references.get(name, {})):
        return False
    return not any(name in f.shown for f in case.world.functions_of.get(case.function.path, []))


@condition
def hides_secrets(case: Case) -> bool:
    """The function takes out what must not be seen, whatever its size."""
    return bool(set(words.words(case.function.symbol)) & _HIDING_SECRETS)


@condition
def for_people(case: Case) -> bool:
    """What is shortened is shown to people or logged: a title, a label, an error."""
    found = set(words.words(case.function.name)) | set(words.words(case.effect.subject))
    return bool(found & _FOR_PEOPLE)


@condition
def handed_on(case: Case) -> bool:
    """The value is stored, returned or sent, here or in the function it is passed to."""
    fate = case.world.summaries.fate(case.function, case.effect.flow)
    return fate.partition(":")[0] in ("stored", "returned", "model", "replaced")


@condition
def of_results(case: Case) -> bool:
    """What is cut is the output of a tool or command, or what a message says."""
    found = {w for p in case.function.params for w in words.words(p.name)} | set(words.words(case.effect.subject))
    return bool((found | set(words.words(case.function.symbol))) & _RESULTS)


@condition
def saved_elsewhere(case: Case) -> bool:
    """The text itself is written to a file or store, here or in a helper."""
    if "through_helper" not in case.effect.marks:
        return True
    return any("writes_text" in target.marks for _, target in case.world.callees.get(case.function.key, []))


@condition
def sized_or_referenced(case: Case) -> bool:
    """The size decides, or what the store answered is put where the text was."""
    said = f"call:{case.effect.subject}"
    return sized_there(case) or any(e.kind == "content" and said in e.fed for e in case.function.effects)


@condition
def leaves_a_note(case: Case) -> bool:
    """A text that tells where the rest is, or a shortened text, is left where the whole one was."""
    left = any(e.kind in ("content", "shortened") for e in case.function.effects) or "helpers" in case.effect.marks
    told = "noted" in case.effect.marks and bool({"token_count", "char_count"} & set(case.effect.guards))
    return left or told or "shortens_text" in case.function.marks


@condition
def remembers(case: Case) -> bool:
    """The function, what goes in or what comes out is about things remembered."""
    own = case.function
    spelled = (own.name, own.returns, case.effect.subject, *(f"{p.name} {p.annotation}" for p in own.params))
    return any(set(words.words(s)) & _REMEMBERING for s in spelled)


@condition
def remembers_or_messages(case: Case) -> bool:
    """A list named for messages, or one of things remembered."""
    return (message_list(case) and strong_subject(case)) or remembers(case)


@condition
def kept_by_number(case: Case) -> bool:
    """Which elements stay is decided by a number: the newest ones, or as many as fit."""
    marks = case.effect.marks
    return "by_number" in marks or ("by_ids" in marks and "message_count" in case.effect.guards)


@condition
def kept_by_age(case: Case) -> bool:
    """Which elements stay is decided by their age, or by being among the newest."""
    return bool(case.effect.marks & {"by_age", "sorted_time"})


@condition
def kept_by_score(case: Case) -> bool:
    """The list was ordered by score before it was cut."""
    return "sorted_score" in case.effect.marks


@condition
def not_by_score(case: Case) -> bool:
    """The list was not ordered by score."""
    return "sorted_score" not in case.effect.marks


@condition
def bounded_by_setting(case: Case) -> bool:
    """How many are kept is a setting, not a number in the code."""
    return "fixed" not in case.effect.marks


@condition
def freed_of_doubles(case: Case) -> bool:
    """Elements whose content was seen before are left out; the same id twice is only a join."""
    return "unseen" in case.effect.marks and "by_id_seen" not in case.effect.marks


@condition
def sets_property(case: Case) -> bool:
    """The function is the setter of a property: it takes over what it is given."""
    return any(d.endswith(".setter") for d in case.function.decorators)


@condition
def finds_no_cut(case: Case) -> bool:
    """Tokens are added up, and neither is anything gathered nor any list cut with what was found."""
    cut = any(e.kind in ("slice", "pop_front", "pop_other", "filter", "kept_in_loop") for e in case.function.effects)
    return "gathers" not in case.effect.marks and not cut and "removes_messages" not in case.function.marks


@condition
def offloads(case: Case) -> bool:
    """The function stores content elsewhere and keeps every message."""
    return any(e.kind == "offload" for e in case.function.effects)


@condition
def gathers_ids(case: Case) -> bool:
    """Only ids are gathered: a trigger or a list for someone else, the messages stay."""
    return "ids_only" in case.effect.marks


@condition
def read_newest(case: Case) -> bool:
    """The newest of what is stored is read, up to a number; an open interface to page through it is not a window."""
    if "options" in case.effect.marks:
        joined = "takes_messages" in case.function.marks or "lrange" in case.effect.evidence
        return joined and (message_list(case) or memory_place(case)) and case.effect.flow != "read"
    return memory_place(case)


@condition
def indexes_messages(case: Case) -> bool:
    """What goes into the vector store are messages."""
    return case.effect.likeness > 1 or "takes_messages" in case.function.marks


@condition
def searched_beside(case: Case) -> bool:
    """The same class or file asks that store for what is near, and gives it back."""
    return any("vector_query" in f.marks for f in _beside(case))


@condition
def paged_by_the_agent(case: Case) -> bool:
    """The agent's own tools write to the memory and search in it."""
    names = [set(words.words(f.name)) for f in _beside(case) if "dispatched" in f.marks]
    paged = [n for n in names if n & _PAGED]
    return any(n & _PAGING_IN for n in paged) and any(n & _PAGING_OUT for n in paged)


@condition
def empties_memory(case: Case) -> bool:
    """A method made for emptying takes everything out of what is remembered or said."""
    found = words.words(case.function.name)
    verbs = {"reset", "clear", "forget", "wipe"}
    of = set(words.words(case.function.owner)) & {"agent", "memory", "chat", "session", "conversation", "commands"}
    called = found[0] in ("cmd", "command", "on", "handle") or bool(case.world.callers.get(case.function.key))
    return bool(verbs & set(found[:2])) and bool(of) and called and not case.function.name.startswith("__")


@condition
def main_or_stored(case: Case) -> bool:
    """The shortened list is kept, given back or sent by the main loop, not only shown to a side prompt."""
    if not goes_to_context(case):
        return False
    return case.effect.flow in ("stored", "replaced", "returned") or not _answers_aside(case.function)


def _answers_aside(function: Function) -> bool:
    """A function that asks a model for a decision: its own answer is not a message."""
    return (
        function.returns not in ("", "str", "string")
        and bool(function.model_calls)
        and not ({"tools", "functions", "toolDefinitions"} & {k for c in function.model_calls for k in c.keywords})
    )


def _beside(case: Case) -> list[Function]:
    """Functions of the same class, or of the same file for free functions."""
    own = case.function
    return [f for f in case.world.functions_of.get(own.path, []) if f.owner == own.owner]
