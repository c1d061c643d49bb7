"""How values look: times as one says them, no JSON in cells, tables that fit, colours only where they are wanted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memorist.cli.display import ago, cell, fitted, human, measure, pairs, table, wrap

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("past", "text"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=3), "3 min ago"),
        (timedelta(hours=5), "5 h ago"),
        (timedelta(days=2), "2 d ago"),
        (timedelta(days=40), "07 Oct"),
        (timedelta(days=400), "12 Oct 2025"),
        (timedelta(seconds=-20), "in a moment"),
        (timedelta(hours=-1.2), "in 1 h"),
    ],
)
def test_times_are_said_from_now(past: timedelta, text: str) -> None:
    assert ago(NOW - past, NOW) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (1.0, "1"),
        (0.8571428, "0.857"),
        ({"street": "Rua 1", "tags": ["home", "work"]}, "street: Rua 1, tags: [home, work]"),
        ([1, 2], "1, 2"),
        ([], ""),
        ("0sg5xz0m181cygqj1pnh", "…ygqj1pnh"),
        ("095e65d34c13ba63ae149f12", "…ae149f12"),
        ("planning", "planning"),
        ("a\x1b[31mb\x07", "a\\x1b[31mb\\x07"),
        ({"\x1b": "\x9b"}, "\\x1b: \\x9b"),
    ],
)
def test_values_are_words_and_not_json(value: Any, text: str) -> None:
    assert human(value, now=NOW) == text


ROWS = [
    {
        "id": f"0sg5xz0m181cygqj1pn{number}",
        "text": "We launch on 3 March, and everyone who has ever heard of it is invited to come along. " * 2,
        "why": "text, session, form",
        "wide": "データベースの移行を三月三日に行います",
        "count": 12_345,
        "empty": None,
        "created_at": NOW,
    }
    for number in range(3)
]


@pytest.mark.parametrize("room", [60, 80, 100, 200])
def test_tables_fit_and_lose_nothing(room: int, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(room))
    table(ROWS, ("id", "text", "why", "wide", "count", "empty", "created_at"))
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert max(map(measure, lines)) <= room and all(line == line.rstrip() for line in lines)
    assert "empty" not in lines[0] and lines[0].split() == ["id", "text", "why", "wide", "count", "created"]
    unspaced = "".join(out.split())
    assert all(word in unspaced for word in ("invited", "12345", "…qj1pn0"[-6:]))
    pairs([("text", ROWS[0]["text"]), ("created_at", NOW)])
    assert max(map(measure, capsys.readouterr().out.splitlines())) <= room


def test_columns_are_aligned(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table([{"name": "é́", "n": 1}, {"name": "データ", "n": 100}], ("name", "n"))
    lines = capsys.readouterr().out.splitlines()
    assert [measure(line) for line in lines] == [11, 11, 11]


def test_wrapping_breaks_at_spaces_and_long_words_anywhere() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("データベース", 5) == ["デー", "タベ", "ース"]
    assert wrap("", 5) == [""]


def test_the_widest_columns_give_way_together() -> None:
    assert fitted([5, 60, 60], 69) == [5, 30, 30]
    assert fitted([5, 6], 80) == [5, 6]


def test_colours_obey_the_environment(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    rows = [{"status": "dead", "id": "t"}]
    monkeypatch.setenv("FORCE_COLOR", "1")
    table(rows, ("id", "status"))
    assert "\x1b[31mdead" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    table(rows, ("id", "status"))
    assert "\x1b" not in capsys.readouterr().out


def test_cells_hold_no_escape() -> None:
    assert cell("\x1b]0;title\x07") == "\\x1b]0;title\\x07" and cell({"a": "\x1b"}) == "a: \\x1b"
