"""A write that is sent twice is done once: the idempotency key is committed with the change itself.

The row holds a digest of the request and no content. A second request under the same key answers with what is stored
now under the same name; with another body it is refused.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ..errors import InvalidValue
from .calls import Call
from .operations import BY_NAME, Operation, parameters_of

if TYPE_CHECKING:
    from ..memory import AsyncMemory

MAX_KEY = 200
NATIVE = frozenset({"threads.append"})
"""What has a key of its own: the store keeps it per message."""
NAMED = frozenset({"threads.create", "documents.add"})
"""What makes a row under an id: one made from the key is the same the second time."""
_AGAIN = {
    "facts.set": "facts.get", "facts.correct": "facts.get", "facts.reject": "facts.get", "state.set": "state.entry",
    "state.increment": "state.entry", "records.put": "records.get", "learnings.reinforce": "learnings.get",
    "learnings.weaken": "learnings.get", "working.set": "working.get", "working.update": "working.get",
    "working.record_action": "working.get",
}  # fmt: skip
"""What answers the second time, by reading what the first one wrote."""


def checked(key: str) -> str:
    """An idempotency key: short visible ASCII."""
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        raise InvalidValue(f"Idempotency-Key takes 1 to {MAX_KEY} visible characters")
    return key


def digest(operation: Operation, query: bytes, body: bytes) -> str:
    """What must be the same for a request to count as the same."""
    return hashlib.sha256(b"\0".join([operation.name.encode(), query, body])).hexdigest()


def prepare(operation: Operation, call: Call, key: str) -> None:
    """Give the call the key, or the id made from it, where it knows what to do with one."""
    if operation.name in NATIVE:
        _key_messages(call, f"idem:{key}")
    elif operation.name in NAMED:
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        call.options.setdefault("id", f"i{name}")


def _key_messages(call: Call, key: str) -> None:
    """A key for the append, or one for each message that has none where others have their own."""
    messages, given = call.args[1:], call.options.get("key")
    own = [one.get("key") if isinstance(one, dict) else None for one in messages]
    if given is None and not any(own):
        call.options["key"] = key
    elif isinstance(given, list) and not any(own):
        call.options["key"] = [one or f"{key}:{place}" for place, one in enumerate(given)]
    elif given is None:
        call.options["key"] = [one or f"{key}:{place}" for place, one in enumerate(own)]
        call.args[1:] = [_without_key(one) for one in messages]


def _without_key(message: Any) -> Any:
    return {name: value for name, value in message.items() if name != "key"} if isinstance(message, dict) else message


async def answer(operation: Operation, call: Call, handle: AsyncMemory) -> tuple[Operation, Any]:
    """What to say the second time, and the operation it is the answer of."""
    again = BY_NAME.get(_AGAIN.get(operation.name, ""))
    if again is None:
        return operation, None
    names = {parameter.name for parameter in parameters_of(again)}
    options = {name: value for name, value in call.options.items() if name in names}
    noun = getattr(handle, again.noun)
    return again, await getattr(noun, again.call)(**options)
