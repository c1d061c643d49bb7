"""Defines namespaces, and scopes, which determine who a handle is for (an org, or one of its users) and what it may
read and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from .errors import Forbidden, InvalidNamespace, UsageError
from .values import as_list, check_name

NamespaceKind = Literal["workflow", "agent", "user", "global"]
NAMESPACE_KINDS = ("workflow", "agent", "user", "global")
Actor = str
"""The author of a change: one of ACTORS, or an agent such as `agent:planner`."""
_seen: set[str] = set()
"""A cache of valid namespaces, because checking one takes longer than reading a fact."""
_MAX_CHECKED_NAMES = 10_000
ACTORS = ("user", "assistant", "tool", "import", "processor")
MAX_ACTOR_CHARACTERS = 128


class Namespace(msgspec.Struct, frozen=True, order=True):
    """Represents a namespace inside an org, written `kind:id`. The namespace `global` has no id."""

    kind: str
    id: str = ""

    def __post_init__(self) -> None:
        if self.kind not in NAMESPACE_KINDS:
            raise InvalidNamespace(
                f"namespace kind {self.kind!r} is not one of {', '.join(NAMESPACE_KINDS)}; "
                "write it like 'user:ada' or 'global'"
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
        """Parse `"user:ada"` or `"global"`. A Namespace is returned unchanged."""
        if isinstance(text, Namespace):
            return text
        if not isinstance(text, str):
            raise InvalidNamespace(f"a namespace is text like 'user:ada', not {type(text).__name__}")
        kind, _, name = text.partition(":")
        return cls(kind, name)


Ns = str | Namespace
"""A namespace as users pass it: `"user:ada"`, `"global"`, or a `Namespace`."""
OMITTED: Any = type("Omitted", (), {"__repr__": lambda self: "OMITTED"})()
"""The default of required parameters that follow `ns`, because users may leave out `ns` instead."""


class Scope(msgspec.Struct, frozen=True):
    """Determines who a handle is for, and what it may read and write. A scope can be narrowed, but never widened.

    A handle without a user can access its whole org. A user's handle reads and writes `user:<id>`, reads `global`, and
    can otherwise access only the namespaces or prefixes (`agent:*`, `workflow:shop/*`) that it was granted.
    """

    org: str = "default"
    user: str | None = None
    actor: str = "user"
    all_orgs: bool = False
    """This is True if the handle may create handles on any org, for workers and operators."""
    read: tuple[str, ...] = ()
    """These are the read grants of a user's handle, in addition to its own namespace and `global`."""
    write: tuple[str, ...] = ()
    """These are the write grants, which include reading."""
    shared: str | None = None
    """This is another org whose `global` (and namespaces granted by `read`) this handle's recalls and contexts also
    read."""
    foreign: bool = False
    """This is True if this scope is a read-only view of a shared org."""
    tenant: bool = False
    """This is True if a handle over all orgs created this one for a single org. The files of the store then also belong
    to other orgs, so this handle may not rewrite them or see their names and sizes."""

    def __post_init__(self) -> None:
        check_name(self.org, "org")
        if self.user is not None:
            check_name(self.user, "user")
        elif self.write or (self.read and self.shared is None and not self.foreign):
            raise UsageError("read= and write= are grants to a user's handle; name the user with user=…")
        if self.shared is not None and check_name(self.shared, "org") == self.org:
            raise UsageError("shared= names another org than the handle's own")
        check_actor(self.actor)
        for grant in (*self.read, *self.write):
            _check_grant(grant)

    def narrow(
        self,
        org: str | None = None,
        user: str | None = None,
        actor: str | None = None,
        read: Sequence[Ns] | None = None,
        write: Sequence[Ns] | None = None,
    ) -> Scope:
        """Return the same scope or a narrower one. Another org or user, or a grant that this scope does not have, is
        refused."""
        acts = self.actor if actor is None else actor
        if org is not None and org != self.org:
            if not self.all_orgs or self.user is not None:
                raise Forbidden("a handle cannot change its org; open the memory with that org, or with all_orgs=True")
            # A handle on the shared org itself needs no view of it.
            shared = None if self.shared == org else self.shared
            return Scope(org, user, acts, False, grants(read), grants(write), shared, tenant=True)
        if user is not None and self.user is not None and user != self.user:
            raise Forbidden("a scope of one user cannot become another user's; use the memory it was created from")
        narrowed = self.user if user is None else user
        reads, writes = (
            self._check_grants(read, self.read, self.may_read),
            self._check_grants(write, self.write, self.may_write),
        )
        # Once narrowed to an org or a user, a handle can never open another org again.
        everywhere = self.all_orgs and org is None and narrowed is None
        tenant = self.tenant or (self.all_orgs and not everywhere)
        return Scope(self.org, narrowed, acts, everywhere, reads, writes, self.shared, tenant=tenant)

    @property
    def trust(self) -> str:
        """This is the trust level of text that this handle writes. An agent is trusted like the assistant, never like
        the user."""
        if self.actor in ("user", "import"):
            return "user"
        return self.actor if self.actor in ACTORS else "assistant"

    def check_files(self, what: str) -> None:
        """Raise Forbidden if the files of the store also belong to other orgs."""
        if self.tenant:
            raise Forbidden(
                f"{what} concerns the files of every org on this store; an operator does it where the server runs, "
                "with the command line, or over HTTP with an admin's key"
            )

    def view(self) -> Scope | None:
        """Return the read-only scope of the shared org, if there is one."""
        return None if self.shared is None else Scope(self.shared, read=self.read, foreign=True)

    def _check_grants(
        self, spaces: Sequence[Ns] | None, held: tuple[str, ...], may: Callable[[str], bool]
    ) -> tuple[str, ...]:
        """Return the requested grants, each checked against this scope's own, or the existing ones if none are
        requested."""
        if spaces is None:
            return held
        granted = grants(spaces)
        for grant in granted:
            # A user's own namespace may look like a pattern (`user:a*`). That does not permit granting the pattern,
            # which needs a grant that covers it.
            whole = grant.endswith("*") and self.user is not None
            if not (any(_covers(held_grant, grant) for held_grant in held) if whole else may(grant)):
                raise Forbidden(f"a handle cannot grant more than it has: {grant!r} is not among its own grants")
        return granted

    def readable(self, ns: Ns) -> str:
        """Return the namespace as text. Raises Forbidden if this scope may not read it."""
        # A handle on its whole org may read everything in it, so only the form of the name matters. It was checked when
        # the name came into the cache.
        if self.user is None and not self.foreign and type(ns) is str and ns in _seen:
            return ns
        text = _parsed(ns)
        if not self.may_read(text):
            raise Forbidden(
                "this handle may not read that namespace; grant it with read=[…] when you create the handle"
            )
        return text

    def writable(self, ns: Ns) -> str:
        """Return the namespace as text. Raises Forbidden if this scope may not write it."""
        if self.user is None and not self.foreign and type(ns) is str and ns in _seen:
            return ns
        text = _parsed(ns)
        if not self.may_write(text):
            raise Forbidden(
                "this handle may not write to that namespace; grant it with write=[…] when you create the handle"
            )
        return text

    def readable_or_own(self, ns: Ns | None) -> str:
        """Return the namespace to read as text: the one that was passed, the user's own, or `global` on a handle
        without a user.
        """
        return self.readable(self.own() if ns is None else ns)

    def writable_or_own(self, ns: Ns | None) -> str:
        """Do the same for a namespace to write."""
        return self.writable(self.own() if ns is None else ns)

    def may_read(self, ns: str) -> bool:
        """Return whether this scope may read rows in this namespace."""
        if self.user is None and not self.foreign:
            return True
        return ns == "global" or self.may_write(ns) or any(_covers(grant, ns) for grant in self.read)

    def may_write(self, ns: str) -> bool:
        """Return whether this scope may change rows in this namespace."""
        if self.foreign:
            return False
        return self.user is None or ns == f"user:{self.user}" or any(_covers(grant, ns) for grant in self.write)

    def spaces(self) -> tuple[str, ...]:
        """Return the namespaces that a user's handle may read, without those granted by a pattern."""
        named = [grant for grant in (*self.write, *self.read) if not grant.endswith("*")]
        return tuple(dict.fromkeys((self.own(), "global", *named)))

    def beginnings(self) -> tuple[str, ...]:
        """Return the prefixes of the patterns (`agent:*`) granted to a user's handle."""
        return tuple(dict.fromkeys(grant[:-1] for grant in (*self.write, *self.read) if grant.endswith("*")))

    def whole_org(self, what: str) -> None:
        """Raise Forbidden on a user's handle, for an operation that also affects other users' rows."""
        if self.user is not None or self.foreign:
            raise Forbidden(f"{what} is for the whole org; use the handle that this user's handle was created from")

    def own(self) -> str:
        """Return the namespace of the handle's user, or `global` for a handle without one."""
        return f"user:{self.user}" if self.user else "global"

    def namespace(self, ns: Ns | None) -> Ns:
        """Return the namespace of a call: the one that was passed, or that of the handle's user.

        Raises InvalidNamespace if the handle has no user, because everyone would see a value put into `global` by
        accident.
        """
        if ns is not None:
            return ns
        if self.user is None:
            raise InvalidNamespace(
                "which namespace? pass it first, such as 'user:ada' or 'global', or use a user's handle"
            )
        return self.own()

    def resolve_readable(self, *arguments: object) -> tuple[Any, ...]:
        """Return the positional arguments of a call such as `facts.get(ns, key)`, starting with the checked namespace
        as text."""
        ns, rest = self._with_namespace(arguments)
        return self.readable(ns), *rest

    def resolve_writable(self, *arguments: object) -> tuple[Any, ...]:
        """Do the same for a write, such as `facts.set(ns, key, value)`."""
        ns, rest = self._with_namespace(arguments)
        return self.writable(ns), *rest

    def _with_namespace(self, arguments: tuple[Any, ...]) -> tuple[Ns, Sequence[object]]:
        """Return the namespace and the other arguments. The namespace is filled in if it was left out.

        `facts.get("city")` binds `"city"` to `ns` and leaves out `key`, so all arguments are shifted by one position.
        """
        ns, *rest = with_first(arguments)
        return self.namespace(ns), rest

    def subject(self, user: str | None) -> str:
        """Return the user that a call is about: the named one, or the handle's own."""
        if user is None:
            user = self.user
        if user is None:
            raise UsageError("which user? pass user=…, or open the memory with user=…")
        check_name(user, "user")
        if self.user is not None and user != self.user:
            raise Forbidden("this handle is for another user; it cannot reach this one")
        return user


