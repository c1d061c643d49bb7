"""Scopes and namespaces."""

import pytest

from recollect import InvalidNamespace, InvalidValue, Namespace, UsageError
from recollect.scope import Scope


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


def test_a_user_scope_touches_its_own_namespace_and_shared_ones() -> None:
    scope = Scope("acme", "ada")
    for fine in ("user:ada", "global", "agent:x", "workflow:user:eve"):
        assert scope.namespace(fine) == fine
    for foreign in ("user:eve", "user:ada ", "user:Ada", "user:adam", "user:ad"):
        with pytest.raises(InvalidNamespace):
            scope.namespace(foreign)


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
