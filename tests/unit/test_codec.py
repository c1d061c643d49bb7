"""Records to rows and back."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.errors import CorruptRecord, InvalidValue
from memorist.messages.message import Message
from memorist.ports import to_datetime, to_micros
from memorist.records import Fact, Record
from memorist.stores.codec import codec, decoded, kinds
from memorist_testing.samples import bare, fact, full, message


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_record_survives_its_row(kind: type[Record]) -> None:
    for record in (full(kind, "org"), bare(kind, "org")):
        row = codec(kind).encode(record)
        assert all(cell is None or type(cell) in (str, int, float, bytes) for cell in row)
        assert decoded(kind, row) == record


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_a_key_begins_with_the_org_and_an_index_holds_all_of_it(kind: type[Record]) -> None:
    names = {column.name for column in codec(kind).columns}
    assert kind.table.key[0] == "org"
    assert set(kind.table.key) <= names
    for index in kind.table.indexes.values():
        assert set(index) <= names
        assert set(kind.table.key) <= set(index), "two rows could share a place in it"


@given(st.integers(-(2**52), 2**53 + 2**40))
@example(8_999_999_999_999_999)
@example(2**33 * 1_000_000 - 1)
def test_every_moment_comes_back_to_the_microsecond(micros: int) -> None:
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    assert to_datetime(micros) == when
    assert to_micros(when) == micros
    row = codec(Fact).encode(msgspec.structs.replace(fact("o"), created_at=when))
    assert decoded(Fact, row).created_at == when


@pytest.mark.parametrize(("value", "stored"), [(5, 5.0), (0.1, 0.1), (-0.0, 0.0), (True, 1.0), (2**53, 2.0**53)])
def test_a_real_is_always_a_float_without_minus_zero(value: float, stored: float) -> None:
    row = codec(Message).encode(message("o", "x", importance=value))
    cell = row[codec(Message).position_of["importance"]]
    assert type(cell) is float
    assert str(cell) == str(stored)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 10**400, "high"])
def test_a_real_that_is_no_number_is_refused(bad: object) -> None:
    with pytest.raises(InvalidValue):
        codec(Fact).encode(msgspec.structs.replace(fact("o"), confidence=bad))


def test_a_changed_cell_changes_the_checksum() -> None:
    row = codec(Fact).encode(fact("o", value={"a": 1}))
    sums = [codec(Fact).sum((*row[:index], "changed", *row[index + 1 :])) for index in range(len(row))]
    assert codec(Fact).sum(row) not in sums and len(set(sums)) == len(row)


def test_a_row_that_cannot_be_read_is_corrupt() -> None:
    row = list(codec(Fact).encode(fact("o")))
    row[codec(Fact).position_of["value"]] = "{broken"
    with pytest.raises(CorruptRecord):
        decoded(Fact, tuple(row))
    row[codec(Fact).position_of["created_at"]] = 10**30
    with pytest.raises(CorruptRecord):
        decoded(Fact, tuple(row))
