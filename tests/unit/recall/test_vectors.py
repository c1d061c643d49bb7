"""The vector arm."""

from __future__ import annotations

import numpy as np
import pytest

from memorist.errors import CorruptRecord, UsageError
from memorist.recall.vectors import VectorIndex, decode, encode, encode_many


def cloud(count: int, dimensions: int = 64, seed: int = 0) -> np.ndarray:
    """Unit vectors in some clusters, as texts are."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, dimensions))
    rows = centres[rng.integers(0, 20, count)] + 0.7 * rng.normal(size=(count, dimensions))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def test_a_vector_survives_its_bytes() -> None:
    rows = cloud(10)
    for row, data in zip(rows, encode_many(rows), strict=True):
        assert data == encode(row)
        assert len(data) == 64 + 4
        assert decode(data) @ row == pytest.approx(1, abs=5e-3)
    assert decode(encode(np.zeros(8))).tolist() == [0] * 8


def test_damaged_bytes_are_an_error() -> None:
    index: VectorIndex[int] = VectorIndex(64)
    with pytest.raises(CorruptRecord):
        decode(b"abc")
    with pytest.raises(CorruptRecord):
        index.add_encoded([1], [b"too short"])


def test_vectors_of_another_size_are_refused() -> None:
    index: VectorIndex[int] = VectorIndex(64)
    with pytest.raises(UsageError, match="3 dimensions"):
        index.add([1], [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize("exact", [100_000, 100])
def test_the_nearest_come_first(exact: int) -> None:
    rows = cloud(3000)
    index: VectorIndex[int] = VectorIndex(64, exact=exact, sketch=32)
    index.add(range(3000), rows)
    hits = 0
    for q in cloud(20, seed=5):
        true = np.argsort(-(rows @ q))[:10].tolist()
        nearest = index.search(q, 10)
        assert nearest.cosines.tolist() == sorted(nearest.cosines.tolist(), reverse=True)
        hits += len(set(true) & set(nearest.keys))
    assert hits >= 0.95 * 200


def test_stored_bytes_and_floats_give_the_same_answer() -> None:
    rows = cloud(300)
    from_floats: VectorIndex[int] = VectorIndex(64)
    from_bytes: VectorIndex[int] = VectorIndex(64)
    from_floats.add(range(300), rows)
    from_bytes.add_encoded(range(300), encode_many(rows))
    assert from_floats.search(rows[7], 20).keys == from_bytes.search(rows[7], 20).keys
    assert from_floats.search(rows[7], 1).keys == [7]


@pytest.mark.parametrize("exact", [100_000, 100])
def test_the_mask_is_applied_before_the_cut(exact: int) -> None:
    rows = cloud(2000)
    index: VectorIndex[int] = VectorIndex(64, exact=exact)
    index.add(range(2000), rows)
    allowed = list(range(0, 2000, 100))
    keys = index.search(rows[3], 10, mask=np.isin(np.arange(2000), allowed)).keys
    assert len(keys) == 10
    assert set(keys) <= set(allowed)
    assert index.search(rows[3], 10, mask=np.zeros(2000, np.bool_)).keys == []


@pytest.mark.parametrize("exact", [100_000, 50])
def test_removed_vectors_are_gone_and_the_others_stay_findable(exact: int) -> None:
    rows = cloud(400)
    index: VectorIndex[int] = VectorIndex(64, exact=exact)
    index.add(range(400), rows)
    assert index.remove([*range(0, 400, 2), 9999]) == 200
    assert len(index) == 200
    for key in range(400):
        assert (index.search(rows[key], 1).keys == [key]) == (key % 2 == 1)
    assert not index._codes[200:400].any()


def test_replacing_moves_a_vector() -> None:
    rows = cloud(200)
    index: VectorIndex[int] = VectorIndex(64, exact=50)
    index.add(range(100), rows[:100])
    index.add([5], rows[150:151])
    assert len(index) == 100
    assert index.search(rows[150], 1).keys == [5]


def test_an_empty_index_finds_nothing() -> None:
    index: VectorIndex[int] = VectorIndex(4)
    assert index.search([1, 0, 0, 0], 5).keys == []


@pytest.mark.parametrize("allowed", [1.0, 0.3, 0.0002])
def test_the_best_of_very_many_are_those_of_a_full_sort(allowed: float) -> None:
    rng = np.random.default_rng(11)
    vectors = rng.standard_normal((70_000, 4)).astype(np.float32)
    index: VectorIndex[int] = VectorIndex(4, exact=100_000)
    index.add(range(70_000), vectors)
    mask = rng.random(70_000) < allowed
    everything = index.search(vectors[0], 70_000, mask=mask)
    assert index.search(vectors[0], 50, mask=mask).keys == everything.keys[:50]
    assert len(everything.keys) == mask.sum()
