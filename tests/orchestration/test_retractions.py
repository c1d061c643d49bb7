"""What a user takes back ends: every pair of statements in `retractions.jsonl`, on every store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memorist.languages import languages
from memorist_testing.plugin import Run

from .conftest import OpenMemory, do
from .test_deriving import fact, tell

DATA = Path(__file__).parents[1] / "data" / "retractions.jsonl"
PAIRS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]


async def test_every_retraction_ends_its_fact(memory: Any, run: Run) -> None:
    stand: list[str] = []
    for number, pair in enumerate(pair for pair in PAIRS if pair["lang"] in languages()):
        ns = f"user:u{number}"
        thread = await tell(memory, pair["before"], ns=ns)
        before = await do(memory.facts.get(ns, pair["key"]))
        assert before is not None and before.value is not False, pair
        await tell(memory, pair["after"], ns=ns, thread=thread)
        after = await do(memory.facts.get(ns, pair["key"]))
        if after is not None and after.value is not False:
            stand.append(pair["after"])
    assert stand == []


async def test_an_ended_fact_keeps_its_history_and_names_the_message_that_ended_it(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Lisbon.")
    await tell(memory, "I don't live in Lisbon anymore.", thread=thread)
    assert await fact(memory) is None
    history = await do(memory.facts.history("user:ada", "location"))
    assert [(one.value, one.status) for one in history] == [("Lisbon", "active"), (None, "retracted")]
    assert history[-1].sources == (f"{thread}#1", f"{thread}#2")
    assert "retraction by en/places#location" in history[-1].reason


async def test_only_what_was_named_ends(memory: Any, run: Run) -> None:
    thread = await tell(memory, "I live in Porto. My dog is called Rex. My cat is called Miso.")
    await tell(memory, "I don't live in Lisbon anymore. Rex died in spring.", thread=thread)
    assert (await fact(memory)).value == "Porto"
    assert await fact(memory, "pet.dog") is None
    assert (await fact(memory, "pet.cat")).value == "Miso"


async def test_said_and_taken_back_in_one_go_leaves_nothing_and_said_again_stands(memory: Any, run: Run) -> None:
    await tell(memory, "I use Notion.", "I no longer work at Bosch.", "I work at Bosch.", "I quit my job at Bosch.")
    assert await fact(memory, "employer") is None
    await tell(memory, "I live in Oslo.")
    await tell(memory, "I moved away from Oslo.", "Never mind, I live in Oslo.")
    assert (await fact(memory)).value == "Oslo"


async def test_a_receipt_says_when_the_language_is_not_known(memory: Any, run: Run) -> None:
    thread = (await do(memory.threads.create("user:ada"))).id
    receipts = await do(memory.threads.append(thread, "Mieszkam od dawna w Krakowie z rodziną.", "I live in Oslo."))
    settled = await do(memory.jobs.wait(receipts))
    assert [one.derived for one in settled] == ["unread", "done"]
    assert (await fact(memory)).value == "Oslo"


async def test_patterns_stand_in_for_a_model_that_answers_badly(open_memory: OpenMemory, run: Run) -> None:
    memory = open_memory(model=lambda prompt: "no JSON at all")
    thread = (await do(memory.threads.create("user:ada"))).id
    receipts = await do(memory.threads.append(thread, "I live in Oslo."))
    (settled,) = await do(memory.wait(receipts, timeout=5))
    found = await fact(memory)
    assert (found.value, settled.derived) == ("Oslo", "failed")
    assert "by en/places#location" in found.reason
    assert any("dead letters" in problem for problem in (await do(memory.doctor())).problems)
