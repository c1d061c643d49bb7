"""Passages are ranked by the sentence that answers best: by words of like meaning, and by what is asked for."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from memorist import AsyncMemory, Memory
from memorist.context.items import MemoryItem, fill_memory
from memorist.embed.wordllama import CACHED_WORDS, WordLlamaEmbedder
from memorist.recall.passage import alone, passage, sentences
from memorist.recall.ranking import Row
from memorist.recall.sentences import best_sentences
from memorist.records import Entry
from memorist.stores.memory import MemoryStore


def open_ram(**options: Any) -> Memory:
    return Memory(MemoryStore(), worker=False, **options)


VECTORS = WordLlamaEmbedder().word_vectors
RENT = "The rent is due on the third working day. It is paid to the account of the landlady."
PETS = "Small animals may be kept. One dog or up to two cats may be kept with consent."
WASTE = "Refuse is separated. The bins are emptied on Monday and on Thursday."


def _passage(text: str, heading: str, raw: float) -> Row:
    """A chunk of a document with a first score of these log-odds."""
    entry = Entry(org="default", ns="global", kind="document", id="d#1", terms="", created_at=datetime.now(UTC))
    return Row(entry, 1 / (1 + math.exp(-raw)), 0, text=text, heading=heading)


def scores(question: str, passages: list[Row]) -> list[float]:
    return [sentence.score for sentence in best_sentences(question, passages, VECTORS)]


def best(question: str, *texts: str) -> str:
    value = scores(question, [_passage(text, "", 0.0) for text in texts])
    return texts[int(np.argmax(value))]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is my kitten allowed?", PETS),
        ("When is the garbage picked up?", WASTE),
        ("When does the landlord want his money?", RENT),
    ],
)
def test_a_passage_is_found_by_one_sentence_in_other_words(question: str, answer: str) -> None:
    assert best(question, RENT, PETS, WASTE) == answer


def test_equal_sentences_keep_the_first_ranking() -> None:
    value = scores("What is due?", [_passage(RENT, "", 1.0), _passage(RENT, "", 3.0)])
    assert value[1] > value[0]


def test_a_heading_counts_for_every_sentence_of_its_passage() -> None:
    texts = [_passage("It is 3,300 euros.", "Deposit", 0.0), _passage("It is 1,180 euros.", "Rent", 0.0)]
    assert np.argmax(scores("How high is the rent?", texts)) == 1
    assert np.argmax(scores("How high is the deposit?", texts)) == 0


@pytest.mark.parametrize("question", ["", "???", "the of and", "日本語だけ"])
def test_any_question_and_any_text_can_be_scored(question: str) -> None:
    passages = [_passage(text, "", 0.0) for text in ("", "|---|", "---", "...", "漢字の文。", "```\nx = 1\n```", PETS)]
    value = scores(question, passages)
    assert len(value) == len(passages)
    assert not np.isnan(value).any()


def test_scores_are_the_same_whatever_was_asked_before() -> None:
    passages = [_passage(text, "", 0.0) for text in (RENT, PETS, WASTE)]
    fresh = best_sentences("Is my kitten allowed?", passages, WordLlamaEmbedder().word_vectors)
    assert fresh == best_sentences("Is my kitten allowed?", passages, VECTORS)


def test_a_row_of_a_table_is_found_by_the_words_of_its_header() -> None:
    text = "The fan ran for 24 months.\n\n| part | warranty |\n|---|---|\n| fan | 24 months |\n"
    [best_row] = best_sentences("What warranty has the fan?", [_passage(text, "", 0.0)], VECTORS)
    assert sentences(text)[best_row.number] == "| fan | 24 months |\n"


def test_the_cache_of_word_vectors_is_bounded_and_changes_nothing() -> None:
    embedder = WordLlamaEmbedder()
    first = embedder.word_vectors(["deposit", "rent", "deposit"])
    for start in range(0, CACHED_WORDS + 1, 1024):
        embedder.word_vectors([f"word{n}" for n in range(start, start + 1024)])
        assert len(embedder._words) <= CACHED_WORDS
    assert np.array_equal(embedder.word_vectors(["deposit", "rent", "deposit"]), first)
    assert np.array_equal(first[0], first[2])


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    assert sentences("Ask Mr. Ruddock, e.g. by telephone. He is kind.") == [
        "Ask Mr. Ruddock, e.g. by telephone.", " He is kind."
    ]  # fmt: skip
    text = "The house is old. Ask Mr. Ruddock, by telephone 555 0118. The garden is new."
    assert "Mr. Ruddock, by telephone 555 0118." in passage(text, ["telephon"], 18, lambda part: len(part) // 4)


LEASE = """# Lease