def with_first(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the positional arguments of a call, starting with None if the caller left out the first one."""
    for argument in arguments:
        # By identity, since `==` of a value may be anything, such as NumPy's.
        if argument is OMITTED:
            break
    else:
        return arguments
    passed = [argument for argument in arguments if argument is not OMITTED]
    if len(passed) < len(arguments) - 1:
        raise UsageError("an argument is missing")
    return None, *passed


def check_actor(actor: object) -> str:
    """Return an actor as the audit trail shows it: one of ACTORS, or an agent such as `agent:planner`.

    Raises UsageError for anything else.
    """
    if actor in ACTORS:
        return actor
    name = actor.removeprefix("agent:") if isinstance(actor, str) and actor.startswith("agent:") else ""
    if not name or name != name.strip() or not name.isprintable() or len(name) > MAX_ACTOR_CHARACTERS:
        raise UsageError(f"an actor is {', '.join(ACTORS)}, or an agent by its name, such as 'agent:planner'")
    return f"agent:{name}"


def grants(namespaces: Sequence[Ns] | None) -> tuple[str, ...]:
    """Return grants as text. A single text instead of a list is refused, because it is probably a mistake."""
    if isinstance(namespaces, str | Namespace):
        raise UsageError("read= and write= accept a list of namespaces, such as ['workflow:review', 'agent:*']")
    return tuple(
        dict.fromkeys(str(grant) for grant in as_list(() if namespaces is None else namespaces, "read= or write="))
    )


def _check_grant(grant: str) -> None:
    """Raise InvalidNamespace unless a grant is a namespace, or a prefix of one (including its kind) followed by `*`."""
    if not grant.endswith("*"):
        Namespace.parse(grant)
        return
    kind, colon, _ = grant.partition(":")
    if kind not in NAMESPACE_KINDS or kind == "global" or not colon:
        raise InvalidNamespace(f"a grant is a namespace, or a kind with '*' like 'agent:*'; got {grant[:64]!r}")


def _covers(grant: str, ns: str) -> bool:
    """Return whether a grant covers a namespace, or another grant."""
    return ns.startswith(grant[:-1]) if grant.endswith("*") else ns == grant


def _parsed(ns: Ns) -> str:
    text = str(Namespace.parse(ns))
    # Beyond the limit, names are simply parsed again. Evicting would need a lock, since threads share this set.
    if len(_seen) < _MAX_CHECKED_NAMES:
        _seen.add(text)
    return text
