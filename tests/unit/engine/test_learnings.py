"""Learnings: kept once, moved by rules, most used first."""

from collections.abc import Callable

import pytest

from memorist.engine.audit import Audit
from memorist.engine.core import Core
from memorist.engine.learnings import Learnings, fold
from memorist.errors import InvalidValue, NotFound, UsageError
from memorist.records import Job, Learning, Link
from memorist.testing import FakeClock
from memorist_testing.plugin import Together


async def test_a_learning_is_of_a_user_and_starts_at_half(ada: Core) -> None:
    learning = await Learnings(ada).add("Prefers tea")
    assert (learning.ns, learning.confidence, learning.type, learning.usage_count) == ("user:ada", 0.5, "preference", 0)
    assert await Learnings(ada).get(learning.id) == learning


@pytest.mark.parametrize("again", ["prefers  TEA", "  Prefers\ttea\n", "Ｐｒｅｆｅｒｓ ｔｅａ"])
async def test_the_same_content_reinforces_whatever_its_case_width_or_spacing(ada: Core, again: str) -> None:
    learnings = Learnings(ada)
    first = await learnings.add("Prefers tea", source="t#1")
    second = await learnings.add(again, source="t#2")
    assert second.id == first.id
    assert second.confidence == pytest.approx(0.6)
    assert second.sources == ("t#1", "t#2")
    assert len(await learnings.list(min_confidence=0, limit=None)) == 1


def test_folding_works_in_any_script() -> None:
    assert fold("STRASSE") == fold("straße")
    assert fold("ｶﾞ") == fold("ガ")
    assert fold("Ångström") == fold("A\u030angstro\u0308m")


async def test_reinforce_and_weaken_follow_the_documented_rule(ada: Core) -> None:
    learnings = Learnings(ada)
    learning = await learnings.add("Likes short answers")
    assert (await learnings.reinforce(learning.id)).confidence == pytest.approx(0.6)
    assert (await learnings.weaken(learning.id)).confidence == pytest.approx(0.42)


async def test_a_correction_halves_what_it_contradicts_and_nothing_else(ada: Core) -> None:
    learnings = Learnings(ada)
    dark = await learnings.add("Prefers dark mode", confidence=0.8)
    other = await learnings.add("Lives in Rome", confidence=0.8)
    await learnings.add("Prefers light mode, not dark mode", type="correction")
    lowered, unchanged = await learnings.get(dark.id), await learnings.get(other.id)
    assert lowered is not None and lowered.confidence == pytest.approx(0.4)
    assert unchanged is not None and unchanged.confidence == 0.8


async def test_a_correction_can_name_what_it_corrects(ada: Core) -> None:
    learnings = Learnings(ada)
    tea = await learnings.add("Prefers tea", confidence=0.8)
    await learnings.add("It is coffee in the morning", type="correction", corrects=tea.id)
    lowered = await learnings.get(tea.id)
    assert lowered is not None and lowered.confidence == pytest.approx(0.4)


async def test_the_list_has_those_over_the_floor_most_used_first(ada: Core) -> None:
    learnings = Learnings(ada)
    rows = [await learnings.add(f"Learning number {i}", confidence=0.5 + i / 10) for i in range(5)]
    assert await learnings.used([rows[3].id, rows[3].id, rows[2].id]) == 2
    await learnings.used([rows[3].id])
    listed = await learnings.list(min_confidence=0.7)
    assert [row.id for row in listed] == [rows[3].id, rows[2].id, rows[4].id]
    assert [row.usage_count for row in listed] == [2, 1, 0]
    assert [row.id for row in await learnings.list(limit=1, min_confidence=0.85)] == [rows[4].id]
    assert await learnings.list(type="pattern") == []
    every = [row.id for row in await learnings.list()]
    assert len(every) == 5
    assert [row.id for row in await learnings.list(reverse=True)] == every[::-1]
    assert [row.id for row in await learnings.list(after=every[1], limit=2)] == every[2:4]
    assert [row.id for row in await learnings.list(after=every[3], reverse=True)] == every[2::-1]


async def test_a_use_remembers_when(ada: Core, clock: FakeClock) -> None:
    learnings = Learnings(ada)
    learning = await learnings.add("Uses vim", confidence=0.9)
    clock.advance(60)
    await learnings.used([learning.id, "no such id"])
    used = await learnings.get(learning.id)
    assert used is not None and used.last_used == clock()


async def test_concurrent_uses_are_all_counted(ada: Core, together: Together) -> None:
    learnings = Learnings(ada)
    learning = await learnings.add("Uses vim")
    await together([lambda: learnings.used([learning.id])] * 20)
    used = await learnings.get(learning.id)
    assert used is not None and used.usage_count == 20


async def test_a_deleted_learning_does_not_come_back_from_a_derivation(ada: Core) -> None:
    learning = await Learnings(ada).add("Owes money", source="t#1")
    assert await Learnings(ada).delete(learning.id) is True
    assert await Learnings(ada).delete(learning.id) is False
    processor = ada.narrowed(ada.scope.narrow(actor="processor"))
    again = await Learnings(processor).add("owes MONEY")
    assert again.status == "rejected"
    assert await Learnings(ada).get(learning.id) is None
    assert (await Learnings(ada).add("owes money")).status == "active"


async def test_adding_writes_lineage_a_job_and_a_trace_together(ada: Core) -> None:
    learning = await Learnings(ada).add("Prefers tea", source="t#1")
    assert [link.target.id for link in await ada.scan(Link, "", "t", "message", "1")] == [f"user:ada/{learning.id}"]
    assert [job.item for job in await ada.scan(Job, "index", "user:ada")] == [f"learning:{learning.id}"]
    events = await Audit(ada).list(subject=f"user:ada/{learning.id}")
    assert [(event.action, event.source, event.user) for event in events] == [("add", "t#1", "ada")]


async def test_a_batch_sees_its_own_learnings(core: Core, ada: Core) -> None:
    batch = ada.batched()
    learnings = Learnings(batch)
    await learnings.add("Prefers tea")
    again = await learnings.add("prefers tea")
    await ada.commit(batch)
    stored = await Learnings(ada).get(again.id)
    assert stored is not None and stored.confidence == pytest.approx(0.6)


async def test_a_handle_of_no_user_keeps_learnings_of_everyone(core: Core, ada: Core) -> None:
    learning = await Learnings(core).add("Answers should cite their sources")
    assert learning.ns == "global"
    assert await Learnings(ada).list(min_confidence=0) == []


async def test_bad_learnings_are_refused(ada: Core) -> None:
    learnings = Learnings(ada)
    with pytest.raises(InvalidValue, match="type must be one of"):
        await learnings.add("x", type="guess")
    with pytest.raises(InvalidValue, match="confidence"):
        await learnings.add("x", confidence=2)
    with pytest.raises(InvalidValue, match="content"):
        await learnings.add(" \n")
    with pytest.raises(NotFound):
        await learnings.reinforce("nothing")
    with pytest.raises(UsageError, match="another user"):
        await learnings.add("x", user="bob")


async def test_a_reinforcement_between_read_and_write_is_not_lost(
    ada: Core, elsewhere: Core, meanwhile: Callable[..., None]
) -> None:
    learning = await Learnings(ada).add("Prefers tea")
    meanwhile(Learning, lambda: Learnings(elsewhere).reinforce(learning.id))
    assert (await Learnings(ada).reinforce(learning.id)).confidence == pytest.approx(0.68)
    meanwhile(Learning, lambda: Learnings(elsewhere).reinforce(learning.id))
    assert (await Learnings(ada).add("prefers tea")).confidence == pytest.approx(0.7952)
