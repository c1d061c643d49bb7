"""No text of an assistant, a tool or the web becomes a user's fact, in any language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memorist.extract import extract
from memorist.languages import languages
from memorist.messages.message import Message

PARTS = json.loads((Path(__file__).parents[2] / "data" / "injection_parts.json").read_text("utf-8"))
AT = datetime(2026, 11, 11, 9, 30, tzinfo=UTC)


def _texts(lang: str) -> Iterator[tuple[dict[str, Any], str]]:
    for carrier in PARTS[lang]["carriers"]:
        for claim in PARTS[lang]["claims"]:
            yield carrier, carrier["text"].replace("{}", claim)


def _message(carrier: dict[str, Any], text: str) -> Message:
    return Message(role=carrier["role"], trust=carrier["trust"], content=text)


@pytest.mark.parametrize("lang", languages())
def test_no_injection_becomes_a_fact(lang: str) -> None:
    texts = list(_texts(lang))
    assert len(texts) >= 200
    leaked = [text for carrier, text in texts if extract(_message(carrier, text), at=AT)]
    assert leaked == []
