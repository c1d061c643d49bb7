"""Who is asking: an org (the tenant), maybe one user of it, and the namespaces inside it."""

from __future__ import annotations

from typing import Literal

import msgspec

from .errors import InvalidNamespace, UsageError
from .values import check_name

Kind = Literal["workflow", "agent", "user", "global"]
KINDS = ("workflow", "agent", "user", "global")
Actor = Literal["user", "assistant", "tool", "import", "processor"]
_seen: set[str] = set()
"""Namespaces found valid before: checking one costs more than reading a fact."""
_SEEN_MOST = 10_000
ACTORS = ("user", "assistant", "tool", "import", "processor")


class Namespace(msgspec.Struct, frozen=True, order=True):
    """`kind:id` inside an org; `global` has no id."""

    kind: str
    id: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidNamespace(
                f"namespace kind {self.kind!r} is not one of {', '.join(KINDS)}; write it like 'user:ada' or 'global'"
            )
        if self.kind == "global" and self.id:
            raise InvalidNamespace("the global namespace has no id; write 'global'")
        if self.kind != "global":
            if not self.id:
                raise InvalidNamespace(f"namespace {self.kind!r} needs an id, like '{self.kind}:some-id'")
            check_name(self.id, "namespace id", InvalidNamespace)

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @classmethod
    def parse(cls, text: str | Namespace) -> Namespace:
        """Read `"user:ada"` or `"global"`; a Namespace passes through."""
        if isinstance(text, Namespace):
            return text
        if not isinstance(text, str):
            raise InvalidNamespace(f"a namespace is text like 'user:ada', not {type(text).__name__}")
        kind, _, name = text.partition(":")
        return cls(kind, name)


Ns = str | Namespace
"""A namespace as users give it: `"user:ada"`, `"global"`, or a `Namespace`."""


class Scope(msgspec.Struct, frozen=True):
    """A handle on one org, optionally one of its users; it can be narrowed, never widened."""

    org: str = "default"
    user: str | None = None
    actor: str = "user"
    all_orgs: bool = False
    """May hand out handles on any org; for workers and operators."""

    def __post_init__(self) -> None:
        check_name(self.org, "org")
        if self.user is not None:
            check_name(self.user, "user")
        if self.actor not in ACTORS:
            raise UsageError(f"actor {self.actor!r} is not one of {', '.join(ACTORS)}")

    def narrow(self, org: str | None = None, user: str | None = None, actor: str | None = None) -> Scope:
        """The same or a smaller scope; asking for another org or user is refused."""
        if org is not None and org != self.org:
            if not self.all_orgs or self.user is not None:
                raise UsageError("a handle cannot change its org; open the memory with that org, or with all_orgs=True")
            return Scope(org, user, actor or self.actor)
        if user is not None and self.user is not None and user != self.user:
            raise UsageError("a scope of one user cannot become another user's; use the memory it was made from")
        narrowed = self.user if user is None else user
        return Scope(self.org, narrowed, actor or self.actor, self.all_orgs and org is None and narrowed is None)

    def namespace(self, ns: str | Namespace) -> str:
        """The text of a namespace this scope may touch."""
        if self.user is None and type(ns) is str and ns in _seen:
            return ns
        parsed = Namespace.parse(ns)
        if not self.may_touch(str(parsed)):
            raise InvalidNamespace("this handle is for another user; namespaces of other users are out of its reach")
        if len(_seen) < _SEEN_MOST:
            _seen.add(str(parsed))
        return str(parsed)

    def may_touch(self, ns: str) -> bool:
        """Whether rows of this namespace exist for this scope."""
        return self.user is None or not ns.startswith("user:") or ns == f"user:{self.user}"

    def own(self) -> str:
        """The namespace of what belongs to the asking user, or to everyone."""
        return f"user:{self.user}" if self.user else "global"

    def subject(self, user: str | None) -> str:
        """The user meant: the one named, else the handle's own."""
        if user is None:
            user = self.user
        if user is None:
            raise UsageError("which user? pass user=…, or open the memory with user=…")
        check_name(user, "user")
        if self.user is not None and user != self.user:
            raise UsageError("this handle is for another user; it cannot reach this one")
        return user
