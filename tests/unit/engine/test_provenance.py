"""Why: from anything derived back to the messages."""

import pytest

from memorist.engine.core import Core
from memorist.engine.facts.facts import Facts
from memorist.engine.learnings import Learnings
from memorist.engine.provenance import Provenance
from memorist.engine.threads.threads import Threads
from memorist.errors import NotFound, UsageError
from memorist.records import Summary
from memorist.stores.base import Put


async def _talk(core: Core, ns: str = "user:ada") -> None:
    await Threads(core).create(ns, id="talk")
    for number in range(4):
        await Threads(core).append("talk", f"message {number + 1}")


async def test_a_fact_leads_to_its_messages(core: Core) -> None:
    await _talk(core)
    fact = await Facts(core).set("user:ada", "name", "Ada", source="talk#2")
    why = await Provenance(core).why(fact)
    assert (why.kind, why.item) == ("fact", "user:ada/name")
    assert [(step.kind, step.id, step.depth, step.actor) for step in why.sources] == [("message", "talk#2", 1, "user")]
    assert [message.content for message in why.messages] == ["message 2"]
    assert await Provenance(core).why("user:ada/name") == why


async def test_a_learning_from_a_summary_leads_through_it(core: Core, ada: Core) -> None:
    await _talk(core)
    at = core.at()
    summary = Summary(org=core.org, thread="talk", first=1, last=3, text="s", tokens=1, ns="user:ada", created_at=at)
    await core.apply(Put(summary))
    learning = await Learnings(ada).add("Likes tea", source=summary.id)
    why = await Provenance(core).why(learning)
    assert [(step.kind, step.id, step.depth) for step in why.sources] == [
        ("summary", "talk#1-3", 1),
        ("message", "talk#1", 2),
        ("message", "talk#2", 2),
        ("message", "talk#3", 2),
    ]


async def test_a_source_that_is_gone_is_said_to_be_gone(core: Core) -> None:
    await Facts(core).set("global", "a/b", 1, source="gone#7")
    why = await Provenance(core).why("global/a/b")
    assert [(step.id, step.present) for step in why.sources] == [("gone#7", False)]


async def test_circles_end(core: Core) -> None:
    await Facts(core).set("global", "a", 1, source="global/b")
    await Facts(core).set("global", "b", 2, source="global/a")
    why = await Provenance(core).why("global/a")
    assert [step.id for step in why.sources] == ["global/b"]


async def test_other_users_things_are_not_there(core: Core, ada: Core) -> None:
    await _talk(core, "user:bob")
    fact = await Facts(core).set("user:bob", "name", "Bob", source="talk#1")
    await Facts(core).set("global", "seen", 1, source="talk#1")
    for item in (fact, "user:bob/name", "talk#1"):
        with pytest.raises(NotFound):
            await Provenance(ada).why(item)
    why = await Provenance(ada).why("global/seen")
    assert why.messages == []


async def test_what_is_not_there_or_not_an_item_is_an_error(core: Core) -> None:
    with pytest.raises(NotFound):
        await Provenance(core).why("global/nothing")
    with pytest.raises(UsageError):
        await Provenance(core).why(7)