## Rent

The rent is 1,180 euros a month and is due on the third working day.

## Animals

Fish and hamsters may be kept. One dog or up to two cats may be kept with consent.

## Refuse

The bins are emptied on Monday and on Thursday.
"""


def test_recall_ranks_passages_by_their_sentences_and_scores_still_fall() -> None:
    with open_ram(user="ada") as memory:
        memory.documents.add("user:ada", LEASE, title="Lease", source="lease.md")
        hits = memory.recall("Is my kitten allowed?", top_k=3)
    assert "cats" in hits[0].text
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_other_languages_and_other_embedders_keep_the_first_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("sentences were scored")

    monkeypatch.setattr("memorist.recall.sentences.best_sentences", refuse)
    with open_ram(user="ada", embedder=None) as memory:
        memory.documents.add("user:ada", LEASE, title="Lease", source="lease.md")
        assert memory.recall("Which animals may be kept?")
    with open_ram(user="ada") as memory:
        memory.documents.add("user:ada", "Die Kaution ist hoch.\n\n# Miete\n\nDie Miete ist niedrig.", title="Vertrag")
        assert memory.recall("Wie hoch ist die Kaution?")
        with pytest.raises(AssertionError, match="sentences were scored"):
            memory.recall("What is high and what is low?")


async def test_passages_are_ranked_off_the_event_loop_the_same() -> None:
    async with AsyncMemory(MemoryStore(), user="ada", worker=False) as memory:
        await memory.documents.add("user:ada", LEASE, title="Lease", source="lease.md")
        hits = await memory.recall("Is my kitten allowed?", top_k=3)
    assert "cats" in hits[0].text


def test_the_reasons_of_a_passage_name_the_sentence_that_answers() -> None:
    with open_ram(user="ada") as memory:
        memory.documents.add("user:ada", LEASE, title="Lease", source="lease.md")
        first = memory.recall("Is my kitten allowed?")[0]
    notes = [reason.note for reason in first.reasons if reason.signal == "sentence"]
    assert len(notes) == 1
    assert "up to two cats" in notes[0]


def test_one_sentence_keeps_its_heading_and_the_head_of_its_table() -> None:
    text = "## Prices\n\nAll in euros.\n\n| part | price |\n|---|---|\n| fan | 198 |\n| fuse | 4 |\n"
    number = sentences(text).index("| fuse | 4 |\n")
    assert alone(text, number) == "## Prices\n| part | price |\n|---|---|\n…\n| fuse | 4 |"
    assert alone("One. Two. Three.", 1) == "…  Two. …"


def items(count: int) -> list[MemoryItem]:
    return [
        MemoryItem(f"{'filler ' * 40}answer {n}. {'filler ' * 40}", "document", f"d{n}", "document", None, "", None,
                   0.9 - n / 100, f"c{n}", 3 * n + 1, f"… answer {n}. …")
        for n in range(count)
    ]  # fmt: skip


def counted(text: str) -> int:
    return len(text.split())


def test_whole_passages_take_a_share_of_the_room_and_of_the_next_the_answer_is_sent() -> None:
    fates = fill_memory(items(20), 1000, counted)
    assert {fate.fate for fate in fates} == {"kept", "shortened"}
    assert all(f"answer {n}." in fate.item.text for n, fate in enumerate(fates))
    assert sum(fate.tokens for fate in fates) <= 1000
    assert [fate.fate for fate in fates[:3]] == ["kept"] * 3


def test_where_there_is_room_for_all_every_passage_is_whole() -> None:
    assert {fate.fate for fate in fill_memory(items(5), 2000, counted)} == {"kept"}


def test_an_answer_is_in_a_room_smaller_than_its_passage() -> None:
    (fate,) = fill_memory(items(1), 60, counted)
    assert (fate.fate, fate.item.text) == ("shortened", "… answer 0. …")


@pytest.mark.parametrize("budget", [120, 200, 400, 1000])
def test_no_context_with_documents_is_over_its_budget(budget: int) -> None:
    with open_ram(user="ada") as memory:
        for n in range(8):
            memory.documents.add("user:ada", LEASE.replace("Lease", f"Lease {n}"), title=f"Lease {n}", source=f"{n}.md")
        assert memory.context("Is my kitten allowed?", budget=budget).tokens <= budget
