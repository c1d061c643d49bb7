"""One registry names the policies for Python, HTTP and the inspector; what a policy needs it declares itself."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memorist.context.plan import Aid, Needs, Plan, Reach, needs_of
from memorist.context.policies import POLICIES, Chain, ElideToolResults, Fifo, SlidingWindow, VectorSwap, read_policy
from memorist.context.units import Unit
from memorist.errors import UsageError
from memorist.protocol.data import policy_in, policy_out


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_every_policy_has_a_name_in_json_and_a_short_one(name: str) -> None:
    named = POLICIES[name]
    policy = named.policy()
    assert policy_out(policy)["kind"] == name and policy_in(policy_out(policy)) == policy
    assert read_policy(named.short) == policy
    if named.number is not None:
        assert getattr(read_policy(f"{named.short}:7"), named.number) == 7


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
    assert needs_of(Chain(ElideToolResults(), VectorSwap(k=3))) == Needs(found=3)
