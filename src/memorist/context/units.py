"""Groups messages into units, the smallest parts a request keeps or drops: a message, or tool calls with their results.

Units are built backwards from the newest message, so that a window over a long thread reads only the messages it keeps.
Messages that a provider would reject are repaired in the request, never in the store, and each repair is reported. Tool
results without a call and empty messages are dropped, and a call without a result gets a placeholder result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ..messages.message import ATTACHED, INSTRUCTIONS, Given, Message, ToolCall, as_message
from ..messages.responses import SHAPE as RESPONSES
from ..messages.responses import as_chat, as_turn
from ..messages.shapes import mended
from ..messages.wire import SYSTEM_NOTE
from .fence import fenced_memory
from .measure import count_message, stored_tokens
from .reasoning import has_reasoning
from .tokens import DEFAULT_COUNTER, Counter, open_counter

NO_RESULT = "(no result: the call was interrupted)"
EMPTY = "(empty message)"
_SPEAKERS = ("user", "assistant")
EMPTY_MESSAGE = "empty message"
"""The reason for a repair that drops an empty message."""
SYNTHETIC = "memorist.synthetic"
"""The metadata key of messages that exist only in the request: nobody wrote them, and no store contains them."""


class Repair(msgspec.Struct, frozen=True):
    """Represents a change to a message in the request that makes a provider accept it."""

    position: int
    reason: str
    tokens: int = 0
    message: str = ""
    """This is the id of the message, if it is stored."""


class Unit(msgspec.Struct, frozen=True):
    """Represents a message, or tool calls with their results. A request contains a unit as a whole or not at all."""

    messages: tuple[Message, ...]
    tokens: int
    position: int
    """The index of its first message in the list, or its sequence number in the thread."""
    pinned: bool = False
    exchange: bool = False
    last: int = 0
    """This is the index or sequence number of its last message."""

    @property
    def role(self) -> str:
        return self.messages[0].role

    @property
    def text(self) -> str:
        """This is the readable text of all its messages."""
        return "\n".join(part for part in (message.text for message in self.messages) if part)


class _Carrier(msgspec.Struct):
    """Holds a message with tool results until the call it answers has been read."""

    message: Message
    position: int


class Grouper:
    """Groups messages, pushed newest first, into units."""

    def __init__(self, counter: Counter, *, attached: bool = False, stash: int | None = None) -> None:
        self.counter = counter
        self._name = counter.name
        self._attached = attached
        self._stash = stash
        """Tool results over this many tokens are sent as previews. None means that all results are sent in full."""
        self.repairs: list[Repair] = []
        self.has_reasoning = False
        """Whether any message contains reasoning, so that most assemblies do not have to look for it."""
        self.has_attached = False
        """Whether any unit contains memory recalled for its turn."""
        self._pending: list[_Carrier] = []
        self._turn: list[_Carrier] = []
        """Responses API items of one model turn, newest first; every other provider accepts them as one message."""
        self._strays: dict[str, _Carrier] = {}

    @property
    def waiting(self) -> bool:
        """This is True if older messages are needed to complete a unit, such as the call that a result answers, or the
        start of a turn."""
        return bool(self._pending or self._turn)

    def take_plain(
        self, messages: Iterator[Message], position: int | None, units: list[Unit], limit_tokens: int
    ) -> tuple[int, Message | None]:
        """Add the units of messages that contain only text, which is the common case, until they exceed a token limit.

        Positions are counted down from `position`; None means the sequence numbers of the messages. Returns the number
        of tokens added, and the first message that `push` must handle, or None. This is the hot loop when reading
        history.
        """
        attached, name, added = self._attached, self._name, 0
        for message in messages:
            content = message.content
            # Anything else (blocks, calls, empty text) needs repair or pairing, which `push` does.
            if type(content) is not str or message.extra or not content or content.isspace():
                return added, message
            if message.role not in _SPEAKERS or (attached and message.metadata and ATTACHED in message.metadata):
                return added, message
            tokens = message.tokens
            if tokens is None or (message.counter or DEFAULT_COUNTER) != name:
                tokens = count_message(message, self.counter)
            seq = message.seq if position is None else position
            units.append(Unit((message,), tokens, seq, message.pinned, False, seq))
            added += tokens
            if added > limit_tokens:
                break
            if position is not None:
                position -= 1
        return added, None

    def push(self, message: Message, position: int) -> list[Unit]:
        """Return the units that the next older message completes, newest first."""
        if not self.waiting:
            units: list[Unit] = []
            if self.take_plain(iter((message,)), position, units, 0)[1] is None:
                return units
        sound = self._sound(message, position)
        self.has_reasoning = self.has_reasoning or has_reasoning(sound)
        if sound.shape == RESPONSES and sound.role == "assistant":
            self._turn.append(_Carrier(sound, position))
            return []
        return [*self._end_turn(), *self._push_any(_modern(sound), position, position)]

    def _end_turn(self) -> list[Unit]:
        if not self._turn:
            return []
        turn, self._turn = self._turn[::-1], []
        return self._push_any(as_turn([carrier.message for carrier in turn]), turn[0].position, turn[-1].position)

    def _sound(self, message: Message, position: int) -> Message:
        """Repair malformed parts of a message, since an imported one may contain parts that a provider rejects."""
        if type(message.content) is str and not message.extra:
            return message
        sound, flaws = mended(message)
        self.repairs += [Repair(position, flaw, message=_id(message)) for flaw in flaws]
        return sound

    def close(self) -> list[Unit]:
        """Return the last units when there are no older messages; tool results without a call are dropped."""
        units = [*self._end_turn(), *self._release()]
        for stray in self._strays.values():
            self._note(stray.message, stray.position, "tool result without its call")
        self._strays.clear()
        return units

    def _push_any(self, message: Message, position: int, last: int) -> list[Unit]:
        if carries_results(message):
            self._pending.append(_Carrier(message, position))
            return []
        calls = message.tool_calls if message.role == "assistant" else []
        if calls:
            return self._exchange(message, calls, position)
        units = self._release()
        if not has_substance(message):
            return units + self._empty(message, position)
        return [*units, self._unit((message,), position, last)]

    def _empty(self, message: Message, position: int) -> list[Unit]:
        if message.pinned:
            filled = msgspec.structs.replace(message, content=EMPTY, tokens=None, shape=None)
            return [self._unit((filled,), position, position)]
        self._note(message, position, EMPTY_MESSAGE)
        return []

    def _unit(self, messages: tuple[Message, ...], position: int, last: int, exchange: bool = False) -> Unit:
        if self._attached and ATTACHED in messages[0].metadata and messages[0].role == "user":
            # Memory recalled for this turn is sent again before it, with the same bytes, so a prompt cache hits.
            messages = (attached_message(messages[0]), *messages)
            self.has_attached = True
        if exchange and self._stash is not None:
            from .stash import stash_results

            shown = [stash_results(message, self._stash, self.counter) for message in messages[1:]]
            messages = (messages[0], *shown)
        tokens = sum(stored_tokens(message, self.counter) for message in messages)
        if exchange:
            # Rendering may have to rename a call id for a provider: allow one token more in the call and its result.
            tokens += 2 * len(messages[0].tool_calls)
        elif messages[0].role in INSTRUCTIONS:
            tokens += self.counter.count(SYSTEM_NOTE)
        return Unit(messages, tokens, position, any(m.pinned for m in messages), exchange, last)

    def _release(self) -> list[Unit]:
        """Set aside results whose call is not directly before them; text in the same message becomes a user unit."""
        units: list[Unit] = []
        for carrier in self._pending:
            results, rest = split_results(carrier.message)
            for call_id, result in results:
                if call_id in self._strays:
                    self._note(result, carrier.position, "second result of a call")
                else:
                    self._strays[call_id] = _Carrier(result, carrier.position)
            if rest is not None and has_substance(rest):
                units.append(self._unit((rest,), carrier.position, carrier.position))
        self._pending.clear()
        return units

    def _exchange(self, message: Message, calls: list[ToolCall], position: int) -> list[Unit]:
        # Messages arrive newest first, so the results of a call have been seen before the call itself.
        carriers = self._pending[::-1]
        if _is_clean(calls, carriers):
            self._pending.clear()
            last = carriers[-1].position
            return [self._unit((message, *(c.message for c in carriers)), position, last, exchange=True)]
        return self._repair_exchange(message, calls, position)

    def _repair_exchange(self, message: Message, calls: list[ToolCall], position: int) -> list[Unit]:
        """Repair an exchange whose results are missing, duplicated, misplaced or mixed with other text."""
        # Every provider refuses a call without a result and a result without a call, and an imported thread may have
        # both.
        message, names = _distinct_ids(message, calls)
        first: dict[str, list[_Carrier]] = {}
        texts: list[Unit] = []
        for carrier in reversed(self._pending):
            results, rest = split_results(carrier.message)
            for call_id, result in results:
                first.setdefault(call_id, []).append(_Carrier(result, carrier.position))
            if rest is not None and has_substance(rest):
                texts.append(self._unit((rest,), carrier.position, carrier.position))
        self._pending.clear()
        last = max((carrier.position for left in first.values() for carrier in left), default=position)
        parts = [message, *(self._result(first, old, new, position) for old, new in names)]
        # The rest answers no call of this message. It may belong to an older one, which has yet to be read.
        for call_id, left in first.items():
            for carrier in left:
                self._set_aside(call_id, carrier, {old for old, _ in names})
        return [*reversed(texts), self._unit(tuple(parts), position, last, exchange=True)]

    def _set_aside(self, call_id: str, carrier: _Carrier, answered: set[str]) -> None:
        if call_id in answered or call_id in self._strays:
            self._note(carrier.message, carrier.position, "second result of a call")
        else:
            self._strays[call_id] = carrier

    def _result(self, first: dict[str, list[_Carrier]], old: str, new: str, position: int) -> Message:
        if first.get(old):
            message = first[old].pop(0).message
        elif old in self._strays:
            carrier = self._strays.pop(old)
            message = carrier.message
            self.repairs.append(Repair(carrier.position, "tool result moved next to its call", message=_id(message)))
        else:
            # A turn that was interrupted never gets its result. Leaving out the call would make the model repeat it.
            self.repairs.append(Repair(position, "call without a result closed"))
            return synthetic_result(new)
        return message if old == new else _renamed(message, new)

    def _note(self, message: Message, position: int, reason: str) -> None:
        self.repairs.append(Repair(position, reason, stored_tokens(message, self.counter), _id(message)))


def units(messages: Iterable[Given], counter: Counter | None = None) -> list[Unit]:
    """Return all units in a list of messages of any shape, oldest first."""
    return group(messages, counter or open_counter())[0]


def messages_of(units: Iterable[Unit]) -> list[Message]:
    """Return the real messages, leaving out those that exist only in the request, such as recalled memory."""
    return [message for unit in units for message in unit.messages if SYNTHETIC not in message.metadata]


def group(
    messages: Iterable[Given], counter: Counter, *, attached: bool = False, stash: int | None = None
) -> tuple[list[Unit], list[Repair]]:
    """Return all units of a list, oldest first, and the repairs.

    `attached` adds the memory stored with each turn; tool results over `stash` tokens become previews.
    """
    grouper = Grouper(counter, attached=attached, stash=stash)
    out: list[Unit] = []
    listed = list(messages)
    for position in range(len(listed) - 1, -1, -1):
        message = as_message(listed[position])
        out.extend(grouper.push(message, message.seq or position))
    out.extend(grouper.close())
    out.reverse()
    return out, grouper.repairs


def carries_results(message: Message) -> bool:
    """Return whether a message contains tool results, in either shape."""
    if message.role == "tool":
        return True
    content = message.content
    return (
        message.role == "user"
        and type(content) is not str
        and any(isinstance(block, Mapping) and block.get("type") == "tool_result" for block in content or ())
    )


def has_substance(message: Message) -> bool:
    """Return whether a provider accepts the content: non-blank text, an image, a tool call or a refusal."""
    extra = message.extra
    if extra and (extra.get("tool_calls") or extra.get("refusal") or extra.get("audio")):
        return True
    if extra and any(
        item.get("type") == "compaction" for item in extra.get("items") or () if isinstance(item, Mapping)
    ):
        return True
    content = message.content
    if content is None:
        return False
    if isinstance(content, str):
        return bool(content.strip())
    return any(_block_substance(block) for block in content)


def _block_substance(block: object) -> bool:
    if not isinstance(block, Mapping):
        return bool(str(block).strip())
    kind = block.get("type")
    if kind == "text":
        return bool(str(block.get("text") or "").strip())
    return kind not in ("thinking", "redacted_thinking") and kind is not None


def attached_message(message: Message) -> Message:
    """Return the memory stored with an input as a separate message."""
    attached = message.metadata[ATTACHED]
    text = attached.get("text") if isinstance(attached, Mapping) else None
    # The stored text is fenced and counted anew: metadata of an imported row may hold anything.
    return Message(role="user", content=fenced_memory(str(text or "")), metadata={SYNTHETIC: True})


def synthetic_result(call_id: str) -> Message:
    """Return a placeholder for a missing tool result, since providers reject an unanswered call."""
    return Message(role="tool", content=NO_RESULT, extra={"tool_call_id": call_id}, metadata={SYNTHETIC: True})


def split_results(message: Message) -> tuple[list[tuple[str, Message]], Message | None]:
    """Split a message into one message per result and a message with the rest."""
    if message.role == "tool":
        return [(str(message.extra.get("tool_call_id", "")), message)], None
    replace = msgspec.structs.replace
    results: list[tuple[str, Message]] = []
    rest: list[object] = []
    for block in message.content:
        if isinstance(block, Mapping) and block.get("type") == "tool_result":
            single = replace(message, content=[block], extra={}, name=None, tokens=None)
            results.append((str(block.get("tool_use_id", "")), single))
        else:
            rest.append(block)
    return results, replace(message, content=rest, tokens=None) if rest else None


def _is_clean(calls: list[ToolCall], carriers: list[_Carrier]) -> bool:
    """Return whether each call has exactly one result, there are no other results, and text comes only after the last
    one."""
    wanted = [call.id for call in calls]
    if not carriers or "" in wanted:
        return False
    call_ids: list[str] = []
    for index, carrier in enumerate(carriers):
        message = carrier.message
        if message.role == "tool":
            call_ids.append(str(message.extra.get("tool_call_id", "")))
            continue
        results = message.tool_results
        if index + 1 < len(carriers) and len(results) < len(message.content):
            return False
        call_ids.extend(result.id for result in results)
    return len(set(wanted)) == len(wanted) == len(call_ids) and set(call_ids) == set(wanted)


def _distinct_ids(message: Message, calls: list[ToolCall]) -> tuple[Message, list[tuple[str, str]]]:
    """Return the message with a unique id for each tool call, and the (old, new) ids."""
    seen: set[str] = set()
    names: list[tuple[str, str]] = []
    for index, call in enumerate(calls, 1):
        new = call.id or f"call_{index}"
        while new in seen:
            new = f"{new}_{index}"
        seen.add(new)
        names.append((call.id, new))
    if all(old == new for old, new in names):
        return message, names
    return _with_ids(message, [new for _, new in names]), names


def _with_ids(message: Message, ids: list[str]) -> Message:
    fresh = iter(ids)
    replace = msgspec.structs.replace
    calls = message.extra.get("tool_calls")
    if isinstance(calls, list):
        renamed = [{**call, "id": next(fresh)} if isinstance(call, Mapping) else call for call in calls]
        return replace(message, extra={**message.extra, "tool_calls": renamed}, tokens=None)
    content = [
        {**block, "id": next(fresh)} if isinstance(block, Mapping) and block.get("type") == "tool_use" else block
        for block in message.content
    ]
    return replace(message, content=content, tokens=None)


def _renamed(result: Message, new: str) -> Message:
    replace = msgspec.structs.replace
    if result.role == "tool":
        return replace(result, extra={**result.extra, "tool_call_id": new}, tokens=None)
    return replace(result, content=[{**block, "tool_use_id": new} for block in result.content], tokens=None)


def _modern(message: Message) -> Message:
    """Convert the retired `function_call` and role `function` to a tool call and its result."""
    replace = msgspec.structs.replace
    message = as_chat(message)
    extra = message.extra
    if message.shape is None and isinstance(message.content, list):
        shape = as_message({"role": message.role, "content": message.content, **extra}).shape
        message = message if shape is None else replace(message, shape=shape)
    if message.role == "function":
        fields = {**extra, "tool_call_id": f"call_{message.name or 'function'}"}
        return replace(message, role="tool", name=None, extra=fields, tokens=None)
    call = extra.get("function_call") if message.role == "assistant" and extra else None
    if not isinstance(call, Mapping):
        return message
    rest = {name: value for name, value in extra.items() if name != "function_call"}
    tool_call = {"id": f"call_{call.get('name', 'function')}", "type": "function", "function": dict(call)}
    return replace(message, extra={**rest, "tool_calls": [*(rest.get("tool_calls") or ()), tool_call]}, tokens=None)


def _id(message: Message) -> str:
    return message.id if message.thread else ""
