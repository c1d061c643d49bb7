"""Defines policies as data: actions for secrets, rules for personal data, and retention rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal

import msgspec

from ..errors import InvalidValue, UsageError
from ..kinds import MEMORIES
from ..ports import ttl_micros
from ..values import JsonObject
from .personal import CLASSES
from .secrets import kind_groups

Action = Literal["mask", "refuse", "allow"]
"""The action for a secret: it is masked except for its ends, the write is refused, or it is stored unchanged."""
ACTIONS: tuple[Action, ...] = ("mask", "refuse", "allow")
MessageMode = Literal["keep", "mask", "refuse"]
MESSAGE_MODES: tuple[MessageMode, ...] = ("keep", "mask", "refuse")
RETAINED_KINDS = ("message", *(kind.name for kind in MEMORIES), "document", "candidate")
"""The kinds of records to which a retention rule can apply."""
_AGE = re.compile(r"(\d{1,6})\s*([smhdwy])", re.IGNORECASE)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}


def age_micros(age: object) -> int:
    """Return an age such as `30d`, a timedelta or a number of seconds, in microseconds."""
    match = _AGE.fullmatch(age.strip()) if isinstance(age, str) else None
    if match is not None:
        return int(match[1]) * _UNIT_SECONDS[match[2].lower()] * 1_000_000
    micros = None if isinstance(age, str) or age is None else ttl_micros(age)  # type: ignore[arg-type]
    if micros is None or micros <= 0:
        raise InvalidValue("an age is a text such as '30d' or '12h', a timedelta, or a number of seconds above 0")
    return micros


class Retention(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Deletes records older than a given age. If you set several conditions, all of them must be met.

    Attributes:
        kind: `message`, `fact`, `event`, `learning`, `document` or `candidate`.
        older_than: The age, such as `"90d"`, counted from the last change (for a message, from when it was written).
        tag: Delete only records with this tag. For messages and documents, tags are in `metadata["tags"]`.
        personal: Delete only records that contain personal data of this class.
        namespace: Delete only in matching namespaces, such as `user:*`.
    """

    kind: str
    older_than: str | float
    tag: str | None = None
    personal: str | None = None
    namespace: str = "*"

    def __post_init__(self) -> None:
        if self.kind not in RETAINED_KINDS:
            raise UsageError(f"a retention rule is for one of {', '.join(RETAINED_KINDS)}")
        if self.personal is not None and self.personal not in CLASSES:
            raise UsageError(f"personal= is one of {', '.join(CLASSES)}")
        age_micros(self.older_than)

    @property
    def micros(self) -> int:
        """This is the age in microseconds."""
        return age_micros(self.older_than)

    @property
    def label(self) -> str:
        """This is a short description of the rule, for `doctor`."""
        details = [f"tag {self.tag}" if self.tag else "", self.personal or ""]
        details.append("" if self.namespace == "*" else self.namespace)
        words = " ".join(detail for detail in details if detail)
        return f"{self.kind}{f' ({words})' if words else ''} older than {self.older_than}"

    def covers(self, ns: str) -> bool:
        """Return whether the rule applies to a namespace."""
        return fnmatchcase(ns, self.namespace)


class PersonalRule(msgspec.Struct, frozen=True):
    """Defines what happens to memories that contain personal data of one class."""

    verdict: Literal["allow", "review", "refuse"] = "allow"
    expires_micros: int | None = None


def parse_rule(rule: object) -> PersonalRule:
    """Parse a rule: `allow`, `review`, `refuse`, or `expire 30d`."""
    if isinstance(rule, str):
        verdict, _, age = rule.strip().partition(" ")
        if verdict in ("allow", "review", "refuse") and not age:
            return PersonalRule(verdict)  # type: ignore[arg-type]  # just compared
        if verdict == "expire" and age:
            return PersonalRule("allow", age_micros(age.removeprefix("after ").strip()))
    raise UsageError("a rule for personal data is 'allow', 'review', 'refuse' or 'expire 30d'")


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """Decides what may be written. Pass it as `Memory(gate=Gate(…))`, or store it for an org with `memory.gate.set(…)`.

    Attributes:
        secrets: By kind (`openai-key`), by group (`api_key`, `token`, `private_key`, `password`, `card`, `iban`,
            `one_time_code`) or for all (`*`): `mask`, `refuse` or `allow`. The default is to mask. It applies to facts,
            events, learnings, summaries and documents. The index never contains a secret that is not allowed.
        messages: What happens to secrets in messages. `keep` stores the message unchanged. `mask` does what `secrets`
            says for each kind, and `refuse` raises `NotAdmitted` for every secret that is not allowed.
        personal: By class (`email`, `phone`, `address`, `health`, `government_id`): `allow`, `review`, `refuse` or
            `expire 30d`.
        namespaces: Rules for personal data by namespace (`{"user:*": {"health": "review"}}`), which replace the org's
            rules.
        retention: Rules by which the collector deletes old records.
    """

    secrets: dict[str, Action] = {}
    messages: MessageMode = "keep"
    personal: dict[str, str] = {}
    namespaces: dict[str, dict[str, str]] = {}
    retention: tuple[Retention, ...] = ()

    def __post_init__(self) -> None:
        names = {"*", *kind_groups(), *kind_groups().values()} if self.secrets else ()
        for name, action in self.secrets.items():
            if name not in names:
                raise UsageError(f"there is no kind of secret named {name!r}; use one of {', '.join(sorted(names))}")
            if action not in ACTIONS:
                raise UsageError(f"a secret is one of {', '.join(ACTIONS)}, not {action!r}")
        if self.messages not in MESSAGE_MODES:
            raise UsageError(f"messages= is one of {', '.join(MESSAGE_MODES)}")
        for rules in (self.personal, *self.namespaces.values()):
            for name, rule in rules.items():
                if name not in CLASSES:
                    raise UsageError(
                        f"there is no class of personal data named {name!r}; use one of {', '.join(CLASSES)}"
                    )
                parse_rule(rule)
        if any(not isinstance(rule, Retention) for rule in self.retention):
            # A frozen struct can still be changed here, before anybody else has seen it.
            msgspec.structs.force_setattr(self, "retention", tuple(map(_as_retention, self.retention)))

    @cached_property
    def actions(self) -> Mapping[str, Action]:
        """This is the action for each kind of secret."""
        everything = self.secrets.get("*", "mask")
        return {
            kind: self.secrets.get(kind, self.secrets.get(group, everything)) for kind, group in kind_groups().items()
        }

    def personal_rules(self, ns: str) -> dict[str, PersonalRule]:
        """Return the rules for personal data in a namespace. A class without a rule is allowed."""
        rules = dict(self.personal)
        # Later patterns win, so a policy lists exceptions after the general rule.
        for pattern, own in self.namespaces.items():
            if fnmatchcase(ns, pattern):
                rules |= own
        return {name: parse_rule(rule) for name, rule in rules.items() if rule != "allow"}

    def to_dict(self) -> JsonObject:
        """Return the policy as JSON values."""
        data: JsonObject = msgspec.to_builtins(self)
        return data


def _as_retention(rule: object) -> Retention:
    return rule if isinstance(rule, Retention) else msgspec.convert(rule, Retention)


def read_gate(data: object) -> Gate:
    """Return a policy from JSON values. Raises UsageError for unknown values."""
    try:
        return data if isinstance(data, Gate) else msgspec.convert(data, Gate)
    except msgspec.ValidationError as problem:
        raise UsageError(f"not a policy of the gate: {problem}") from problem
