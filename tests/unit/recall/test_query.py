"""What a question asks for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.ports import to_datetime, to_micros
from memorist.recall.query import analyse, find_dates

NOW = to_micros(datetime(2023, 10, 22, 9, 55, tzinfo=UTC))


def test_speakers_are_known_and_taken_out_of_what_is_searched() -> None:
    query = analyse("What did Melanie's kids paint?", speakers=["Caroline", "Melanie"], now=NOW)
    assert query.speakers == ("Melanie",)
    assert query.terms == ("kid", "paint")
    assert "Melanie" not in query.embed_text


def test_a_short_form_of_a_name_is_the_same_person() -> None:
    assert analyse("What did Mel paint?", speakers=["Melanie"]).speakers == ("Melanie",)
    assert analyse("who may melt cheese", speakers=["Melanie"]).speakers == ()


def test_speakers_come_in_the_order_they_are_named() -> None:
    query = analyse("What does Bob think of Ann's dog?", speakers=["Ann", "Bob"])
    assert query.speakers == ("Bob", "Ann")


def test_generic_speakers_are_not_names() -> None:
    assert analyse("what did the user tell the assistant", speakers=["User", "Assistant"]).speakers == ()


def test_a_question_of_names_alone_still_has_terms() -> None:
    assert analyse("Melanie?", speakers=["Melanie"]).terms == ("melani",)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("on October 13, 2023", "2023-10-13", "2023-10-14"),
        ("on 3 June, 2023?", "2023-06-03", "2023-06-04"),
        ("on the 3rd of June", "2023-06-03", "2023-06-04"),
        ("on December 24", "2022-12-24", "2022-12-25"),
        ("on 2023-05-08", "2023-05-08", "2023-05-09"),
        ("in August 2023", "2023-08-01", "2023-09-01"),
        ("in December 2022", "2022-12-01", "2023-01-01"),
        ("in November", "2022-11-01", "2022-12-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("yesterday", "2023-10-21", "2023-10-22"),
        ("three days ago", "2023-10-19", "2023-10-20"),
        ("last month", "2023-09-01", "2023-10-01"),
        ("last week", "2023-10-09", "2023-10-16"),
        ("last Tuesday", "2023-10-17", "2023-10-18"),
        ("on Tuesday at 5pm, did it", "2023-10-17", "2023-10-18"),
        ("two weeks ago", "2023-10-05", "2023-10-12"),
        ("last summer", "2023-06-01", "2023-09-01"),
        ("since 3 October", "2023-10-03", "2023-10-23"),
        ("before 3 October 2020", "1970-01-01", "2020-10-03"),
        ("the day before yesterday", "2023-10-20", "2023-10-21"),
    ],
)
def test_dates_are_read_against_now(text: str, start: str, end: str) -> None:
    intervals, _ = find_dates("What happened " + text, NOW)
    assert [(to_datetime(a).date().isoformat(), to_datetime(b).date().isoformat()) for a, b in intervals] == [
        (start, end)
    ]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("Was haben wir letzten Dienstag besprochen?", "2023-10-17", "2023-10-18"),
        ("Qu'est-ce que j'ai dit hier à ma sœur ?", "2023-10-21", "2023-10-22"),
        ("¿Qué te dije el 3 de junio de 2023 sobre la casa?", "2023-06-03", "2023-06-04"),
        ("昨天我说了什么？", "2023-10-21", "2023-10-22"),
    ],
)
def test_dates_are_read_in_the_language_of_the_question(text: str, start: str, end: str) -> None:
    intervals, _ = find_dates(text, NOW)
    assert [(to_datetime(a).date().isoformat(), to_datetime(b).date().isoformat()) for a, b in intervals] == [
        (start, end)
    ]


@pytest.mark.parametrize(
    "text", ["What do I have next Friday?", "What should I cook on Friday?", "Plans for tomorrow?"]
)
def test_times_to_come_name_no_interval(text: str) -> None:
    assert find_dates(text, NOW) == ([], [])


def test_dates_are_no_search_terms() -> None:
    assert analyse("What did we cook on 9 November, 2022?", now=NOW).terms == ("cook",)


@pytest.mark.parametrize("text", ["31 February", "May I go?", "the march of time", "room 2023", "2023-99-99"])
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert find_dates(text, NOW) == ([], [])


def test_the_whole_of_a_long_question_is_searched_in_any_script() -> None:
    query = analyse(
        "我" + "上个月在公司附近的咖啡馆里和老同学讨论搬家计划的时候" * 4 + "提到的那只叫豆包的橘猫后来怎么样了？"
    )
    assert {"豆包", "橘猫"} <= set(query.terms)


def test_a_question_in_several_parts_is_searched_part_by_part() -> None:
    query = analyse("Where did my sister move last year? And which doctor treats her allergy to hazelnuts?")
    assert [set(part) & {"sister", "hazelnut"} for part in query.parts] in (
        [{"sister"}, {"hazelnut"}],
        [{"hazelnut"}, {"sister"}],
    )
    assert analyse("Where did my sister move last year?").parts == ()


def test_a_question_about_the_assistants_words_is_told_apart() -> None:
    assert analyse("What hotel did you recommend?").asks_assistant
    assert not analyse("What hotel did I book?").asks_assistant


def test_how_something_is_done_is_no_personal_question() -> None:
    assert not analyse("How do I reverse a list in Python?").personal
    assert analyse("How do I take my coffee?").personal
    assert analyse("How do I like to travel?").personal
    assert analyse("What should I eat?").personal


def test_who_gets_what_the_assistant_makes_is_no_personal_question() -> None:
    assert not analyse("Tell me a joke.").personal
    assert not analyse("Write me a poem about autumn.").personal
    assert analyse("Tell me about the trip.").personal
    assert analyse("Tell me a story about my dog.").personal
    assert analyse("Give me a recipe for tonight.").personal  # what they like matters


@given(st.text(max_size=200), st.lists(st.text(max_size=20), max_size=4))
def test_any_text_can_be_asked(text: str, speakers: list[str]) -> None:
    query = analyse(text, speakers=speakers, now=NOW)
    assert query == analyse(text, speakers=speakers, now=NOW)
    assert all(start < end for start, end in query.dates)
