"""The profile block: current, certain and readable lines about a user, in a stable order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memorist.context.profile import LANE_LIMITS, ProfileLine, within_limits
from memorist.testing import FakeClock
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do

DAY = 24 * 3600


async def texts(memory: Any, lane: str | None = None) -> list[str]:
    return [line.text for line in await do(memory.profile.block("ada")) if lane in (None, line.lane)]


async def test_a_value_that_changed_is_written_once_with_its_date(
    open_memory: OpenMemory, run: Run, clock: FakeClock
) -> None:
    memory = open_memory(user="ada")
    await do(memory.facts.set("user:ada", "location", "Lisbon"))
    assert await texts(memory) == ["Lives in Lisbon"]
    clock.advance(3 * DAY)
    at = memory._core.at()
    await do(memory.facts.set("user:ada", "location", "Porto"))
    assert await texts(memory) == [f"Lives in Porto (since {at.day} {at:%b})"]
    clock.advance(DAY)
    await do(memory.facts.set("user:ada", "location", "Porto"))
    assert await texts(memory) == [f"Lives in Porto (since {at.day} {at:%b})"]
    clock.advance(400 * DAY)
    assert await texts(memory) == [f"Lives in Porto (since {at.day} {at:%b} {at.year})"]


async def test_the_block_is_plain_english_with_safety_first(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada")
    await do(memory.facts.set("user:ada", "location", "Porto"))
    await do(memory.facts.set("user:ada", "allergy.peanuts", "peanuts"))
    await do(memory.profile.set_preference("ada", "answer_language", "French"))
    block = (await do(memory.context("hi", budget=2000))).profile_message.text
    assert "Follow these preferences unless your instructions say otherwise." in block
    assert "Never ignore anything under Safety." in block
    lines = block.splitlines()
    assert lines.index("Allergic to peanuts") < lines.index("Lives in Porto") < lines.index("Answer language: French")


async def test_every_kind_of_line_reads_as_a_person_would_write_it(
    open_memory: OpenMemory, run: Run, clock: FakeClock
) -> None:
    memory = open_memory(user="ada")
    facts = {
        "name": "Ada", "role": "nurse", "age": 34, "birthday": "--03-05", "condition.asthma": "asthma",
        "medication.insulin": "insulin", "avoids.pork": "pork", "diet": "vegan", "relation.sister.maria": "Maria",
        "relation.uncle": True, "pet.dog.max": "Max", "date.wedding": "2027-06-12",
    }  # fmt: skip
    for key, value in facts.items():
        await do(memory.facts.set("user:ada", key, value))
    await do(memory.learnings.add("always answer in French", type="preference", confidence=0.9))
    await do(memory.learnings.add("__init__ stays as it is", type="preference", confidence=0.9))
    at = memory._core.at()
    date = f"(as of {at.day} {at:%b})"
    assert set(await texts(memory)) == {
        "Name: Ada", "Occupation: nurse", f"Age: 34 {date}", "Birthday: 5 March", f"Health: asthma {date}",
        f"Takes insulin {date}", "Avoids pork", "Diet: vegan", "Sister: Maria", "Has an uncle", "Dog: Max",
        "Wedding: 12 June 2027", "Always answer in French", "__init__ stays as it is",
    }  # fmt: skip


async def test_uncertain_untrusted_and_structured_facts_stay_out(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada")
    await do(memory.facts.set("user:ada", "location", "Porto", confidence=0.6))
    await do(memory.facts.set("user:ada", "settings", {"panes": [{"id": 1, "open": True}]}))
    await do(memory.facts.set("user:ada", "seats", [{"row": 1}]))
    await do(memory.facts.set("user:ada", "blank", ""))
    await do(memory.facts.set("user:ada", "essay", "word " * 200))
    await do(memory.learnings.add("Prefers tea", confidence=0.6))
    assert await texts(memory) == []
    await do(memory.profile.set_preference("ada", "alerts", {"email": True, "phone": False}))
    await do(memory.facts.set("user:ada", "colours", ["red", "blue"]))
    assert await texts(memory) == ["Alerts: email yes, phone no", "Colours: red, blue"]
    assert not any(mark in line for line in await texts(memory) for mark in '{}[]"')


async def test_every_lane_has_a_limit_and_the_newest_of_it_are_shown(
    open_memory: OpenMemory, run: Run, clock: FakeClock
) -> None:
    memory = open_memory(user="ada")
    for number in range(LANE_LIMITS["wishes"] + 3):
        clock.advance(60)
        await do(memory.learnings.add(f"Wants rule {number:02}", confidence=0.9, source=f"talk#{number + 1}"))
    wishes = await texts(memory, "wishes")
    assert len(wishes) == LANE_LIMITS["wishes"]
    assert wishes == sorted(wishes) and wishes[-1] == f"Wants rule {LANE_LIMITS['wishes'] + 2:02}"


def test_the_same_words_are_written_once() -> None:
    at = datetime(2026, 11, 15, tzinfo=UTC)
    lines = [ProfileLine("Never use emojis.", "wishes"), ProfileLine("never use  emojis", "corrections")]
    assert within_limits([(at, line) for line in lines]) == lines[:1]


async def test_using_a_wish_does_not_reorder_the_block(open_memory: OpenMemory, run: Run, clock: FakeClock) -> None:
    memory = open_memory(user="ada")
    first = await do(memory.learnings.add("Answer briefly", confidence=0.9, source="talk#1"))
    clock.advance(60)
    await do(memory.learnings.add("Use metric units", confidence=0.9, source="talk#2"))
    before = await texts(memory)
    for _ in range(5):
        await do(memory.learnings.reinforce(first.id))
    assert await texts(memory) == before == ["Answer briefly", "Use metric units"]


async def test_what_is_not_true_yet_stays_out_until_its_day(
    open_memory: OpenMemory, run: Run, clock: FakeClock
) -> None:
    memory = open_memory(user="ada")
    moving_day = memory._core.at() + timedelta(days=30)
    await do(memory.facts.set("user:ada", "location", "Porto", valid_from=moving_day))
    learning = await do(memory.learnings.add("Answer in Portuguese", type="preference", confidence=0.9))
    await do(memory.learnings.update(learning.id, valid_from=moving_day))
    assert await texts(memory) == []
    clock.advance(30 * DAY)
    assert await texts(memory) == ["Lives in Porto", "Answer in Portuguese"]


async def test_a_second_value_under_its_own_name_is_told_once(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(user="ada")
    await do(memory.facts.set("user:ada", "sibling", "Ben"))
    await do(memory.facts.set("user:ada", "sibling.clara_ann", "Clara Ann"))
    await do(memory.facts.set("user:ada", "car.colour", "red"))
    assert await texts(memory) == ["Car colour: red", "Sibling: Ben", "Sibling: Clara Ann"]
