"""Long tool output is shortened by its structure, never in the middle of a value."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from decimal import Decimal

import pytest

from memorist.context.outline import MAX_LINE_CHARACTERS, outline, reading_lines
from memorist.types import open_counter

COUNTER = open_counter()
USERS = [{"id": n, "name": f"User {n}", "tags": ["a", "b"], "about": "long " * 200} for n in range(500)]
CODE = "\n".join(
    f"def function_{n}(first: int, second: str) -> None:\n    total = first * {n}\n    return total\n"
    for n in range(200)
)
LOG = "\n".join(
    "ERROR disk sdb is full" if n == 700 else f"2026-11-17 10:{n % 60:02} INFO request {n} took {n % 90} ms"
    for n in range(2_000)
)
TABLE = "\n".join(["id,name,amount", *(f"{n},customer {n},{n * 3}" for n in range(1_500))])


def test_json_shows_keys_samples_and_how_much_is_left_out() -> None:
    short = outline(json.dumps({"page": 1, "users": USERS}), 300, COUNTER)
    value = json.loads(short.text)
    assert short.form == "json" and value["page"] == 1
    assert value["users"][0]["name"] == "User 0" and value["users"][-1]["name"] == "User 499"
    assert value["users"][0]["about"] == "(text of 1,000 characters)" and "more)" in str(value["users"])


def test_a_table_shows_its_header_and_its_first_and_last_rows() -> None:
    short = outline(TABLE, 200, COUNTER)
    lines = short.text.splitlines()
    assert short.form == "table" and lines[0] == "1: id,name,amount" and lines[-1] == "1501: 1499,customer 1499,4497"
    assert any("lines left out" in line for line in lines)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_quoted_value_over_several_lines_is_never_cut(separator: str) -> None:
    notes = [
        [str(n), f"customer {n}", f'She said "no{separator} never":\n\nline two of {n}\nline three'] for n in range(200)
    ]
    file = io.StringIO()
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows([["id", "name", "note"], *notes])
    for limit in (120, 121, 133, 200, 400):
        short = outline(file.getvalue(), limit, COUNTER)
        parts = re.split(r"… [\d,]+ lines left out …\n?", short.text)
        text = "".join(re.sub(r"^\d+: ?", "", part, flags=re.M) for part in parts if part)
        rows = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
        assert short.form == "table" and COUNTER.count(short.text) <= limit
        assert rows[0] == ["id", "name", "note"] and rows[1] == notes[0] and rows[-1] == notes[-1]
        assert all(row in notes for row in rows[1:])


def test_a_quotation_mark_in_the_text_does_not_join_rows() -> None:
    rows = [f'{n},"{n} inch" pipe,{n}' for n in range(300)]
    lines = outline("\n".join(["id,name,amount", *rows]), 200, COUNTER).text.splitlines()
    assert lines[0] == "1: id,name,amount" and lines[1] == f"2: {rows[0]}" and lines[-1] == f"301: {rows[-1]}"


def test_a_quoted_value_that_is_too_long_is_only_mentioned() -> None:
    rows = ["id,name,note", *(f'{n},"a","{"word " * 300}\n{"word " * 300}"' for n in range(20))]
    assert outline("\n".join(rows), 200, COUNTER).text.splitlines()[1].startswith("2: (2 lines of 3,0")


def test_numbers_of_json_keep_their_digits() -> None:
    short = outline(
        '{"exact":0.12345678901234567890,"huge":1e400,"rows":[' + ",".join(["1.10"] * 900) + "]}", 100, COUNTER
    )
    assert short.form == "json" and "0.12345678901234567890" in short.text and "[1.10," in short.text
    assert json.loads(short.text, parse_float=Decimal)["huge"] == Decimal("1e400")


def test_a_log_shows_lines_that_do_not_repeat() -> None:
    short = outline(LOG, 200, COUNTER)
    assert short.form == "log" and "701: ERROR disk sdb is full" in short.text


def test_the_line_that_differs_is_shown_even_with_little_room() -> None:
    lines = [f"2026-11-18T10:00:{n:02} INFO worker {n} processed job {n * 7}" for n in range(60)]
    lines[33] += " and FAILED"
    short = outline("\n".join(lines), 100, open_counter())
    assert short.form == "log" and lines[0] in short.text and lines[33] in short.text and lines[-1] in short.text


def test_code_shows_signatures() -> None:
    short = outline(CODE, 400, COUNTER)
    assert short.form == "code" and "1: def function_0(first: int, second: str) -> None:" in short.text
    assert "total = first" not in short.text.split("left out", 1)[0]


def test_a_signature_or_a_string_over_several_lines_is_never_cut() -> None:
    functions = [
        f"def function_{n}(\n    first: tuple[int, ...] = (1, 2),\n    second: str = '',\n) -> None:\n"
        f'    """Do {n}.\n\n    At length.\n    """\n    total = first * {n}\n'
        for n in range(60)
    ]
    for limit in (100, 140, 180, 220, 260, 300):
        short = outline("\n".join(functions), limit, COUNTER)
        text = re.sub(r"^\d+: ?", "", short.text, flags=re.M)
        assert short.form == "code" and "first: tuple" in text
        assert text.count("def ") == text.count("first: tuple") == text.count(") -> None:")
        assert text.count('"""') == 2 * text.count("At length.")


