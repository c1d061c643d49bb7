"""Ranking a scope: what comes first, and why."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.recall.entry import Candidate, ScopeStats, entry, is_assistant
from memorist.recall.query import analyse
from memorist.recall.rank import Scored, rank
from memorist.recall.select import chosen, distinct, fill, merge_chunks

DAY = 86_400_000_000
NOW = 20_000 * DAY


def message(id: str, text: str, **fields: Any) -> Candidate:
    return entry("message", id, text, **{"created_at": NOW - 100 * DAY, **fields})


def scope(*entries: Candidate) -> list[Candidate]:
    return list(entries)


def ranked(entries: list[Candidate], text: str, **options: Any) -> list[Scored]:
    """All of them in order; statistics are those of these entries."""
    speakers = dict.fromkeys(e.speaker for e in entries if e.speaker and not is_assistant(e.role, e.speaker))
    query = analyse(text, speakers=speakers, now=NOW)
    stats = ScopeStats(
        entries=len(entries),
        mean_terms=sum(len(e.terms.split()) for e in entries) / max(1, len(entries)),
        assistant_entries=sum(is_assistant(e.role, e.speaker) for e in entries),
        message_entries=sum(e.kind == "message" for e in entries),
        speakers=tuple(speakers),
    )
    held = {t: sum(t in f"{e.terms} {e.context_terms}".split() for e in entries) for t in query.terms}
    return rank(query, entries, stats, held, **options)


def ask(entries: list[Candidate], text: str) -> list[str]:
    return [scored.entry.id for scored in ranked(entries, text)]


def test_the_person_asked_about_comes_before_the_one_who_names_them() -> None:
    index = scope(
        message("named", "Wow Melanie, painting is such a lovely hobby", speaker="Caroline", thread="t", seq=1),
        message("spoken", "I have taken up painting as a hobby", speaker="Melanie", thread="t", seq=9),
    )
    assert ask(index, "What is Melanie's hobby?")[0] == "spoken"


def test_an_answer_is_found_by_the_question_before_it() -> None:
    question = "Which instrument do you play?"
    index = scope(
        message("q", question, thread="t", seq=1, speaker="Ann"),
        message("a", "The violin, since I was small", context=question, thread="t", seq=2, speaker="Bob"),
        message("x", "The weather was fine last week", thread="u", seq=1, speaker="Bob"),
    )
    assert ask(index, "What instrument does Bob play?")[0] == "a"


def test_a_date_in_the_question_prefers_what_was_said_then() -> None:
    index = scope(
        message("then", "I went for a swim", created_at=NOW - 10 * DAY, thread="a"),
        message("later", "I went for a swim", created_at=NOW - 60 * DAY, thread="b"),
    )
    assert ask(index, "Where did I swim ten days ago?")[0] == "then"


def test_with_an_assistant_the_newer_of_two_equals_comes_first() -> None:
    talk = [message(f"a{i}", "Certainly, noted.", role="assistant", thread=f"t{i}", seq=2) for i in range(3)]
    index = scope(
        message("old", "my budget is large", created_at=NOW - 300 * DAY, thread="t0", seq=1),
        message("new", "my budget is small", created_at=NOW - 2 * DAY, thread="t1", seq=1),
        *talk,
    )
    assert ask(index, "Let us go on with my budget.")[0] == "new"


def test_the_users_own_short_turn_comes_before_an_assistants_long_one() -> None:
    advice = "A budget tracker needs a database. " + "Consider the points about budget and tracker design. " * 30
    index = scope(
        message("said", "I decided to build my budget tracker with Flask", role="user", thread="t", seq=1),
        message("advice", advice, role="assistant", thread="t", seq=2),
        message("other", "The weather is fine", role="user", thread="u", seq=1),
        message("reply", "Indeed it is.", role="assistant", thread="u", seq=2),
    )
    assert ask(index, "What do I build my budget tracker with?")[0] == "said"


def test_a_fact_lifts_the_message_it_was_taken_from() -> None:
    index = scope(
        message("moved", "We finally unpacked the last box here, Porto it is", role="user", thread="t", seq=1),
        message("reply", "Congratulations!", role="assistant", thread="t", seq=2),
        message("other", "Which trains go there?", role="user", thread="u", seq=1),
    )
    bare = {s.entry.id: s.score for s in ranked(index, "Where do I live?")}
    fact = entry("fact", "location", "location: Porto", context="where do I live", source="moved", created_at=NOW)
    led = {s.entry.id: s.score for s in ranked([*index, fact], "Where do I live?")}
    assert led["moved"] > bare["moved"]
    assert max(led, key=lambda id: led[id]) == "location"


def test_a_doubtful_fact_comes_after_a_sure_one() -> None:
    index = scope(
        entry("fact", "doubtful", "lives in Rome", confidence=0.2, created_at=NOW),
        entry("fact", "sure", "lives in Oslo", confidence=1.0, created_at=NOW - DAY),
    )
    assert ask(index, "lives") == ["sure", "doubtful"]


def test_reasons_name_signals_with_their_ranks() -> None:
    index = scope(message("a", "green tea from Uji"), message("b", "green apples"))
    best, *_ = ranked(index, "tea from Uji", explain=1)
    assert best.entry.id == "a"
    text = next(reason for reason in best.reasons if reason.signal == "text")
    assert text.rank == 1
    assert str(text).startswith("text #1 (+")
    weights = [abs(reason.weight) for reason in best.reasons]
    assert weights == sorted(weights, reverse=True)


def test_scores_fall_and_stay_between_zero_and_one() -> None:
    index = scope(*(message(str(i), "tea " * (i + 1) + "cup " * (9 - i)) for i in range(10)))
    scores = [s.score for s in ranked(index, "tea pot cup")]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)


def test_an_empty_scope_gives_nothing() -> None:
    assert ask(scope(), "anything") == []


def scored(*items: tuple[str, str, float], **fields: Any) -> list[Scored]:
    return [Scored(entry("message", id, text, **fields), score, i) for i, (id, text, score) in enumerate(items)]


def test_near_duplicates_give_way_to_the_first_of_them() -> None:
    ranked = scored(
        ("a", "I live in a small house by the sea", 0.9),
        ("b", "I live in a small house by the sea!", 0.8),
        ("c", "I sold the boat", 0.7),
    )
    kept, repeats = distinct(ranked)
    assert ([s.entry.id for s in kept], [s.entry.id for s in repeats]) == (["a", "c"], ["b"])
    assert [s.entry.id for s in distinct(ranked, 1)[0]] == ["a"]


def test_repeats_that_are_needed_stand_where_their_score_puts_them() -> None:
    ranked = scored(("a", "I live by the sea", 0.9), ("b", "I live by the sea", 0.8), ("c", "I sold the boat", 0.7))
    assert [s.entry.id for s in chosen(ranked, 3, 3)] == ["a", "b", "c"]
    assert [s.entry.id for s in chosen(ranked, 2, 3)] == ["a", "c"]


def test_the_same_words_of_two_people_are_two_memories() -> None:
    one = scored(("a", "I live by the sea", 0.9), speaker="Ann")
    two = scored(("b", "I live by the sea", 0.8), speaker="Bob")
    assert len(distinct(one + two)[0]) == 2


def test_a_budget_is_never_exceeded_and_a_long_hit_without_borders_is_cut() -> None:
    ranked = scored(("a", "x" * 40, 0.9), ("b", "y" * 400, 0.8), ("c", "z" * 40, 0.7), ("d", "w" * 4, 0.1))
    chosen = fill(ranked, 90, len)
    assert [s.entry.id for s in chosen] == ["a", "b"]
    assert sum(len(s.entry.text) for s in chosen) <= 90
    assert chosen[1].entry.text.startswith("yyy")


def test_neighbouring_chunks_become_one_hit_without_repeated_words() -> None:
    parts = ["one two three four five six seven", "four five six seven eight nine ten", "eleven twelve"]
    ranked = [
        Scored(entry("chunk", f"c{seq}", parts[seq], thread="doc", seq=seq), score, seq)
        for seq, score in ((1, 0.9), (0, 0.8), (2, 0.3))
    ] + [Scored(entry("chunk", "far", "far away", thread="doc", seq=9), 0.2, 3)]
    merged = merge_chunks(ranked)
    assert [s.entry.id for s in merged] == ["c1", "far"]
    assert merged[0].entry.text == "one two three four five six seven eight nine ten\neleven twelve"


def test_chunks_are_not_merged_with_what_only_has_the_same_id() -> None:
    things = [
        entry("chunk", "c", "of all", thread="doc", seq=1),
        entry("chunk", "c", "of ada", thread="doc", seq=2, namespace="user:ada"),
        entry("chunk", "c", "also of ada", thread="doc", seq=1, namespace="user:ada"),
        entry("message", "doc#1", "a message", thread="doc", seq=1),
    ]
    merged = merge_chunks([Scored(one, 1.0 - place / 10, place) for place, one in enumerate(things)])
    assert [s.entry.text for s in merged] == ["of all", "also of ada\nof ada", "a message"]


@pytest.mark.parametrize("size", [1, 3, 40])
def test_the_order_of_adding_does_not_change_the_answer(size: int) -> None:
    texts = [message(str(i), f"tea number {i} from garden {i % 3}", thread=f"t{i % 5}", seq=i) for i in range(size)]
    assert ask(scope(*texts), "tea garden 2 number 1") == ask(scope(*texts[::-1]), "tea garden 2 number 1")
