"""Applies a policy to records and messages. It masks or refuses secrets, and limits how long personal data is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from ..errors import NotAdmitted
from ..kinds import KINDS
from ..messages.message import Message
from ..ports import to_datetime, to_micros
from ..records import Fact, Record
from ..values import compact_json
from .personal import personal_classes
from .policy import Gate
from .sealing import sealed_cell
from .secrets import Pattern, find_secrets, mask, mask_secrets, patterns_for_labelled

MASKED = "memorist.masked"
"""The metadata key under which a record lists the kinds of secrets that were masked in it."""
_replace = msgspec.structs.replace
_TEXTS: dict[type[Record], tuple[str, ...]] = {kind.record: kind.content for kind in KINDS if kind.gated}
"""The fields of each gated kind that contain words from users or models."""
GATED = frozenset(_TEXTS)
PERSONAL = frozenset(kind.record for kind in KINDS if kind.personal)
"""The kinds to which rules for personal data apply."""


class Tally(Counter[tuple[str, str]]):
    """Counts how often something happened to a kind or class, such as `("masked", "openai-key")`."""


def admit_record(gate: Gate, record: Record, at: datetime, tally: Tally, *, may_refuse: bool = True) -> Record:
    """Return the record in the form that may be stored, which is the same object if nothing has to change.

    Raises NotAdmitted if the policy refuses it. With `may_refuse=False`, secrets are masked instead, since the content
    of a message must not make a processor fail.
    """
    kinds = _secret_kinds(gate, record)
    if kinds:
        refused = sorted(kind for kind in kinds if gate.actions[kind] == "refuse")
        if may_refuse and (refused or _names_secret(gate, record)):
            raise not_admitted(type(record).__name__.lower(), refused or sorted(kinds), "a secret")
        record = _masked(gate, record, sorted(kinds))
        tally.update(("masked", kind) for kind in kinds)
    if type(record) in PERSONAL:
        record = _dated(gate, record, at, tally, may_refuse=may_refuse)
    return record


def admit_message(gate: Gate, message: Message, tally: Tally) -> Message:
    """Return the message in the form that may be stored. Raises NotAdmitted if the policy refuses its secrets."""
    if gate.messages == "keep":
        return message
    masked, kinds = _mask_parts(gate, message)
    refused = sorted(kind for kind in kinds if gate.messages == "refuse" or gate.actions[kind] == "refuse")
    if refused:
        raise not_admitted("message", refused, "a secret")
    # Also those that were masked when the message was stamped.
    tally.update(("masked", kind) for kind in masked.metadata.get(MASKED, ()))
    return masked


def mask_message(gate: Gate, message: Message) -> Message:
    """Return a message for exports and models, without secrets that the policy does not allow."""
    return message if sealed_cell(message) else _mask_parts(gate, message)[0]


def _mask_parts(gate: Gate, message: Message) -> tuple[Message, set[str]]:
    """Return a message with every secret masked that the policy does not allow, and the kinds of these secrets."""
    masking = _Masking(_allowed(gate))
    content, extra, raw, metadata = map(masking.mask, (message.content, message.extra, message.raw, message.metadata))
    kinds = masking.kinds
    if not kinds:
        return message, kinds
    masked = sorted({*kinds, *message.metadata.get(MASKED, ())})
    return _replace(message, content=content, extra=extra, raw=raw, metadata={**metadata, MASKED: masked}), kinds


def mask_text(gate: Gate, text: str) -> str:
    """Return a text without secrets, for indexes and for models that read messages."""
    return mask_secrets(text, _allowed(gate))[0]


def mask_values(gate: Gate, value: object) -> object:
    """Return JSON values without secrets."""
    return _Masking(_allowed(gate)).mask(value)


def barred_secrets(gate: Gate, *texts: str) -> set[str]:
    """Return the kinds of secrets that occur in the texts and that the policy does not allow."""
    allowed = _allowed(gate)
    return {secret.kind for text in texts for secret in find_secrets(text) if secret.kind not in allowed}


def classes_of(record: Record) -> frozenset[str]:
    """Return the classes of personal data in a record."""
    texts = list(_strings([getattr(record, name) for name in _TEXTS.get(type(record), ())]))
    if isinstance(record, Message):
        texts = [record.text]
    key = record.key if isinstance(record, Fact) else None
    # Only the beginning of the whole is checked: sorted like this, one long text does not hide the short ones.
    return personal_classes("\n".join(sorted(texts, key=len)), key=key)


def not_admitted(kind: str, names: Collection[str], sort: str) -> NotAdmitted:
    """Return the error for something that the policy refuses. It names kinds or classes, never content."""
    return NotAdmitted(
        f"the gate refuses this {kind}: it contains {sort} ({', '.join(names)}); leave that out, or allow it in the "
        "policy",
        kinds=list(names),
    )


def _allowed(gate: Gate) -> frozenset[str]:
    return frozenset(kind for kind, action in gate.actions.items() if action == "allow")


def _secret_kinds(gate: Gate, record: Record) -> set[str]:
    values = {name: value for name in _TEXTS[type(record)] if (value := getattr(record, name))}
    patterns = patterns_for_labelled(_joined(record, values.values()))
    if not patterns:
        return set()
    masking = _Masking(frozenset(), patterns)
    for name, value in values.items():
        masking.mask(value, _label(record, name))
    if isinstance(record, Fact):
        # The key is not masked, because that would make it another fact; it is only refused.
        masking.mask(record.key)
    return masking.kinds - _allowed(gate) if masking.kinds else masking.kinds


def _joined(record: Record, values: Iterable[object]) -> str:
    """Return the texts of a record with their labels, to choose the patterns for all of them."""
    texts = [value if type(value) is str else compact_json(value) for value in values]
    return "\n".join([f"{record.key}: ", *texts] if isinstance(record, Fact) else texts)


def _names_secret(gate: Gate, record: Record) -> bool:
    """Return whether the key of a fact is a secret. Masking such a key would turn the fact into another one."""
    return isinstance(record, Fact) and bool(barred_secrets(gate, record.key))


def _masked(gate: Gate, record: Record, kinds: list[str]) -> Record:
    masking = _Masking(_allowed(gate))
    fields: dict[str, Any] = {
        name: masking.mask(getattr(record, name), _label(record, name)) for name in _TEXTS[type(record)]
    }
    if "metadata" in fields:
        fields["metadata"] = {**fields["metadata"], MASKED: sorted({*kinds, *fields["metadata"].get(MASKED, ())})}
    return _replace(record, **fields)


def _dated(gate: Gate, record: Any, at: datetime, tally: Tally, *, may_refuse: bool) -> Record:
    """Return the record with the expiry that the rules for personal data require."""
    rules = gate.personal_rules(record.ns) if gate.personal or gate.namespaces else None
    if not rules:
        return record  # type: ignore[no-any-return]
    classes = classes_of(record) & rules.keys()
    refused = sorted(name for name in classes if rules[name].verdict == "refuse")
    if refused and may_refuse:
        raise not_admitted(type(record).__name__.lower(), refused, "personal data")
    ages = [micros for name in classes if (micros := rules[name].expires_micros) is not None]
    if not ages:
        return record  # type: ignore[no-any-return]
    until = to_datetime(to_micros(at) + min(ages))
    if record.expires_at is not None and record.expires_at <= until:
        return record  # type: ignore[no-any-return]
    tally.update(("expiring", name) for name in classes if rules[name].expires_micros is not None)
    return _replace(record, expires_at=until)  # type: ignore[no-any-return]


def _label(record: Record, field: str) -> str | None:
    """Return the words before a value that describe it. For example, `wifi_password` shows that its value is a
    password."""
    return record.key if field == "value" and isinstance(record, Fact) else None


class _Masking:
    """Masks secrets in JSON values, except those of the allowed kinds, and collects the kinds that it has masked."""

    def __init__(self, allowed: frozenset[str], patterns: Sequence[Pattern] | None = None) -> None:
        self.kinds: set[str] = set()
        self._allowed = allowed
        self._patterns = patterns

    def mask(self, value: object, label: str | None = None) -> Any:
        """Return a JSON value with its secrets masked. Unchanged values are not copied."""
        if isinstance(value, str):
            return self._mask_labelled(value, label) if value else value
        if isinstance(value, int):
            # No secret is shorter than that, and most numbers are.
            if value <= 999 or isinstance(value, bool):
                return value
            digits = self._mask_labelled(str(value), label)
            return value if digits == str(value) else digits
        if isinstance(value, list | tuple):
            items = [self.mask(item, label) for item in value]
            return type(value)(items) if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if isinstance(value, Mapping):
            fields = {self.mask(name): self.mask(item, str(name)) for name, item in value.items()}
            return fields if fields != value else value
        return value

    def _mask_labelled(self, text: str, label: str | None) -> str:
        prefix = "" if label is None or label == MASKED else f"{label.replace('_', ' ').replace('.', ' ')}: "
        masked = prefix + text
        for secret in reversed(find_secrets(masked, self._patterns)):
            # A secret within the label is that of the label. One that begins there, as in "seed phrase: …", is cut off.
            start = max(secret.start, len(prefix))
            if secret.kind not in self._allowed and secret.stop > start:
                masked = masked[:start] + mask(masked[start : secret.stop]) + masked[secret.stop :]
                self.kinds.add(secret.kind)
        after = masked[len(prefix) :]
        return text if after == text else after  # the same object, by which callers see that nothing was masked


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
