"""Working memory: typed, expiring, and never losing a partial update."""

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from memorist import Working
from memorist.engine.core import Core
from memorist.engine.working import MAX_ACTIONS, WorkingMemory
from memorist.errors import InvalidValue, UsageError
from memorist.records import WorkingDocument
from memorist.testing import FakeClock
from memorist.types import Action, Page, PlanStep, WorkingUser
from memorist_testing.plugin import Together


class Shop(Working):
    cart: list[str] = msgspec.field(default_factory=list)
    total: int = 0
    notes: dict[str, int] = msgspec.field(default_factory=dict)


async def test_there_is_none_until_it_is_written(ada: Core) -> None:
    assert await WorkingMemory(ada).get() is None


async def test_a_document_comes_back_typed(ada: Core) -> None:
    doc = Working(
        user=WorkingUser(id="ada", name="Ada", role="admin", preferences={"theme": "dark"}),
        current_page=Page(route="/orders/7", entity_type="order", entity_id="7"),
        plan=[PlanStep(text="look up the order", status="active")],
        scratchpad="thinking",
        history=[{"role": "user", "content": "hi"}],
    )
    await WorkingMemory(ada).set(doc)
    assert await WorkingMemory(ada).get() == doc


async def test_an_update_sets_some_fields_and_leaves_the_others(ada: Core) -> None:
    working = WorkingMemory(ada)
    await working.set({"scratchpad": "a", "plan": [{"text": "one"}]})
    await working.update(scratchpad="b", current_page=Page(route="/"))
    assert await working.get() == Working(scratchpad="b", plan=[PlanStep(text="one")], current_page=Page(route="/"))


async def test_sessions_and_users_have_documents_of_their_own(core: Core, ada: Core) -> None:
    await WorkingMemory(ada).update(scratchpad="ada")
    await WorkingMemory(ada).update(session="s1", scratchpad="ada in s1")
    await WorkingMemory(core).update(user="bob", scratchpad="bob")
    working = WorkingMemory(core)
    pads = [await working.get("ada"), await working.get("ada", "s1"), await working.get("bob")]
    assert [pad and pad.scratchpad for pad in pads] == ["ada", "ada in s1", "bob"]
    await working.update(scratchpad="everyone's")
    pads = [await working.get(), await working.get("ada")]
    assert [pad and pad.scratchpad for pad in pads] == ["everyone's", "ada"]


async def test_it_lasts_a_day_from_the_last_write(ada: Core, clock: FakeClock) -> None:
    working = WorkingMemory(ada)
    await working.update(scratchpad="a")
    clock.advance(timedelta(hours=23))
    await working.record_action("click")
    clock.advance(timedelta(hours=23))
    assert await working.get() is not None
    clock.advance(timedelta(hours=1))
    assert await working.get() is None
    assert (await working.update(plan=[])).scratchpad == ""


async def test_actions_are_bounded_timed_and_undone_newest_first(ada: Core, clock: FakeClock) -> None:
    working = WorkingMemory(ada)
    for number in range(MAX_ACTIONS + 5):
        await working.record_action(f"action {number}", entity_id=str(number))
    doc = await working.get()
    assert doc is not None
    assert [action.action for action in doc.recent_actions] == [f"action {n}" for n in range(5, MAX_ACTIONS + 5)]
    newest = Action(action=f"action {MAX_ACTIONS + 4}", entity_id=str(MAX_ACTIONS + 4), at=clock())
    assert await working.undo_action() == newest
    assert (await working.undo_action() or newest).action == f"action {MAX_ACTIONS + 3}"


async def test_undoing_nothing_gives_none(ada: Core) -> None:
    assert await WorkingMemory(ada).undo_action() is None


async def test_the_last_turns_are_bounded(ada: Core) -> None:
    working = WorkingMemory(ada)
    for number in range(30):
        await working.add_turn({"role": "user", "content": str(number)})
    doc = await working.get()
    assert doc is not None and [turn["content"] for turn in doc.history] == [str(n) for n in range(10, 30)]


