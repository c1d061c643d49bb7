"""Handles idempotency keys. A write sent twice with the same key is carried out once, because the key is committed with
the change.

The row contains a digest of the request and, if the answer was a count, the count. It contains no content. A second
request with the same key returns the record that is now stored under the same name. A request with a different body is
refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..engine.noun import core_of
from ..engine.profile import PREFERENCE_PREFIX
from ..engine.threads.receipts import MessageReceipt, receipt_states
from ..errors import InvalidValue, UnknownOutcome
from ..protocol.operations import Operation, answer_of
from ..values import JsonObject
from .calls import Call
from .nouns import noun_of

if TYPE_CHECKING:
    from ..memory import AsyncMemory

MAX_KEY_CHARACTERS = 200


class AnswerGone(UnknownOutcome):
    """Raised if a repeated write cannot be answered again, because the answer named rows that it removed or moved
    (`threads.pop`, `facts.unforget`, `review.approve`), or rows that have since been deleted.
    """


NATIVE = frozenset({"threads.append", "threads.stash", "remember"})
"""Operations that accept an idempotency key themselves, because the store keeps one per message."""
NAMED = frozenset({"threads.create", "documents.add"})
"""Operations that create a row with an id. The id is derived from the key, so that a second call finds the row."""
Read = tuple[str, Callable[[Any, JsonObject], JsonObject]]


def _same(*names: str) -> Callable[[object, JsonObject], JsonObject]:
    return lambda handle, options: {name: options[name] for name in names if name in options}


_FACT: Read = ("facts.get", _same("ns", "key"))
_LEARNING: Read = ("learnings.get", _same("id", "user"))
_EVENT: Read = ("events.get", _same("id", "ns"))
_WORKING: Read = ("working.get", _same("user", "session"))
_AGAIN: Mapping[str, Read] = {
    "facts.set": _FACT, "facts.correct": _FACT, "facts.touch": _FACT, "facts.restore": _FACT, "facts.update": _FACT,
    "facts.set_many": ("facts.get_many", lambda _, sent: {"ns": sent.get("ns"), "keys": [*sent["items"]]}),
    "profile.set_preference": ("facts.get", lambda handle, sent: _preference(handle, sent)),
    "threads.update": ("threads.get", _same("id")),
    "threads.fork": ("threads.get", lambda _, sent: {"id": sent["new_id"]}),
    "threads.redact": ("threads.message", lambda _, sent: {"id": sent["message"]}),
    "threads.pin": ("threads.message", lambda _, sent: {"id": sent["message"]}),
    "learnings.reinforce": _LEARNING, "learnings.weaken": _LEARNING, "learnings.update": _LEARNING,
    "events.update": _EVENT, "events.cancel": _EVENT, "memories.update": ("memories.get", _same("id", "ns")),
    "review.edit": ("review.get", _same("id", "ns")),
    "working.set": _WORKING, "working.update": _WORKING, "working.record_action": _WORKING,
    "working.add_turn": _WORKING,
    "state.set": ("state.entry", _same("key")), "state.increment": ("state.get", _same("key")),
    "tasks.save": ("tasks.resume", lambda _, sent: {"task_id": sent["checkpoint"].get("task_id", "")}),
    "records.put": ("records.get", _same("ns", "key")),
    "records.put_many": ("records.get_many", lambda _, sent: {"ns": sent.get("ns"), "keys": _keys(sent["items"])}),
}  # fmt: skip
"""For each operation, the read whose result answers a repeated request."""


def _preference(handle: Any, arguments: JsonObject) -> JsonObject:
    user = core_of(handle).scope.subject(arguments.get("user"))
    return {"ns": f"user:{user}", "key": PREFERENCE_PREFIX + arguments["key"]}


def _keys(items: Iterable[Any]) -> list[object]:
    return [item[0] if isinstance(item, tuple) else item.key for item in items]


def checked(key: str) -> str:
    """Check that an idempotency key is short and contains only printable ASCII characters."""
    if not 0 < len(key) <= MAX_KEY_CHARACTERS or not key.isascii() or not key.isprintable():
        raise InvalidValue(f"Idempotency-Key must have 1 to {MAX_KEY_CHARACTERS} visible characters")
    return key


def digest(operation: Operation, query: bytes, body: bytes) -> str:
    """Return a hash of the operation, the query and the body, which must be the same in a repeated request."""
    return hashlib.sha256(b"\0".join([operation.name.encode(), query, body])).hexdigest()


def prepare(operation: Operation, call: Call, key: str) -> None:
    """Pass the key, or an id derived from it, to an operation that accepts one."""
    if operation.name in ("remember", "threads.stash"):
        call.options.setdefault("key", f"idem:{key}")
    elif operation.name in NATIVE:
        _key_messages(call, f"idem:{key}")
    elif operation.name in NAMED and call.options.get("source") is None:
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        call.options.setdefault("id", f"i{name}")
    elif operation.name == "threads.fork":
        call.options.setdefault("new_id", f"i{hashlib.sha256(key.encode()).hexdigest()[:24]}")


def _key_messages(call: Call, key: str) -> None:
    """Pass the key to an append, or give each message that has no key of its own a key derived from it."""
    messages, keys = call.args[1:], call.options.get("key")
    own = [message.get("key") if isinstance(message, dict) else None for message in messages]
    if keys is None and not any(own):
        call.options["key"] = key
    elif isinstance(keys, list) and not any(own):
        call.options["key"] = [message or f"{key}:{position}" for position, message in enumerate(keys)]
    elif keys is None:
        call.options["key"] = [message or f"{key}:{position}" for position, message in enumerate(own)]
        call.args[1:] = [_without_key(message) for message in messages]


def _without_key(message: object) -> object:
    return {name: value for name, value in message.items() if name != "key"} if isinstance(message, dict) else message


def counts(operation: Operation) -> bool:
    """Return whether the answer is a number or a boolean that cannot be read from the store afterwards."""
    return answer_of(operation) in (int, bool) and operation.name not in _AGAIN


async def answer(operation: Operation, call: Call, handle: AsyncMemory, outcome: int | bool | None) -> object:
    """Answer a repeated request. `outcome` is the number stored with the key."""
    if counts(operation):
        # A key without an outcome means True. False is stored as 0, because a write that changed nothing commits
        # nothing, not even its key.
        if answer_of(operation) is bool:
            return outcome is None or bool(outcome)
        if outcome is None:  # the server stopped before it could store the number
            raise AnswerGone("this was already done with the same Idempotency-Key, but its result was not stored")
        return outcome
    again = _AGAIN.get(operation.name)
    if again is None:
        return await _searched(operation, call, handle)
    name, arguments = again
    noun, _, method = name.partition(".")
    result = await getattr(noun_of(handle, noun), method)(**arguments(handle, call.options))
    if result is None or (isinstance(result, list) and None in result):
        raise _answer_gone()  # the row has been deleted or has expired since then
    return result


async def _searched(operation: Operation, call: Call, handle: AsyncMemory) -> object:
    """Find a row by its content, because it was created without an id."""
    options = call.options
    if operation.name == "threads.report":
        reports = await handle.threads.requests(options["id"])
        if reports:
            return reports[-1]
    if operation.name == "learnings.add":
        learnings = await handle.learnings.list(user=options.get("user"))
        added = [learning for learning in learnings if learning.content == options["content"]]
        if added:
            return added[-1]
    if operation.name == "events.add":
        events = await handle.events.list(ns=options.get("ns"))
        same = [event for event in events if event.text == options["text"]]
        if same:
            return max(same, key=lambda event: event.updated_at)
    if operation.name == "memories.undo":
        return await handle.memories.get(options["id"], ns=options.get("ns"))  # None if the undo left no memory
    if operation.name == "plans.apply":
        return msgspec.structs.replace(options["plan"], applied=True)
    if operation.name in ("facts.reject", "facts.end"):
        versions = await handle.facts.history(options.get("ns"), options["key"])
        if versions:
            return versions[-1]
    if operation.name == "threads.replace":
        thread = options["id"]
        state = await receipt_states(core_of(handle), thread)
        stored = await handle.threads.messages(thread)
        return [MessageReceipt(message, True, replayed=True, **state(message.seq)) for message in stored]
    raise _answer_gone()


def _answer_gone() -> AnswerGone:
    return AnswerGone("this was already done with the same Idempotency-Key, but its answer no longer exists")
