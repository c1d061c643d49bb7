"""Extraction by a language model: the prompt, the schema, strict checks, one repair, else a ModelError with the reason.

Several messages go into one call, which is in their language (`languages/<code>/prompt.toml`); what the calls cost is
counted. The model only sees what the rules would see: text that a user typed, without what they quoted or pasted. It
must quote its evidence, and what it makes of that must follow from it (`grounding`), so what it invents is caught.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ..errors import UsageError
from ..languages import language_of, prompt
from ..models.answers import ask
from ..ports import Completion, Model
from .extracted import Extracted, LearningType
from .grounding import folded, ground
from .keys import KEYS, slug
from .readable import read_text

MAX_MESSAGES = 8
"""Messages in one call."""
MAX_TOGETHER = 8000
"""Characters of the messages in one call; a longer message goes alone."""
MAX_ITEMS = 20
"""Items taken from one message."""
MAX_CONFIDENCE = 0.95
"""The highest confidence of what a model extracted: less than of what a user set."""
MAX_INFERRED = 0.5
"""The highest confidence of an inferred value."""

_Key = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Number = Annotated[int, msgspec.Meta(ge=1, le=MAX_MESSAGES)]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A message to extract from: its text, role, trust and time."""

    text: str
    role: str
    trust: str
    at: datetime
    speaker: str | None = None


class Cost(msgspec.Struct, kw_only=True):
    """Usage so far: calls, the messages in them, and the tokens that the provider reported."""

    calls: int = 0
    messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class _Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["fact", "learning"]
    key: _Key
    value: bool | int | float | _Text
    type: LearningType | None
    confidence: _Share
    evidence: _Text
    correction: bool
    rejected: str | None
    valid_at: str | None
    message: _Number = 1


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    items: list[_Item]


SCHEMA: dict[str, Any] = msgspec.json.decode((Path(__file__).parent / "schema.json").read_bytes())
"""What an answer must look like, in the part of JSON Schema that providers enforce; `_Answer` checks the rest."""
_KEY = re.compile(r"[a-z][a-z_]*(?:\.[^\W_][\w]*){0,3}")
_ROOTS = {key.split(".")[0] for key in KEYS}
_OPEN = {key.split(".")[0] for key in KEYS if "." in key}


def together(texts: Sequence[str]) -> int:
    """How many of the next messages go into one call: limited by number, length and one language."""
    size, lang = 0, None
    for count, text in enumerate(texts):
        size, spoken = size + len(text), language_of(text)
        if count and (count == MAX_MESSAGES or size > MAX_TOGETHER or (lang and spoken and lang != spoken)):
            return count
        lang = lang or spoken
    return len(texts)


class ModelReader:
    """Reads messages through a model, those of one call at a time, and counts what that costs."""

    def __init__(self, model: Model, *, max_tokens: int = 1500, timeout: float | None = None) -> None:
        self._model, self._max_tokens, self._timeout = model, max_tokens, timeout
        self.cost = Cost()

    async def read(self, messages: Sequence[Said]) -> list[list[Extracted]]:
        """What each message says, as the model reads it; raises ModelError when it fails or answers badly twice.

        Messages that no user typed are not shown to it. `together` says how many should go into one call.
        """
        if any(message.at.tzinfo is None for message in messages):
            raise UsageError("a naive datetime; pass an aware one, such as datetime.now(timezone.utc)")
        shown = [(place, own) for place, message in enumerate(messages) if (own := own_text(message))]
        out: list[list[Extracted]] = [[] for _ in messages]
        if shown:
            asked = [msgspec.structs.replace(messages[place], text=own) for place, own in shown]
            for item in await self._items(asked):
                place = shown[item.message - 1][0]
                out[place].append(_extracted(item, messages[place], spoken_in(asked)))
        return out

    async def _items(self, messages: Sequence[Said]) -> Sequence[_Item]:
        told = prompt(spoken_in(messages))
        self.cost += Cost(messages=len(messages))
        answer = await ask(
            self._model,
            [{"role": "user", "content": question(messages)}],
            _Answer,
            check=lambda answer: _problems(answer.items, messages),
            repair=told["repair"],
            heard=self._count,
            system=instructions(told),
            max_tokens=self._max_tokens + self._max_tokens // 4 * (len(messages) - 1),
            schema=SCHEMA,
            timeout=self._timeout,
        )
        return answer.items

    def _count(self, answer: Completion) -> None:
        used = answer.usage
        self.cost += Cost(calls=1, input_tokens=used.input_tokens, output_tokens=used.output_tokens)


