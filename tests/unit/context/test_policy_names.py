"""One registry names the policies for Python, HTTP and the inspector; what a policy needs it declares itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import memorist
from memorist.context.plan import Aid, Needs, Plan, Reach, needs_of
from memorist.context.policies import Chain, ElideToolResults, Fifo, SlidingWindow, Summarize, VectorSwap
from memorist.context.policy_names import (
    CHOICES,
    POLICIES,
    has_functions,
    policy_fields,
    policy_in,
    policy_out,
    python_policy,
    read_policy,
    short_policy,
    title_policy,
)
from memorist.context.units import Unit
from memorist.errors import Unsupported, UsageError


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_has_a_name_in_json_and_a_short_one(name: str) -> None:
    named = POLICIES[name]
    policy = named.policy()
    assert policy_out(policy)["kind"] == name and policy_in(policy_out(policy)) == policy
    assert read_policy(named.short) == policy
    if named.number is not None:
        assert getattr(read_policy(f"{named.short}:7"), named.number) == 7


def test_every_policy_of_the_package_is_in_the_registry() -> None:
    import memorist.context.policies as module

    names = [name for name, value in vars(module).items() if isinstance(value, type) and hasattr(value, "plan")]
    assert {*names} - {"Policy", "FoldingPolicy", "Plan", "Chain"} == {n.policy.__name__ for n in POLICIES.values()}


def test_nothing_asks_for_the_class_of_a_policy() -> None:
    names = "|".join(["Chain", *(named.policy.__name__ for named in POLICIES.values())])
    check = re.compile(rf"isinstance\([^)]*\b({names})\b|type\([a-z_.]+\) (?:is|==) (?:[a-z]+\.)?({names})\b")
    sources = [path.read_text("utf-8") for path in Path(memorist.__file__).parent.rglob("*.py")]
    assert [match.group() for source in sources for match in check.finditer(source)] == []


def test_the_inspector_offers_what_the_registry_names() -> None:
    classes: dict[str, object] = {named.policy.__name__: named.policy for named in POLICIES.values()}
    for short in CHOICES:
        policy = read_policy(short)
        assert short_policy(policy) == short
        assert eval(python_policy(policy), {**classes, "Chain": Chain}) == policy
    assert title_policy(read_policy("elide:500+window")) == "Elide tool results (500), Sliding window"
    assert python_policy(VectorSwap(k=3)) == "VectorSwap(k=3)"


def test_a_chain_is_stored_with_its_members_and_without_their_functions() -> None:
    chain = Chain(ElideToolResults(500), Chain(Summarize(keep=3, model=len), Fifo()))
    assert policy_in(policy_fields(chain)) == Chain(ElideToolResults(500), Chain(Summarize(keep=3), Fifo()))
    assert has_functions(chain) and not has_functions(Chain(Fifo(), SlidingWindow()))
    assert policy_fields(Chain(Fifo(), Plain())) is None and has_functions(Plain())
    with pytest.raises(Unsupported, match="functions cannot be sent"):
        policy_out(chain)


def test_short_names_are_chained() -> None:
    chain = read_policy("elide:500+window")
    assert isinstance(chain, Chain) and chain.policies == (ElideToolResults(500), SlidingWindow())
    for wrong in ("", "windows", "importance:3", "fifo:x"):
        with pytest.raises(UsageError, match="a policy is one of"):
            read_policy(wrong)


class Plain:
    """A policy of a user's own, which declares nothing."""

    def reach(self, room_tokens: int, aid: Aid) -> Reach:
        return Reach()

    def plan(self, units: Sequence[Unit], room_tokens: int, aid: Aid) -> Plan:
        return Plan(tuple(units))


def test_policies_declare_what_they_need() -> None:
    assert needs_of(Plain()) == Needs()
    assert needs_of(Fifo(3)).slides and needs_of(SlidingWindow()).slides
    assert needs_of(Summarize(model=len)) == Needs(summary=True, model=len)
    assert needs_of(Chain(ElideToolResults(), VectorSwap(k=3))) == Needs(search=3)


@pytest.mark.parametrize("wrong", ["sliding", SlidingWindow, 3])
def test_what_is_no_policy_is_refused_as_such_and_not_as_a_function(wrong: object) -> None:
    with pytest.raises(UsageError, match="a policy is an object"):
        policy_out(wrong)
