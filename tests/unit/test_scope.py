"""Scopes and namespaces."""

from typing import Any

import pytest

from memorist import Forbidden, InvalidNamespace, InvalidValue, Namespace, UsageError
from memorist.scope import Scope


@pytest.mark.parametrize("text", ["global", "user:ada", "workflow:a:b", "agent: ", "user:%_*"])
def test_a_namespace_reads_back_as_written(text: str) -> None:
    assert str(Namespace.parse(text)) == text
    assert Namespace.parse(Namespace.parse(text)) == Namespace.parse(text)


@pytest.mark.parametrize(
    "text", ["", "ada", "user", "user:", "global:x", "robot:x", "User:ada", ":x", 5, None, "user:\u0000"], ids=ascii
)
def test_what_is_no_namespace_is_refused(text: object) -> None:
    with pytest.raises(InvalidNamespace):
        Namespace.parse(text)  # type: ignore[arg-type]


def test_a_scope_is_narrowed_to_a_user() -> None:
    narrow = Scope("acme").narrow(user="ada")
    assert (narrow.org, narrow.user) == ("acme", "ada")
    assert narrow.narrow(user="ada", actor="tool").actor == "tool"


def test_a_scope_is_never_widened() -> None:
    scope = Scope("acme", "ada")
    for wider in ({"user": "eve"}, {"org": "other"}, {"org": "other", "user": "ada"}):
        with pytest.raises(UsageError):
            scope.narrow(**wider)


def test_only_a_scope_over_all_orgs_hands_out_other_orgs() -> None:
    every = Scope(all_orgs=True)
    assert every.narrow(org="acme").org == "acme"
    assert not every.narrow(org="acme").all_orgs
    with pytest.raises(UsageError):
        every.narrow(org="acme").narrow(org="other")
    with pytest.raises(UsageError):
        every.narrow(user="ada").narrow(org="other")
    with pytest.raises(UsageError):
        Scope("default").narrow(org="other")


FOREIGN = ("user:eve", "user:ada ", "user:Ada", "user:adam", "user:ad", "agent:x", "workflow:user:ada")


def test_a_user_scope_reads_and_writes_its_own_namespace_and_reads_global() -> None:
    scope = Scope("acme", "ada")
    assert scope.readable("user:ada") == scope.writable("user:ada") == "user:ada"
    assert scope.readable("global") == "global"
    for foreign in (*FOREIGN, "global"):
        with pytest.raises(Forbidden):
            scope.writable(foreign)
    for foreign in FOREIGN:
        with pytest.raises(Forbidden):
            scope.readable(foreign)


def test_grants_reach_what_they_name_and_nothing_beside_it() -> None:
    scope = Scope("acme").narrow(user="ada", read=["workflow:review"], write=["agent:*", "workflow:shop/*"])
    for fine in ("agent:x", "agent:y:z", "workflow:shop/1"):
        assert scope.readable(fine) == scope.writable(fine) == fine
    assert scope.readable("workflow:review") == "workflow:review"
    for foreign in ("workflow:review", "workflow:shop", "workflow:reviews", "user:eve", "global"):
        with pytest.raises(Forbidden):
            scope.writable(foreign)
    with pytest.raises(Forbidden):
        scope.readable("workflow:reviews")


def test_grants_only_shrink() -> None:
    scope = Scope("acme").narrow(user="ada", read=["workflow:*"], write=["agent:*"])
    assert scope.narrow(actor="assistant").may_write("agent:x")
    smaller = scope.narrow(write=["agent:x"], read=["workflow:a", "agent:y"])
    assert (smaller.may_write("agent:x"), smaller.may_write("agent:y"), smaller.may_read("agent:y")) == (
        True,
        False,
        True,
    )
    for wider in ({"write": ["workflow:a"]}, {"write": ["global"]}, {"read": ["user:eve"]}, {"read": ["user:*"]}):
        with pytest.raises(Forbidden):
            scope.narrow(**wider)
        with pytest.raises(Forbidden):
            smaller.narrow(write=["agent:*"])


@pytest.mark.parametrize("grant", ["*", "agent", "robot:*", "global*", "global:*", "", "user:"])
def test_what_is_no_grant_is_refused(grant: str) -> None:
    with pytest.raises(UsageError):
        Scope("acme", "ada", read=(grant,))


def test_grants_are_a_list_for_a_user() -> None:
    with pytest.raises(UsageError):
        Scope("acme").narrow(user="ada", read="agent:*")
    with pytest.raises(UsageError):
        Scope("acme").narrow(read=["agent:*"])


@pytest.mark.parametrize("name", ["", None])
def test_an_empty_org_is_no_org(name: Any) -> None:
    with pytest.raises(UsageError):
        Scope(name)


def test_an_empty_user_is_an_error_and_not_the_whole_org() -> None:
    for build in (
        lambda: Scope("acme", ""),
        lambda: Scope("acme").narrow(user=""),
        lambda: Scope("acme", "ada").narrow(user=""),
    ):
        with pytest.raises(UsageError):
            build()


def test_the_subject_is_the_one_named_or_ones_own() -> None:
    assert Scope("acme", "ada").subject(None) == "ada"
    assert Scope("acme").subject("eve") == "eve"
    for scope, user in ((Scope("acme"), None), (Scope("acme", "ada"), "eve")):
        with pytest.raises(UsageError):
            scope.subject(user)


@pytest.mark.parametrize("org", ["", "\u0000", "\ud800", None, 5], ids=ascii)
def test_an_org_is_a_name(org: object) -> None:
    with pytest.raises(InvalidValue):
        Scope(org)  # type: ignore[arg-type]


def test_an_actor_is_one_of_a_few() -> None:
    with pytest.raises(UsageError):
        Scope(actor="robot")