def own_text(message: Said) -> str:
    """The part of a message that the model may see: what the user typed, without quoted and pasted text."""
    if message.role != "user" or message.trust != "user":
        return ""
    return re.sub(r"\n{3,}", "\n\n", read_text(message.text).text).strip()


def spoken_in(messages: Sequence[Said]) -> str:
    """The language of some messages; English where nothing tells."""
    return language_of("\n".join(message.text for message in messages)) or "en"


def instructions(told: dict[str, Any]) -> str:
    """The system prompt: the rules, and the keys with their meanings."""
    keys = "\n".join(f"- {key}: {meaning}" for key, meaning in told["keys"].items())
    return str(told["system"]).replace("{keys}", keys).strip()


def question(messages: Sequence[Said]) -> str:
    """The messages as labelled data; the marker is made of a hash of them all, so none can close it."""
    told, parts = prompt(spoken_in(messages)), []
    whole = "\0".join(message.text for message in messages)
    code = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]
    for number, message in enumerate(messages, start=1):
        at = message.at.astimezone(UTC)
        when = {"day": told["days"].split()[at.weekday()], "time": at.strftime("%Y-%m-%d %H:%M UTC")}
        parts.append(told["message"].format(number=number, **when))
        parts.append(f"----- {told['begin'].format(code=code)} -----")
        parts += [message.text, f"----- {told['end'].format(code=code)} -----"]
    return "\n".join([*parts, told["closing"]])


def _problems(items: Sequence[_Item], messages: Sequence[Said]) -> list[str]:
    """What is wrong with the items of an answer; names places and types but never content."""
    if len(items) > MAX_ITEMS * len(messages):
        return ["too many items"]
    lang = spoken_in(messages)
    return [f"items[{place}]: {what}" for place, item in enumerate(items) for what in _faults(item, messages, lang)]


def _faults(item: _Item, messages: Sequence[Said], lang: str) -> list[str]:
    if item.message > len(messages):
        return ["there is no message of that number"]
    faults, message = [], messages[item.message - 1]
    if folded(item.evidence) not in folded(message.text):
        faults.append("evidence is not in the message")
    elif ground(item.kind, item.key, item.value, item.evidence, message.at, lang) == "none":
        faults.append("value does not follow from its evidence")
    if item.kind == "fact":
        root = item.key.split(".")[0]
        if not _KEY.fullmatch(item.key) or root not in _ROOTS or (("." in item.key) != (root in _OPEN)):
            faults.append("key is not in the table")
    elif item.type is None or not isinstance(item.value, str):
        faults.append("a learning needs a type and a sentence as value")
    if item.valid_at is not None and _moment(item.valid_at) is None:
        faults.append("valid_at is not an ISO date")
    return faults


def _moment(text: str) -> datetime | None:
    padded = text if len(text) > 7 else f"{text}-01" if len(text) == 7 else f"{text}-01-01"
    try:
        found = datetime.fromisoformat(padded)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _extracted(item: _Item, message: Said, lang: str) -> Extracted:
    inferred = ground(item.kind, item.key, item.value, item.evidence, message.at, lang) == "inferred"
    sure = min(item.confidence, MAX_INFERRED if inferred else MAX_CONFIDENCE)
    start = max(0, message.text.casefold().find(item.evidence.casefold()[:40]))
    span = start, min(len(message.text), start + len(item.evidence))
    root, *rest = item.key.split(".")
    learned = item.kind == "learning"
    kind = item.type or "preference"
    key = f"{kind}.{slug(str(item.value), words=8)}" if learned else ".".join([root, *map(slug, rest)])
    since = _moment(item.valid_at) if item.valid_at else None
    return Extracted(
        kind=item.kind, key=key, value=str(item.value) if learned else item.value, confidence=sure,
        type=kind if learned else None, correction=item.correction, inferred=inferred, rejected=item.rejected,
        text=item.evidence, span=span, valid_at=since, speaker=message.speaker, lang=lang,
    )  # fmt: skip
