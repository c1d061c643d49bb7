"""Registers the policies and their names in Python, in JSON over HTTP, on the command line and in the inspector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from ..errors import InvalidValue, Unsupported, UsageError
from ..values import JsonObject
from .plan import Policy
from .policies import (
    Chain,
    ElideToolResults,
    Fifo,
    Importance,
    SlidingWindow,
    Summarize,
    VectorSwap,
    checked_policy,
)  # fmt: skip

MAX_MEMBERS = 16
"""The maximum number of policies in a chain read from JSON."""
CHAIN = "chain"
CHOICES = ("window", "elide:500+window", "elide:500+summarize", "summarize", "fifo", "importance", "swap")
"""The short names that the inspector offers."""


class NamedPolicy(msgspec.Struct, frozen=True):
    """Holds a policy's names outside Python."""

    policy: type[Any]
    short: str
    """This is its name in the inspector and on the command line."""
    title: str
    """This is its display name."""
    number: str | None = None
    """This is the field that is set by a number after the short name."""
    functions: tuple[str, ...] = ()
    """These fields contain a model or a function, which can be neither stored nor sent."""

    @property
    def fields(self) -> list[str]:
        """These are the fields that can be stored and sent."""
        return [name for name in self.policy.__struct_fields__ if name not in self.functions]


POLICIES: Mapping[str, NamedPolicy] = {
    "sliding_window": NamedPolicy(SlidingWindow, "window", "Sliding window", "max_tokens"),
    "summarize": NamedPolicy(Summarize, "summarize", "Summarize", "keep", ("model",)),
    "elide_tool_results": NamedPolicy(ElideToolResults, "elide", "Elide tool results", "max_tokens"),
    "fifo": NamedPolicy(Fifo, "fifo", "Last messages", "max_messages"),
    "importance": NamedPolicy(Importance, "importance", "Importance", None, ("score",)),
    "vector_swap": NamedPolicy(VectorSwap, "swap", "Newest and relevant", "k"),
}
"""All policies except `Chain`, by their name in JSON."""
_KINDS = {named.policy: kind for kind, named in POLICIES.items()}
_SHORT = {named.short: named for named in POLICIES.values()}


def members_of(policy: object) -> tuple[object, ...]:
    """Return the policies of a chain, including those of inner chains. For any other policy, return the policy
    itself."""
    members: tuple[object, ...] | None = getattr(policy, "policies", None)
    return (policy,) if members is None else tuple(inner for member in members for inner in members_of(member))


def has_functions(policy: object) -> bool:
    """Return whether a policy has a model or a function, or is a custom policy."""
    for member in members_of(policy):
        kind = _KINDS.get(type(member))
        if kind is None or any(getattr(member, name) is not None for name in POLICIES[kind].functions):
            return True
    return False


def policy_fields(policy: object) -> JsonObject | None:
    """Return a policy as JSON, such as `{"kind": "fifo", "max_messages": 5}`, without any models or functions. Return
    None for a custom policy."""
    members: tuple[object, ...] | None = getattr(policy, "policies", None)
    if members is not None:
        inner = [policy_fields(member) for member in members]
        return None if None in inner else {"kind": CHAIN, "policies": inner}
    kind = _KINDS.get(type(policy))
    return None if kind is None else {"kind": kind, **{name: getattr(policy, name) for name in POLICIES[kind].fields}}


def policy_out(policy: object) -> JsonObject:
    """Encode a policy to send it to a server; raises Unsupported if it has a model or a function, and
    UsageError if it is no policy at all."""
    fields = policy_fields(checked_policy(policy))
    if fields is None or has_functions(policy):
        raise Unsupported("functions cannot be sent to a server: use a built-in policy without a model or a function")
    return fields


def policy_in(data: object) -> Policy:
    """Decode a policy. This is the inverse of `policy_fields`."""
    if not isinstance(data, dict):
        raise InvalidValue("a policy is an object with a kind")
    kind, rest = data.get("kind"), {name: value for name, value in data.items() if name != "kind"}
    if kind == CHAIN:
        inner = rest.pop("policies", None)
        if rest or not isinstance(inner, list) or not 0 < len(inner) <= MAX_MEMBERS:
            raise InvalidValue("a chain has policies, at least one, and nothing else")
        return Chain(*map(policy_in, inner))
    named = POLICIES.get(kind) if isinstance(kind, str) else None
    if named is None or not set(rest) <= set(named.fields):
        raise InvalidValue(f"a policy has a kind ({', '.join(POLICIES)} or {CHAIN}) and the fields of that kind")
    try:
        return cast(Policy, msgspec.convert(rest, named.policy))
    except msgspec.ValidationError as wrong:
        raise InvalidValue(f"the policy {kind} has a wrong field: {wrong}") from None


def read_policy(text: str) -> Policy:
    """Return the policy that a short name denotes; `elide:500+summarize` is a chain of two."""
    policies: list[Policy] = []
    for part in text.split("+"):
        name, _, number = part.strip().partition(":")
        named = _SHORT.get(name)
        if named is None or (number and (named.number is None or not number.isdecimal())):
            expected = f"a policy is one of {', '.join(_SHORT)}, with a number like elide:500"
            raise UsageError(f"{expected}; got {part[:40]!r}")
        policies.append(named.policy(**({named.number: int(number)} if named.number and number else {})))
    return policies[0] if len(policies) == 1 else Chain(*policies)


def short_policy(policy: object) -> str | None:
    """Return the short name of a policy, or the class name of a custom policy. This is the inverse of `read_policy`."""
    return None if policy is None else "+".join(_named(member, "short", "{}:{}") for member in members_of(policy))


def title_policy(policy: object) -> str:
    """Return the display name of a policy."""
    return ", ".join(_named(member, "title", "{} ({})") for member in members_of(policy))


def python_policy(policy: object) -> str:
    """Return the Python expression that creates a policy, without the details that its short name leaves out."""
    calls = [_called(member) for member in members_of(policy)]
    return calls[0] if len(calls) == 1 else f"Chain({', '.join(calls)})"


def _number(policy: object) -> tuple[NamedPolicy | None, int | None]:
    """Return a policy's names, and the number that its short name needs if it is not the default."""
    kind = _KINDS.get(type(policy))
    if kind is None:
        return None, None
    named = POLICIES[kind]
    number = None if named.number is None else getattr(policy, named.number)
    default = None if named.number is None else getattr(named.policy(), named.number)
    return named, None if number == default else number


def _named(policy: object, field: str, numbered: str) -> str:
    """Return one of a policy's names, with its number if that is not the default."""
    named, number = _number(policy)
    name = type(policy).__name__ if named is None else getattr(named, field)
    return str(name) if number is None else numbered.format(name, number)


def _called(policy: object) -> str:
    named, number = _number(policy)
    arguments = "" if named is None or number is None else f"{named.number}={number}"
    return f"{type(policy).__name__}({arguments})"
