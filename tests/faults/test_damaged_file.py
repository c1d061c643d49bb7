"""Bit flips, zeroed pages and truncation: a typed error or the right answer, never a wrong one."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from memorist import CorruptRecord, Memory, StoreError
from memorist.runtime import run_blocking
from memorist.stores.base import Diagnoses
from memorist.stores.codec import decoded
from tests.faults.clients import SOAK

TIMES = 10_000 if SOAK else 200
PAGE = 4096
MESSAGES = 80


def _open(path: Path) -> Memory:
    return Memory(path, embedder=None, counter="estimate", durability="normal")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a file with messages and facts, all in the main file."""
    path = tmp_path_factory.mktemp("sound") / "memory.db"
    with _open(path) as memory:
        memory.threads.create("global", id="t")
        for n in range(1, MESSAGES + 1):
            memory.threads.append("t", _text(n))
            memory.facts.set("global", f"k{n:03}", _text(n))
    return path.read_bytes()


def _text(n: int) -> str:
    return f"content {n} " + random.Random(n).randbytes(100).hex()


def _flip(data: bytearray, dice: random.Random) -> None:
    for _ in range(dice.choice((1, 1, 8))):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def _zero(data: bytearray, dice: random.Random) -> None:
    page = dice.randrange(len(data) // PAGE)
    data[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)


def _truncate(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(len(data)) :]


DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (_flip, _flip, _zero, _truncate)


class Answers:
    """What a damaged file said that is not so."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.missing: list[str] = []

    def ask(self, question: Callable[[], object], right: object, what: str) -> None:
        """Compare an answer with the right one; a typed error is a fine answer."""
        try:
            answer = question()
        except (StoreError, LookupError):
            return
        if answer is None:
            self.missing.append(what)
        elif answer != right:
            self.wrong.append(what)


def _questioned(path: Path) -> Answers:
    answers = Answers()
    try:
        memory = _open(path)
    except StoreError:
        return answers
    with memory:
        for n in range(1, MESSAGES + 1):
            answers.ask(partial(_message, memory, n), _text(n), f"t#{n}")
            answers.ask(partial(_fact, memory, n), _text(n), f"k{n:03}")
        answers.ask(partial(_recent, memory), [_text(n) for n in (79, 80)], "recent")
        if answers.missing and not _found_damaged(memory):
            answers.wrong += answers.missing
    return answers


def _message(memory: Memory, n: int) -> str | None:
    message = memory.threads.message(f"t#{n}")
    return message and message.text


def _fact(memory: Memory, n: int) -> str | None:
    fact = memory.facts.get("global", f"k{n:03}")
    return fact and fact.value


def _recent(memory: Memory) -> list[str] | None:
    texts = [message.text for message in memory.threads.recent("t", 2)]
    older = texts != [_text(79), _text(80)] and set(texts) <= {_text(n) for n in range(1, MESSAGES + 1)}
    return None if older else texts


def _found_damaged(memory: Memory) -> bool:
    """Whether a thorough look at the file finds the damage."""
    store = memory._core.store
    assert isinstance(store, Diagnoses)
    try:
        return bool(run_blocking(store.diagnose(deep=True))["problems"])
    except StoreError:
        return True


def _damaged(sound: bytes, folder: Path, number: int) -> Path:
    dice = random.Random(number)
    data = bytearray(sound)
    DAMAGES[number % len(DAMAGES)](data, dice)
    path = folder / f"{number}.db"
    path.write_bytes(bytes(data))
    return path


def test_a_damaged_file_never_gives_a_wrong_answer(sound: bytes, ram_path: Path) -> None:
    answers_by_number = {number: _questioned(_damaged(sound, ram_path, number)) for number in range(TIMES)}
    assert {number: answers.wrong for number, answers in answers_by_number.items() if answers.wrong} == {}
    # A flipped bit in a branch of the tree can hide rows, which no checksum of a row can see; it is rare, and a deep
    # look finds each of them.
    assert sum(bool(answers.missing) for answers in answers_by_number.values()) <= TIMES // 20


def _cell(data: bytes, seq: int) -> tuple[int, int]:
    """The page of the index where a message's entry is, and its place there."""
    entry = b"defaultt" + bytes([seq, seq])  # org, thread, number, and the row, which has the same number here
    assert data.count(entry) == 1
    page, offset = divmod(data.index(entry) - 6, 8192)  # a size and five bytes of types stand before it
    return page * 8192, offset


def _led_astray(sound: bytes) -> bytes:
    """The index of the messages, searched for one number, finds the entry of another."""
    (page, own_offset), (same, other) = _cell(sound, 25), _cell(sound, 31)
    assert page == same
    start, end = page + 8, page + 8 + 2 * int.from_bytes(sound[page + 3 : page + 5])  # as many places as entries
    places = sound[start:end]
    at = next(i for i in range(0, len(places), 2) if places[i : i + 2] == own_offset.to_bytes(2))
    return sound[: start + at] + other.to_bytes(2) + sound[start + at + 2 :]


def test_an_index_that_leads_to_another_row_is_an_error(
    sound: bytes, ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ram_path / "astray.db"
    path.write_bytes(_led_astray(sound))
    assert _questioned(path).wrong == []
    monkeypatch.setattr("memorist.stores.sqlite.store._raise_misplaced", lambda kind, key: None)
    path.write_bytes(_led_astray(sound))
    assert _questioned(path).wrong, "without the check it answers with another message"


def test_the_harness_sees_a_store_without_checksums(
    sound: bytes, ram_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorist.stores.sqlite.rows.Reader._checking", lambda self, kind: partial(decoded, kind))
    assert any(_questioned(_damaged(sound, ram_path, number)).wrong for number in range(0, TIMES, 2))


@pytest.mark.parametrize("deep", [False, True])
def test_doctor_reports_a_zeroed_page_wherever_it_is(sound: bytes, ram_path: Path, deep: bool) -> None:
    path, silent, reported = ram_path / "memory.db", list[int](), 0
    for page in range(1, len(sound) // PAGE):
        data = bytearray(sound)
        data[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
        if data == sound:
            continue
        path.write_bytes(data)
        try:
            with _open(path) as memory:
                reported += bool(problems := memory.doctor(deep=deep).problems)
                if not problems:
                    silent.append(page)
        except CorruptRecord as refused:  # without its schema the file cannot be opened
            assert "while opening it" in str(refused)
        finally:
            for name in ("memory.db-wal", "memory.db-shm"):
                (ram_path / name).unlink(missing_ok=True)
    assert silent == []
    assert reported > 50
