"""Checks the expectations that a case has about the next request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any

import msgspec

from ..context.budget import SECTIONS
from ..errors import InvalidValue, NotFound
from ..messages.message import split_message_id
from ..values import JsonMapping
from .cases import Case
from .request import CaseRequest, Part, mentions, plain, shorten
from .stages import Loss, Stage, context_command, find_carriers, find_loss, memorist_command, not_extracted

MIN_TELLING_CHARACTERS = 12
"""Shorter messages, such as greetings, are the same for many users and do not prove a leak."""
SECTION_NAMES = (*SECTIONS, "overhead")


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Describes an unmet expectation."""

    expectation: str
    message: str
    stage: Stage | None = None
    """This is the stage that lost the expected text."""
    parts: tuple[str, ...] = ()
    """These parts of the request contradict the expectation."""
    reproduce: tuple[str, ...] = ()


def check(request: CaseRequest) -> list[Failure]:
    """Return the failed expectations of a case."""
    check_forms(request.case)
    return [failure for kind, value in request.case.expectations() for failure in KINDS[kind](request, value)]


def check_forms(case: Case) -> None:
    """Raise `InvalidValue` for an unknown expectation, or one whose value has the wrong form."""
    for kind, value in case.expectations():
        if kind not in KINDS:
            near = get_close_matches(kind, KINDS, n=1)
            hint = f"did you mean {near[0]!r}? There are" if near else "there are"
            raise InvalidValue(f"case {case.name!r}: there is no expectation {kind!r}; {hint} {', '.join(KINDS)}")
        if not _FORMS[kind](value):
            raise InvalidValue(f"case {case.name!r}: {kind} is written {_EXAMPLES[kind]}; the case has {_shown(value)}")


def _contains(request: CaseRequest, text: object) -> Iterator[Failure]:
    if not request.says(str(text)):
        yield _lost(f"contains {str(text)!r}", find_loss(request, str(text)))


def _not_contains(request: CaseRequest, text: object) -> Iterator[Failure]:
    if request.says(str(text)):
        parts = request.parts_with(str(text))
        yield _unwanted(request, f"not_contains {str(text)!r}", f"the request contains {str(text)!r}", parts)


def _nothing_about(request: CaseRequest, subject: object) -> Iterator[Failure]:
    parts = [part for part in request.parts if mentions(part.text, str(subject))]
    if parts:
        name = f"nothing_about {str(subject)!r}"
        yield _unwanted(request, name, f"the request mentions {str(subject)!r}", parts)


def _newest(request: CaseRequest, values: Any) -> Iterator[Failure]:
    """Check that facts have these values, that the request contains them, and that it shows no earlier value as
    current."""
    for key, value in _pairs(values):
        name = f"newest {key} = {value}"
        namespace = f"user:{request.case.user}"
        fact = request.memory.facts.get(namespace, key)
        former = {str(version.value) for version in request.memory.facts.history(namespace, key)}
        if fact is None or plain(str(fact.value)) != plain(str(value)):
            if fact is not None and plain(str(value)) in map(plain, former):
                message = f"the fact says {str(fact.value)!r}, which replaced {str(value)!r}"
                command = memorist_command(request, "facts", "history", namespace, key)
                yield Failure(expectation=name, message=message, reproduce=(command,))
            else:
                yield _lost(name, _unextracted(request, key, str(value), None if fact is None else fact.value))
            continue
        if not request.says(str(value)):
            yield _lost(name, find_loss(request, str(value)))
        for text in sorted(former - {str(value)}):
            parts = [part for part in request.parts_with(text) if not part.superseded and part.section != "history"]
            parts = [part for part in parts if plain(str(value)) not in plain(part.text)]
            if parts:
                yield _unwanted(request, name, f"the earlier value {text!r} appears as if it were still true", parts)


def _pairs(values: JsonMapping) -> list[tuple[str, object]]:
    """Return keys of facts with their values, written as `{location: Porto}` or as `{key: location, value: Porto}`."""
    return [(values["key"], values["value"])] if set(values) == {"key", "value"} else list(values.items())


def _unextracted(request: CaseRequest, key: str, value: str, current: object) -> Loss:
    """Return why a fact does not have a value: the statement was never stored, or no fact was extracted from it."""
    instead = "there is no such fact" if current is None else f"the fact says {str(current)!r}"
    messages = [carrier for carrier in find_carriers(request, value) if carrier.kind == "message"]
    if messages:
        return not_extracted(request, messages[-1].text, f"{instead}, although a message contains {value!r}")
    loss = find_loss(request, value)
    return msgspec.structs.replace(loss, detail=f"{instead}; {loss.detail}")


def _source(request: CaseRequest, expected: Any) -> Iterator[Failure]:
    """Check that a statement in the request comes from a given message, and yield the failures."""
    text, message = str(expected["of"]), str(expected["message"])
    name = f"source of {text!r} is {shorten(message)!r}"
    parts = request.parts_with(text)
    if not parts:
        yield _lost(name, find_loss(request, text))
        return
    sources = [source for part in parts for source in _messages_behind(request, part)]
    if not any(plain(message) in plain(source) for source in sources):
        behind = "; ".join(repr(shorten(source)) for source in dict.fromkeys(sources)) or "no message"
        yield _unwanted(request, name, f"it comes from {behind}", parts)


def _messages_behind(request: CaseRequest, part: Part) -> list[str]:
    """Return the texts of the messages that a part of a request was derived from."""
    if not part.source:
        return []
    message = request.whole.threads.message(part.source) if "#" in part.source else None
    if message is not None:
        return [message.text]
    try:
        return [message.text for message in request.whole.why(part.source).messages]
    except NotFound:
        return []


