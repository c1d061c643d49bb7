"""The gate's benchmark finds a leak where there is one: with a mask that does nothing it reports the secrets."""

from __future__ import annotations

import random
from collections.abc import Collection

import pytest

from bench.gate import SEED, count_leaks, made_secrets
from memorist.gate import passing


def seeded() -> tuple[list[str], list[str]]:
    """A message for each kind of secret, and the secrets."""
    rows = list(made_secrets(random.Random(SEED)))[::10]
    return [f"Please note: {sentence}" for _, _, sentence in rows], [secret for _, secret, _ in rows]


def test_nothing_leaks() -> None:
    messages, secrets = seeded()
    stored, leaks = count_leaks(messages, secrets)
    assert stored == len(messages) == 20
    assert leaks == {"derived": 0, "index": 0, "log": 0, "export": 0}


def test_a_mask_that_does_nothing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(text: str, allowed: Collection[str] = (), patterns: object = None) -> tuple[str, list[str]]:
        return text, []

    monkeypatch.setattr(passing, "mask_secrets", leave)
    monkeypatch.setattr(passing, "find_secrets", lambda text, patterns=None: [])
    messages, secrets = seeded()
    _, leaks = count_leaks(messages, secrets)
    assert leaks["index"] == 20, "each term of a secret is looked for, because an index cuts them at punctuation"
    assert leaks["export"] >= 15
