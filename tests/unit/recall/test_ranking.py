"""Ranking a scope: what comes first, and why."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.ports import to_datetime
from memorist.recall.analyze import signals, token_string
from memorist.recall.features import FEATURES, is_assistant
from memorist.recall.pool import Pool, stats_of
from memorist.recall.query import analyse
from memorist.recall.ranking import Row, rank, weights_file
from memorist.recall.select import chosen, distinct, fill, merge_chunks, without_repeats
from memorist.records import Entry, NamespaceStats

DAY = 86_400_000_000
NOW = 20_000 * DAY


def entry(kind: str, id: str, text: str, *, context: str = "", created_at: int = NOW, **fields: Any) -> Entry:
    return Entry(
        org="o", kind=kind, id=id, terms=token_string(text), context_terms=token_string(context),
        signals=signals(text), created_at=to_datetime(created_at), **{"ns": "user:ada", **fields},
    )  # fmt: skip


def message(id: str, text: str, **fields: Any) -> Entry:
    return entry("message", id, text, **{"created_at": NOW - 100 * DAY, "role": "user", **fields})


def scope(*entries: Entry) -> list[Entry]:
    return list(entries)


def pool_of(entries: list[Entry], text: str) -> Pool:
    """All of them as the pool of a question; statistics are those of these entries."""
    speakers = dict.fromkeys(e.speaker for e in entries if e.speaker and not is_assistant(e.role or "", e.speaker))
    query = analyse(text, speakers=[name for name in speakers if name], now=NOW)
    stats = NamespaceStats(
        org="o", ns="user:ada", entries=len(entries), terms=sum(len(e.terms.split()) for e in entries),
        assistant=sum(is_assistant(e.role or "", e.speaker or "") for e in entries),
        speakers=tuple(name for name in speakers if name), updated_at=to_datetime(NOW),
    )  # fmt: skip
    frequencies = {t: sum(t in f"{e.terms} {e.context_terms}".split() for e in entries) for t in query.terms}
    return Pool(query, entries, stats_of([stats]), frequencies)


def ranked(entries: list[Entry], text: str) -> list[Row]:
    if not entries:
        return []
    ranking = rank(pool_of(entries, text))
    return [Row(entries[index], float(ranking.score[index]), index) for index in ranking.order]


def ask(entries: list[Entry], text: str) -> list[str]:
    return [row.entry.id for row in ranked(entries, text)]


def test_the_person_asked_about_comes_before_the_one_who_names_them() -> None:
    index = scope(
        message("named", "Wow Melanie, painting is such a lovely hobby", speaker="Caroline", parent="t", seq=1),
        message("spoken", "I have taken up painting as a hobby", speaker="Melanie", parent="t", seq=9),
    )
    assert ask(index, "What is Melanie's hobby?")[0] == "spoken"


def test_an_answer_is_found_by_the_question_before_it() -> None:
    question = "Which instrument do you play?"
    index = scope(
        message("q", question, parent="t", seq=1, speaker="Ann"),
        message("a", "The violin, since I was small", context=question, parent="t", seq=2, speaker="Bob"),
        message("x", "The weather was fine last week", parent="u", seq=1, speaker="Bob"),
    )
    assert set(ask(index, "What instrument does Bob play?")[:2]) == {"q", "a"}


def test_a_date_in_the_question_prefers_what_was_said_then() -> None:
    index = scope(
        message("then", "I went for a swim", created_at=NOW - 10 * DAY, parent="a"),
        message("later", "I went for a swim", created_at=NOW - 60 * DAY, parent="b"),
    )
    assert ask(index, "Where did I swim ten days ago?")[0] == "then"


def test_with_an_assistant_the_newer_of_two_equals_comes_first() -> None:
    talk = [message(f"a{i}", "Certainly, noted.", role="assistant", parent=f"t{i}", seq=2) for i in range(3)]
    index = scope(
        message("old", "my budget is large", created_at=NOW - 300 * DAY, parent="t0", seq=1),
        message("new", "my budget is small", created_at=NOW - 2 * DAY, parent="t1", seq=1),
        *talk,
    )
    assert ask(index, "Let us go on with my budget.")[0] == "new"


def test_the_users_own_short_turn_comes_before_an_assistants_long_one() -> None:
    advice = "A budget tracker needs a database. " + "Consider the points about budget and tracker design. " * 30
    index = scope(
        message("said", "I decided to build my budget tracker with Flask", role="user", parent="t", seq=1),
        message("advice", advice, role="assistant", parent="t", seq=2),
        message("other", "The weather is fine", role="user", parent="u", seq=1),
        message("reply", "Indeed it is.", role="assistant", parent="u", seq=2),
    )
    assert ask(index, "What do I build my budget tracker with?")[0] == "said"


def test_of_two_contradicting_facts_the_newest_comes_first() -> None:
    index = scope(
        message("old", "The chairperson of Fatah is Mahmoud Abbas", created_at=NOW - 9 * DAY),
        message("new", "The chairperson of Fatah is Karel Dobbelaere", created_at=NOW - 8 * DAY),
        message("other", "The chairperson of the club is Ann", created_at=NOW - DAY),
    )
    assert ask(index, "Who is the chairperson of Fatah?")[:2] == ["new", "old"]
    assert ask(index[::-1], "Who was previously the chairperson of Fatah?")[0] in ("old", "new")


def test_every_part_of_a_question_finds_its_answer() -> None:
    index = scope(
        *(message(f"dog{i}", f"The dog barked at the postman again, number {i}", parent=f"d{i}") for i in range(6)),
        message("boat", "The boat is moored in Kirkenes harbour", parent="b"),
    )
    hit_ids = ask(index, "Which postman did the dog bark at this morning? And where is the boat moored at the moment?")
    assert "boat" in hit_ids[:2]


def test_a_standing_instruction_is_found_for_a_task_that_shares_no_word_with_it() -> None:
    index = scope(
        message("rule", "From now on, always end variable names with '_x'.", parent="t", seq=1),
        message("ok", "Understood.", role="assistant", parent="t", seq=2),
        *(message(f"chat{i}", f"The office lunch on day {i} was nice.", parent=f"u{i}", seq=1) for i in range(5)),
    )
    assert ask(index, "Write a Python class that reverses a list.")[0] == "rule"


def test_features_have_names_a_reader_understands_and_are_few() -> None:
    assert len(FEATURES) <= 15
    for table in weights_file().tables.values():
        assert set(table.features) <= set(FEATURES)


def test_a_doubtful_fact_comes_after_a_sure_one() -> None:
    index = scope(
        entry("fact", "doubtful", "lives in Rome", confidence=0.2, created_at=NOW),
        entry("fact", "sure", "lives in Oslo", confidence=1.0, created_at=NOW - DAY),
    )
    assert ask(index, "lives") == ["sure", "doubtful"]


def test_reasons_name_signals_with_their_ranks() -> None:
    index = scope(message("a", "green tea from Uji"), message("b", "green apples"))
    ranking = rank(pool_of(index, "tea from Uji"))
    assert ranking.order[0] == 0
    reasons = ranking.reasons([0])[0]
    words = next(reason for reason in reasons if reason.signal == "words")
    assert words.rank == 1
    assert str(words).startswith("words #1 (+")
    weights = [abs(reason.weight) for reason in reasons]
    assert weights == sorted(weights, reverse=True)


def test_scores_fall_and_stay_between_zero_and_one() -> None:
    index = scope(*(message(str(i), "tea " * (i + 1) + "cup " * (9 - i)) for i in range(10)))
    scores = [s.score for s in ranked(index, "tea pot cup")]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


def test_an_empty_scope_gives_nothing() -> None:
    assert ask(scope(), "anything") == []


def scored(*items: tuple[str, str, float], **fields: Any) -> list[Row]:
    return [Row(entry("message", id, text, **fields), score, i, text=text) for i, (id, text, score) in enumerate(items)]


def test_near_duplicates_give_way_to_the_first_of_them() -> None:
    ranked = scored(
        ("a", "I live in a small house by the sea", 0.9),
        ("b", "I live in a small house by the sea!", 0.8),
        ("c", "I sold the boat", 0.7),
    )
    firsts, repeats = distinct(ranked)
    assert ([s.entry.id for s in firsts], [s.entry.id for s in repeats]) == (["a", "c"], ["b"])
    assert [s.entry.id for s in distinct(ranked, 1)[0]] == ["a"]


def test_exact_repeats_are_told_once_and_near_ones_where_they_are_needed() -> None:
    ranked = scored(
        ("a", "I live in a small old house by the cold sea near the grey harbour of Oslo", 0.9),
        ("b", "I live in a small old house by the cold sea near the grey harbour of Oslo", 0.8),
        ("c", "I live in a small old house by the cold sea near the grey harbour of Oslo now, friend", 0.75),
        ("d", "I sold the boat", 0.7),
    )
    assert [s.entry.id for s in without_repeats(ranked)] == ["a", "c", "d"]
    assert [s.entry.id for s in chosen(without_repeats(ranked), 3, 3)] == ["a", "c", "d"]
    assert [s.entry.id for s in chosen(ranked, 2, 3)] == ["a", "d"]


def test_a_denial_is_no_repeat_of_what_it_denies() -> None:
    ranked = scored(("a", "I live in Porto", 0.9), ("b", "I do not live in Porto", 0.8))
    assert [s.entry.id for s in without_repeats(ranked)] == ["a", "b"]


def test_the_same_words_of_two_people_are_two_memories() -> None:
    by_ann = scored(("a", "I live by the sea", 0.9), speaker="Ann")
    by_bob = scored(("b", "I live by the sea", 0.8), speaker="Bob")
    assert len(distinct(by_ann + by_bob)[0]) == 2


def test_a_budget_is_never_exceeded_and_a_long_hit_without_borders_is_cut() -> None:
    ranked = scored(("a", "x" * 40, 0.9), ("b", "y" * 400, 0.8), ("c", "z" * 40, 0.7), ("d", "w" * 4, 0.1))
    chosen = fill(ranked, 90, len)
    assert [s.entry.id for s in chosen][:2] == ["a", "b"]
    assert sum(len(s.text) for s in chosen) <= 90
    assert chosen[1].text.startswith("yyy")


def test_neighbouring_chunks_become_one_hit_without_repeated_words() -> None:
    parts = ["one two three four five six seven", "four five six seven eight nine ten", "eleven twelve"]
    ranked = [
        Row(entry("document", f"c{seq}", parts[seq], parent="doc", seq=seq), score, seq, text=parts[seq])
        for seq, score in ((1, 0.9), (0, 0.8), (2, 0.3))
    ] + [Row(entry("document", "far", "far away", parent="doc", seq=9), 0.2, 3, text="far away")]
    merged = merge_chunks(ranked)
    assert [s.entry.id for s in merged] == ["c1", "far"]
    assert merged[0].text == "one two three four five six seven eight nine ten\neleven twelve"


def test_chunks_are_not_merged_with_what_only_has_the_same_id() -> None:
    things = [
        (entry("document", "c", "of all", parent="doc", seq=1, ns="global"), "of all"),
        (entry("document", "c", "of ada", parent="doc", seq=2), "of ada"),
        (entry("document", "c", "also of ada", parent="doc", seq=1), "also of ada"),
        (entry("message", "doc#1", "a message", parent="doc", seq=1), "a message"),
    ]
    rows = [Row(chunk, 1.0 - index / 10, index, text=text) for index, (chunk, text) in enumerate(things)]
    assert [s.text for s in merge_chunks(rows)] == ["of all", "also of ada\nof ada", "a message"]


@pytest.mark.parametrize("size", [1, 3, 40])
def test_the_order_of_adding_does_not_change_the_answer(size: int) -> None:
    texts = [message(str(i), f"tea number {i} from garden {i % 3}", parent=f"t{i % 5}", seq=i) for i in range(size)]
    assert ask(scope(*texts), "tea garden 2 number 1") == ask(scope(*texts[::-1]), "tea garden 2 number 1")
