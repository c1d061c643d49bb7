"""Notes are carried out once, by the time they were said; what needs a person waits in the review queue."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist import Extraction, Memory, NotFound
from memorist.engine.derive.noting import Noting, Source, carry_out
from memorist.extract.writer.checks import Note
from memorist.extract.writer.request import Known
from tests.orchestration.conftest import do

SAID = datetime(2026, 5, 1, tzinfo=UTC)


def note(**fields: Any) -> Note:
    base = {"op": "add", "kind": "fact", "turn": 0, "quote": "words", "text": "A sentence."}
    return Note(**{**base, **fields})


def lives_in(city: str) -> Note:
    return note(key="location", value=city, text=f"The user lives in {city}.")


async def carry(memory: Any, *notes: tuple[Note, Source]) -> Any:
    changes, outcome = await carry_out(memory._core, "user:ada", notes)
    if changes:
        await memory._core.apply(*changes)
    return outcome


async def test_the_same_note_twice_changes_nothing(memory: Any) -> None:
    source = Source("talk#1", SAID)
    await carry(memory, (lives_in("Porto"), source))
    again = await carry(memory, (lives_in("Porto"), source))
    assert (again.stored, again.confirmed) == ([], ["fact:location"])
    assert len(await do(memory.facts.history("user:ada", "location"))) == 1


async def test_the_time_of_a_statement_decides_which_version_is_the_newest(memory: Any) -> None:
    await carry(memory, (lives_in("Porto"), Source("talk#9", SAID)))
    await carry(memory, (lives_in("Rome"), Source("old#1", SAID - timedelta(days=90))))
    versions = await do(memory.facts.history("user:ada", "location"))
    assert [version.value for version in versions] == ["Rome", "Porto"]


async def test_two_things_that_can_both_be_true_stay_apart(memory: Any) -> None:
    cat = note(key="pet", value="cat", text="The user has a cat.")
    dog = note(key="pet", value="dog", text="The user has a dog.")
    mia = note(key="location", value="Rome", subject="Mia", text="Mia lives in Rome.")
    source = Source("talk#1", SAID)
    await carry(memory, (cat, source), (dog, source), (lives_in("Porto"), source), (mia, source))
    facts = {fact.key: fact.value for fact in await do(memory.facts.list("user:ada"))}
    assert facts == {"pet": "cat", "pet.dog": "dog", "location": "Porto", "location@Mia": "Rome"}


async def test_a_candidate_is_used_only_once_it_is_approved(memory: Any) -> None:
    ada = memory.scope(user="ada")
    await carry(
        memory,
        (note(key="allergy", value="peanuts", text="The user is allergic to peanuts."), Source("t#1", SAID)),
    )
    memory_item = Known(
        id="fact:allergy.peanuts", kind="fact", text="x", key="allergy.peanuts", value="peanuts", stated_at=SAID
    )
    noting = Noting(memory._core, "user:ada")
    ending = note(op="end", target=memory_item, reason="changed", text="The user is allergic to peanuts.")
    await noting.propose(ending, Source("t#2", SAID + timedelta(days=1)), "must not be missed")
    await memory._core.apply(*noting.changes)
    [candidate] = await do(ada.review.list())
    assert (candidate.operation, candidate.reason) == ("end", "must not be missed")
    assert await do(ada.review.get_many([candidate.id, "none"])) == [candidate, None]
    assert (await do(ada.facts.get("user:ada", "allergy.peanuts"))).value == "peanuts"
    ended = await do(ada.review.approve(candidate.id))
    assert ended is not None and ended.status == "ended"
    assert await do(ada.facts.get("user:ada", "allergy.peanuts")) is None and await do(ada.review.list()) == []
    assert await do(ada.review.get_many([candidate.id])) == [None], "an approved candidate no longer waits"
    with pytest.raises(NotFound):
        await do(ada.review.approve(candidate.id))


async def test_a_rejected_candidate_is_not_proposed_again_from_the_same_message(memory: Any) -> None:
    ada = memory.scope(user="ada")
    source = Source("t#1", SAID)
    noting = Noting(memory._core, "user:ada")
    await noting.propose(lives_in("Mars"), source, "unlikely")
    await memory._core.apply(*noting.changes)
    [candidate] = await do(ada.review.list())
    assert await do(ada.review.reject(candidate.id, reason="no")) is True
    outcome = await carry(memory, (lives_in("Mars"), source))
    assert outcome.stored == [] and outcome.refused[0].reason.startswith("was rejected")
    told_anew = await carry(memory, (lives_in("Mars"), Source("t#2", SAID)))
    assert [item.value for item in told_anew.stored] == ["Mars"]


@pytest.mark.parametrize(
    "proposed",
    [
        lives_in("Mars"),
        note(key="city", value="Mars", subject="Mia", text="Mia lives on Mars."),
        note(kind="event", text="The user flies to Mars."),
        note(kind="learning", text="The user prefers Mars."),
    ],
)
async def test_a_rejected_candidate_stays_rejected_when_the_message_is_read_again(memory: Any, proposed: Note) -> None:
    ada = memory.scope(user="ada")

    async def propose(again: Note, message: str) -> Any:
        noting = Noting(memory._core, "user:ada")
        await noting.propose(again, Source(message, SAID), "unlikely")
        if noting.changes:
            await memory._core.apply(*noting.changes)
        return noting.outcome

    [candidate] = (await propose(proposed, "t#1")).waiting
    await do(ada.review.reject(candidate.id))
    outcome = await propose(proposed, "t#1")
    assert outcome.waiting == [] and outcome.refused[0].reason.startswith("was rejected")
    assert await do(ada.review.list()) == []
    if proposed.kind == "fact":
        reworded = msgspec.structs.replace(proposed, text="In other words.")
        assert (await propose(reworded, "t#1")).waiting == []
        assert (await carry(memory, (proposed, Source("t#1", SAID)))).stored == []
    assert len((await propose(proposed, "t#2")).waiting) == 1, "a new statement may be proposed"


async def test_an_edited_candidate_is_stored_as_edited(memory: Any) -> None:
    ada = memory.scope(user="ada")
    noting = Noting(memory._core, "user:ada")
    await noting.propose(lives_in("Prto"), Source("t#1", SAID), "look")
    await memory._core.apply(*noting.changes)
    [candidate] = await do(ada.review.list())
    await do(ada.review.edit(candidate.id, value="Porto", text="The user lives in Porto."))
    item = await do(ada.review.approve(candidate.id))
    assert item is not None and (item.value, item.text) == ("Porto", "The user lives in Porto.")


@pytest.mark.parametrize(
    ("admit", "active", "waiting"),
    [
        (lambda proposal: "active" if proposal.key == "location" else "refuse", ["location"], []),
    ],
)
def test_without_a_model_the_applications_rules_decide_as_well(
    tmp_path: Path, admit: Any, active: list[str], waiting: list[str]
) -> None:
    with Memory(tmp_path / "m.db", extract=Extraction(admit=admit), worker=False) as memory:
        memory.remember("I live in Porto and I'm allergic to nuts.", user="ada")
        ada = memory.scope(user="ada")
        assert sorted(fact.key for fact in ada.facts.list()) == active
        assert sorted(row.proposal["key"] for row in ada.review.list()) == waiting