def _tokens(request: CaseRequest, limits: object) -> Iterator[Failure]:
    """Check the tokens of the whole request against a maximum or `{min, max}`, and yield the failures."""
    problem = _outside(request.context.tokens, limits)
    if problem:
        message = f"the request has {request.context.tokens} tokens, {problem}"
        yield Failure(expectation=f"tokens {_shown(limits)}", message=message, reproduce=(context_command(request),))


def _sections(request: CaseRequest, expected: Any) -> Iterator[Failure]:
    """Check that sections exist (for a list), or that their tokens are within limits (for a mapping)."""
    limits = {str(name): {"min": 1} for name in expected} if isinstance(expected, list) else dict(expected)
    tokens = {report.name: report.tokens for report in request.context.manifest.sections}
    for name, limit in limits.items():
        problem = _outside(tokens.get(name, 0), limit)
        if problem:
            message = f"the section {name} has {tokens.get(name, 0)} tokens, {problem}"
            expectation = f"sections {name}" if isinstance(expected, list) else f"sections {name} {_shown(limit)}"
            yield Failure(expectation=expectation, message=message, reproduce=(context_command(request),))


def _sees_nothing_of(request: CaseRequest, other: object) -> Iterator[Failure]:
    """Check that the request contains nothing from another user's memory, neither its records nor their words."""
    theirs = request.whole.scope(user=str(other))
    namespace = f"user:{other}"
    threads = {thread.id for thread in theirs.threads.list(namespace)}
    texts = [message.text for thread in sorted(threads) for message in theirs.threads.messages(thread)]
    texts += [item.text for item in theirs.memories.list(ns=namespace, limit=None)]
    own = {plain(piece) for piece in _own_words(request)}
    telling = [text for text in texts if len(text) >= MIN_TELLING_CHARACTERS and plain(text) not in own]
    parts = [
        part for part in request.parts
        if part.source.startswith(f"{namespace}/") or (split_message_id(part.source) or ('', 0))[0] in threads
        or any(plain(text) in plain(part.text) for text in telling)
    ]  # fmt: skip
    if parts:
        name = f"sees_nothing_of {other!r}"
        yield _unwanted(request, name, f"{request.case.user} sees data that belongs to {other}", parts)


def _own_words(request: CaseRequest) -> Iterator[str]:
    for thread in request.memory.threads.list(f"user:{request.case.user}"):
        yield from (message.text for message in request.memory.threads.messages(thread.id))
    yield from (item.text for item in request.memory.memories.list(limit=None))


KINDS: dict[str, Callable[[CaseRequest, object], Iterator[Failure]]] = {
    "contains": _contains,
    "not_contains": _not_contains,
    "newest": _newest,
    "source": _source,
    "tokens": _tokens,
    "sections": _sections,
    "nothing_about": _nothing_about,
    "sees_nothing_of": _sees_nothing_of,
}


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and bool(str(value).strip())


def _is_limit(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and set(value) <= {"min", "max"} and all(map(_is_limit_number, value.values()))
    return _is_limit_number(value)


def _is_limit_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_newest(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(
        isinstance(key, str) and _is_value(fact_value) for key, fact_value in _pairs(value)
    )  # fmt: skip


def _is_value(value: object) -> bool:
    return isinstance(value, str | int | float | list | date)


def _is_source(value: object) -> bool:
    return isinstance(value, Mapping) and set(value) == {"of", "message"} and all(map(_is_text, value.values()))


def _are_sections(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and set(value) <= set(SECTION_NAMES) and all(map(_is_limit, value.values()))
    return isinstance(value, list) and bool(value) and all(name in SECTION_NAMES for name in value)


_FORMS: dict[str, Callable[[object], bool]] = {
    "contains": _is_text, "not_contains": _is_text, "newest": _is_newest, "source": _is_source, "tokens": _is_limit,
    "sections": _are_sections, "nothing_about": _is_text, "sees_nothing_of": _is_text,
}  # fmt: skip
_EXAMPLES = {
    "contains": "`contains: TEXT` or as a list of texts",
    "not_contains": "`not_contains: TEXT` or as a list of texts",
    "newest": "`newest: {KEY: VALUE}`, such as `newest: {location: Porto}`",
    "source": "`source: {of: TEXT, message: TEXT}`",
    "tokens": "`tokens: 400` or `tokens: {min: 50, max: 400}`",
    "sections": f"`sections: [NAME]` or `sections: {{NAME: {{max: 200}}}}` with names from {', '.join(SECTION_NAMES)}",
    "nothing_about": "`nothing_about: NAME` or as a list of names",
    "sees_nothing_of": "`sees_nothing_of: USER`",
}


def _outside(tokens: int, limits: Any) -> str:
    if isinstance(limits, int):
        limits = {"max": limits}
    if tokens > limits.get("max", tokens):
        return f"more than {limits['max']}"
    return f"fewer than {limits['min']}" if tokens < limits.get("min", tokens) else ""


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _lost(expectation: str, loss: Loss) -> Failure:
    return Failure(expectation=expectation, message=loss.detail, stage=loss.stage, reproduce=loss.commands)


def _unwanted(request: CaseRequest, expectation: str, message: str, parts: list[Part]) -> Failure:
    sources = [part.source for part in parts if part.source and part.source != "summary"]
    commands = tuple(memorist_command(request, "why", source) for source in dict.fromkeys(sources))
    return Failure(
        expectation=expectation, message=message, parts=tuple(str(part) for part in parts), reproduce=commands
    )