@pytest.mark.parametrize("seed", range(30))
def test_any_text_is_shortened_to_whole_lines_within_the_limit(seed: int) -> None:
    chance = random.Random(seed)
    source = chance.choice(
        [LOG, TABLE, CODE, "\n".join(chance.choice("abc") * chance.randrange(3_000) for _ in range(90))]
    )
    lines = source.splitlines()
    chance.shuffle(lines)
    text = "\n".join(lines[: chance.randrange(60, len(lines) + 1)])
    limit = chance.choice([60, 150, 600])
    short = outline(text, limit, COUNTER)
    assert COUNTER.count(short.text) <= limit or short.text.count("\n") <= 1
    whole = {f"{n}: {line.rstrip()}" for n, line in enumerate(reading_lines(text), 1)}
    for line in short.text.splitlines():
        assert line in whole or "left out" in line or "(a line of" in line or short.text == text


def test_lines_have_the_numbers_under_which_they_are_read_back() -> None:
    lines = [f"INFO row {n}" for n in range(300)]
    lines[3], lines[200] = "x" * 9_000, "ERROR disk full"
    lines_shown = outline("\n".join(lines), 150, COUNTER).text.splitlines()
    number = next(int(line.partition(":")[0]) for line in lines_shown if "ERROR" in line)
    assert reading_lines("\n".join(lines))[number - 1] == "ERROR disk full" and number == 205


@pytest.mark.parametrize(
    ("text", "head", "tail"),
    [
        ("It began. " + "The harbour is closed. " * 2_000 + "It ended.", "It began. The harbour", "closed. It ended."),
        ("首先。" + "港口关闭了。" * 9_000 + "结束。", "首先。港口关闭了。", "港口关闭了。结束。"),
        ("<r><id>1</id>" + "<v>7</v>" * 9_000 + "<id>2</id></r>", "<r><id>1</id><v>7</v>", "<v>7</v><id>2</id></r>"),
        ("first " + "word " * 9_000 + "last", "first word", "word last"),
    ],
    ids=["sentences", "without spaces", "tags", "words"],
)
def test_text_in_one_long_line_shows_its_beginning_and_end(text: str, head: str, tail: str) -> None:
    for limit in (60, 125, 1_000):
        short = outline(text, limit, COUNTER)
        first, gap, last = short.text.splitlines()
        assert first.startswith(head) and last.endswith(tail) and COUNTER.count(short.text) <= limit
        omitted = int(gap.split()[1].replace(",", ""))
        assert 0 <= omitted - (len(text) - len(first) - len(last)) <= 2 and text.startswith(first)
    assert outline("A" * 40_000, 125, COUNTER).text == "… 40,000 characters left out …"


def test_long_lines_are_read_back_in_parts_and_json_indented() -> None:
    assert all(len(line) <= MAX_LINE_CHARACTERS for line in reading_lines("x" * 10_000 + "\n" + "word " * 3_000))
    assert "".join(reading_lines("word " * 3_000)) == "word " * 3_000
    assert '  "name": "User 7",' in reading_lines(json.dumps(USERS))
