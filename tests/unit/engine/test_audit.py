"""The audit trail: in order, by subject, cut by age, never with content."""

from datetime import timedelta
from typing import Any

import pytest

from memorist.engine.audit import Audit, audit
from memorist.engine.core import Core
from memorist.engine.facts.facts import Facts
from memorist.engine.threads.threads import Threads
from memorist.ids import fingerprint
from memorist.testing import FakeClock


async def test_events_come_in_order_and_by_subject(core: Core, clock: FakeClock) -> None:
    for number in range(5):
        await core.apply(audit(core, "set", "fact", f"s{number % 2}", source="t#1", detail={"n": number}))
        clock.advance(1)
    events = await Audit(core).list()
    assert [event.detail["n"] for event in events] == [0, 1, 2, 3, 4]
    assert [event.detail["n"] for event in await Audit(core).list(subject="s1")] == [1, 3]
    assert [event.detail["n"] for event in await Audit(core).list(after=events[2].id)] == [3, 4]
    assert [event.detail["n"] for event in await Audit(core).list(after=events[2].created_at, limit=1)] == [3]


async def test_an_event_says_who_and_from_where(ada: Core) -> None:
    await ada.apply(audit(ada, "set", "fact", "user:ada/name", source="t#1"))
    event = (await Audit(ada).list())[0]
    assert (event.actor, event.user, event.action, event.kind, event.source) == ("user", "ada", "set", "fact", "t#1")


async def test_a_users_handle_sees_nothing_of_others(core: Core, ada: Core) -> None:
    await core.apply(audit(core, "set", "fact", "user:bob/name"))
    await ada.apply(audit(ada, "set", "fact", "user:ada/name"))
    assert [event.subject for event in await Audit(ada).list()] == ["user:ada/name"]
    assert len(await Audit(core).list()) == 2


async def test_a_users_handle_lists_what_others_did_to_the_users_records(
    core: Core, ada: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.engine.audit.PAGE_EVENTS", 2)
    await Threads(core).append("talk", "Hello", create="user:ada")
    await Threads(core).append("other", "Hello", create="user:bob")
    events = [
        ("correct", "fact", "user:ada/name"), ("correct", "fact", "user:adam/name"), ("set", "fact", "user:bob/name"),
        ("fold", "thread", "talk"), ("fold", "thread", "other"), ("pin", "message", "talk#1"),
        ("pin", "message", "other#1"), ("forget", "user", fingerprint("user:ada")),
        ("forget", "user", fingerprint("user:bob")), ("delete", "facts", "user:ada"),
    ]  # fmt: skip
    for event in events:
        await core.apply(audit(core, *event))
    own = ["correct user:ada/name", "fold talk", "pin talk#1", f"forget {fingerprint('user:ada')}", "delete user:ada"]

    async def listed(**options: Any) -> list[str]:
        return [f"{event.action} {event.subject}" for event in await Audit(ada).list(**options)]

    assert await listed() == own
    assert await listed(reverse=True, limit=2) == own[:-3:-1]
    assert await listed(kind="fact") == own[:1]
    assert await listed(subject="talk") == ["fold talk"] and await listed(subject="other") == []
    third = (await Audit(ada).list(limit=3))[-1]
    assert await listed(after=third.id) == own[3:]


async def test_old_events_expire_by_policy(core: Core, clock: FakeClock) -> None:
    await core.apply(audit(core, "set", "fact", "old"))
    clock.advance(timedelta(days=91))
    await core.apply(audit(core, "set", "fact", "new"))
    assert await Audit(core).expire(timedelta(days=90)) == 1
    assert [event.subject for event in await Audit(core).list()] == ["new"]


async def test_no_content_gets_into_the_trail(core: Core) -> None:
    await Facts(core).set("user:ada", "diagnosis", "canary-content")
    await Facts(core).correct("user:ada", "diagnosis", "canary-content-2", reason="canary-reason")
    assert "canary" not in repr(await Audit(core).list())
