"""A profile is facts, preferences and learnings of one user."""

from typing import Any

import pytest

from memorist.engine.core import Core
from memorist.engine.facts.facts import Facts
from memorist.engine.learnings import Learnings
from memorist.engine.profile import Profile
from memorist.errors import UsageError
from memorist.stores.base import Scan


async def test_a_profile_has_all_that_is_known_of_one_user(core: Core, ada: Core) -> None:
    await Facts(core).set("user:ada", "name", "Ada", confidence=0.9, source="t#1")
    await Facts(core).set("user:bob", "name", "Bob")
    await Profile(core).set_preference("ada", "language", "French")
    await Learnings(ada).add("Likes short answers")
    profile = await Profile(core).get("ada")
    assert [(fact.key, fact.value, fact.confidence, fact.source) for fact in profile.facts] == [
        ("name", "Ada", 0.9, "t#1")
    ]
    assert profile.preferences == {"language": "French"}
    assert [learning.content for learning in profile.learnings] == ["Likes short answers"]
    assert await Profile(ada).get() == profile


async def test_a_profile_is_read_in_two_range_reads(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    await Facts(core).set("user:ada", "name", "Ada")
    reads: list[str] = []
    scan = core.store.scan

    async def counted(query: Scan[Any], *, now: int) -> list[Any]:
        reads.append(query.kind.__name__)
        return await scan(query, now=now)

    monkeypatch.setattr(core.store, "scan", counted)
    await Profile(core).get("ada")
    assert reads == ["Fact", "Learning"]


async def test_another_users_profile_is_out_of_reach(ada: Core) -> None:
    with pytest.raises(UsageError, match="another user"):
        await Profile(ada).get("bob")