async def test_the_last_turns_do_not_begin_with_results_whose_call_is_gone(ada: Core) -> None:
    working = WorkingMemory(ada)
    call = {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}
    results = [
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "2"}]},
    ]
    await working.add_turn(call, *results)
    for number in range(18):
        doc = await working.add_turn({"role": "user", "content": str(number)})
    assert [turn["content"] for turn in doc.history] == [str(n) for n in range(18)]
    await working.clear()
    doc = await working.add_turn(*results, *({"role": "user", "content": "x"} for _ in range(18)))
    assert len(doc.history) == 20  # nothing was cut here


async def test_a_subclass_adds_fields_and_checks_them(ada: Core) -> None:
    shop = WorkingMemory(ada).template(Shop)
    await shop.set(Shop(cart=["tea"], total=3))
    await WorkingMemory(ada).update(scratchpad="seen by both")
    document = await shop.get()
    assert document == Shop(cart=["tea"], total=3, scratchpad="seen by both")


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"total": "three"}, "total", "Expected `int`"),
        ({"plan": [{"text": "x", "status": "lost"}]}, "plan[0].status", "Invalid enum value"),
        ({"current_page": {}}, "current_page", "required field `route`"),
        ({"cartt": []}, "cartt", "no field 'cartt'"),
    ],
)
async def test_a_wrong_field_is_named_and_nothing_is_written(
    ada: Core, fields: dict[str, object], field: str, says: str
) -> None:
    shop = WorkingMemory(ada).template(Shop)
    with pytest.raises(InvalidValue, match=says) as caught:
        await shop.update(**fields)
    assert caught.value.facts["field"] == field
    assert await shop.get() is None


async def test_a_template_must_be_a_working_memory_with_defaults(ada: Core) -> None:
    class Needy(Working):
        must: int

    with pytest.raises(UsageError, match="without a default"):
        WorkingMemory(ada).template(Needy)
    with pytest.raises(UsageError, match="subclass"):
        WorkingMemory(ada).template(dict)


async def test_clearing_says_whether_there_was_one(ada: Core) -> None:
    working = WorkingMemory(ada)
    await working.update(scratchpad="x")
    assert await working.clear() is True
    assert await working.clear() is False
    assert await working.get() is None


async def test_concurrent_partial_updates_are_all_kept(ada: Core, together: Together) -> None:
    shop = WorkingMemory(ada).template(Shop)
    names = ("scratchpad", "cart", "total", "notes")

    def update(number: int):  # type: ignore[no-untyped-def]
        values = (str(number), [str(number)], number, {"n": number})
        return lambda: shop.update(**{names[number % 4]: values[number % 4]})

    await together([update(number) for number in range(40)])
    doc = await shop.get()
    assert doc is not None
    assert doc.scratchpad and doc.cart and doc.total and doc.notes


async def test_a_batch_reads_its_own_writes(ada: Core) -> None:
    batch = ada.batched()
    await WorkingMemory(batch).update(scratchpad="one")
    await WorkingMemory(batch).record_action("click")
    assert await WorkingMemory(ada).get() is None
    await ada.commit(batch)
    doc = await WorkingMemory(ada).get()
    assert doc is not None and doc.scratchpad == "one" and len(doc.recent_actions) == 1


async def test_an_update_between_read_and_write_is_not_lost(
    ada: Core, elsewhere: Core, meanwhile: Callable[..., None]
) -> None:
    await WorkingMemory(ada).update(scratchpad="a")
    meanwhile(WorkingDocument, lambda: WorkingMemory(elsewhere).update(plan=[PlanStep(text="theirs")]))
    doc = await WorkingMemory(ada).update(scratchpad="b")
    assert doc == Working(scratchpad="b", plan=[PlanStep(text="theirs")])
