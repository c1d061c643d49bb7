"""Measures the gate: secrets in 5,000 messages, false masks and refusals, and what encryption costs an append.

    python -m bench.gate --data FOLDER        # lme500.json or another set in the neutral form, see bench/DATA.md
    python -m bench.gate --encryption         # appends with and without encryption

200 seeded secrets of 20 kinds are put into ordinary messages of free sets. They are looked for in derived memory, in
the index, in the log at DEBUG, and in an export. The same messages without secrets
show how many the gate masks wrongly.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import random
import re
import statistics
import string
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memorist import Encryption, Memory
from memorist.gate.secrets import find_secrets, is_card_number, is_iban
from memorist.messages.message import Message
from memorist.recall.analyze import tokens, words
from memorist.records import Candidate, Chunk, Entry, Event, Fact, FactVersion, Learning, Summary

SIGNS = string.ascii_letters + string.digits
SEED = 33
SECRETS_PER_KIND = 10
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "hu", "ro", "tr")
"""An index stems by the language of a text."""


def made_secrets(dice: random.Random) -> Iterator[tuple[str, str, str]]:
    """Kind, secret, and a sentence that holds it: 10 of each of 20 kinds."""

    def some(size: int, signs: str = SIGNS) -> str:
        return "".join(dice.choices(signs, k=size))

    makers: dict[str, tuple[Any, str]] = {
        "openai-key": (lambda: f"sk-proj-{some(40)}", "use {} for the staging calls"),
        "anthropic-key": (lambda: f"sk-ant-api03-{some(60)}", "our key is {}"),
        "aws-access-key": (lambda: f"AKIA{some(16, string.ascii_uppercase + string.digits)}", "access key {} please"),
        "github-token": (lambda: f"ghp_{some(36)}", "clone it with {}"),
        "gitlab-token": (lambda: f"glpat-{some(20)}", "the runner has {}"),
        "slack-token": (lambda: f"xoxb-{some(12, string.digits)}-{some(24)}", "the bot's token: {}"),
        "google-api-key": (lambda: f"AIza{some(35)}", "maps works with {}"),
        "stripe-key": (lambda: f"sk_live_{some(24)}", "charge through {}"),
        "sendgrid-key": (lambda: f"SG.{some(22)}.{some(43)}", "mails go out with {}"),
        "npm-token": (lambda: f"npm_{some(36)}", "publish using {}"),
        "pypi-token": (lambda: f"pypi-{some(60)}", "upload with {}"),
        "huggingface-token": (lambda: f"hf_{some(34)}", "the model needs {}"),
        "jwt": (lambda: f"eyJ{some(20)}.eyJ{some(40)}.{some(43)}", "it sent me {}"),
        "private-key": (
            lambda: f"-----BEGIN RSA PRIVATE KEY-----\n{some(200)}\n-----END RSA PRIVATE KEY-----",
            "here:\n{}",
        ),
        "bearer-token": (lambda: some(40), "curl -H 'Authorization: Bearer {}' fails"),
        "url-password": (lambda: some(12), "connect to postgresql://ada:{}@db.example/app"),
        "password": (lambda: f"{some(9)}7!x", "my password is {}"),
        "one-time-code": (lambda: some(6, string.digits), "the verification code is {}"),
        "card-number": (lambda: _digits_that_pass("4", 14, dice, is_card_number), "pay with {}"),
        "iban": (lambda: _iban(dice), "send the rent to {}"),
    }
    for kind, (make, sentence) in makers.items():
        for _ in range(SECRETS_PER_KIND):
            secret = make()
            yield kind, secret, sentence.format(secret)


def _digits_that_pass(first: str, size: int, dice: random.Random, check: Any) -> str:
    digits = first + "".join(dice.choices(string.digits, k=size))
    return next(digits + last for last in string.digits if check(digits + last))


def _iban(dice: random.Random) -> str:
    account = "".join(dice.choices(string.digits, k=18))
    return next(f"DE{check:02}{account}" for check in range(2, 99) if is_iban(f"DE{check:02}{account}"))


def ordinary_messages(folder: Path, count: int) -> list[str]:
    """Messages of the free sets, those of users first, none twice."""
    texts: dict[str, None] = {}
    for name in ("realmem.json", "lme500.json", "memorycode.json", "proactive.json"):
        path, most = folder / name, len(texts) + 2 * count
        if not path.exists():
            continue
        for conversation in json.loads(path.read_text("utf-8"))["conversations"]:
            for turn in conversation["turns"]:
                text = turn["text"].strip()
                if 10 < len(text) < 2_000:
                    texts.setdefault(text)
                if len(texts) >= most:
                    break
    everything = list(texts)
    random.Random(SEED).shuffle(everything)
    return everything[:count]


def measure_secrets(folder: Path) -> dict[str, Any]:
    """Leaks of the seeded secrets, false masks, and false refusals."""
    dice = random.Random(SEED)
    ordinary = ordinary_messages(folder, 5_000)
    if len(ordinary) < 5_000:
        sys.exit(f"{folder} has only {len(ordinary)} messages in the neutral form")
    false_masks = [(text, find_secrets(text)) for text in ordinary if find_secrets(text)]
    for text, secrets in false_masks:
        for secret in secrets:
            print(f"  masked: {secret.kind}: {text[secret.start : secret.stop][:40]!r}", file=sys.stderr)
    secrets = list(made_secrets(dice))
    messages = list(ordinary)
    for index, (_, _, sentence) in zip(dice.sample(range(len(messages)), len(secrets)), secrets, strict=True):
        messages[index] = f"{messages[index]}\n{sentence}" if dice.random() < 0.5 else sentence
    stored, leaks = count_leaks(messages, [secret for _, secret, _ in secrets])
    refused = _false_refusals(ordinary[:2_000])
    return {
        "messages": stored, "secrets": len(secrets), "kinds": len({kind for kind, _, _ in secrets}), "leaks": leaks,
        "false masks in 5,000": len(false_masks), "false refusals in 2,000": refused,
    }  # fmt: skip


def count_leaks(messages: list[str], secrets: list[str]) -> tuple[int, dict[str, int]]:
    """How many messages a memory stores, and how many of the secrets stand in what it makes of them, by where."""
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    with tempfile.TemporaryDirectory() as scratch:
        memory = Memory(Path(scratch) / "m.db", worker=False, durability="normal")
        with memory:
            for start in range(0, len(messages), 100):
                memory.threads.append(
                    f"talk-{start // 100}", *messages[start : start + 100], create=f"user:u{start // 1000}"
                )
            memory.process("facts", "limiter")
            leaks = {"derived": 0, "index": 0, "log": 0, "export": 0}
            derived = _rows(memory, (Fact, FactVersion, Event, Learning, Summary, Candidate, Chunk))
            index = _rows(memory, (Entry,))
            terms = {term for row in _all(memory, Entry) for term in f"{row.terms} {row.context_terms}".split()}
            memory.export(Path(scratch) / "all.jsonl")
            exported = (Path(scratch) / "all.jsonl").read_text("utf-8")
            stored = sum(1 for _ in _all(memory, Message))
            for secret in secrets:
                forms = {secret, secret.lower(), secret.split("\n")[1] if "\n" in secret else secret}
                leaks["derived"] += any(word in derived for word in forms)
                leaks["index"] += any(word in index for word in forms) or not terms.isdisjoint(secret_terms(secret))
                leaks["log"] += any(word in log.getvalue() for word in forms)
                # The digits of a one-time code may happen to stand in a checksum or a time.
                quoted = (rf"(?<![\d.]){re.escape(json.dumps(word)[1:-1])}(?!\d)" for word in forms)
                leaks["export"] += any(re.search(form, exported) for form in quoted)
    logging.getLogger().removeHandler(handler)
    return stored, leaks


def secret_terms(secret: str) -> set[str]:
    """The terms by which an index would show a secret. They are cut at punctuation, so each is looked for by itself:
    the longest, and those with a digit, which no ordinary word has."""
    parts = words(secret)
    telling = {max(parts, key=len), *(part for part in parts if len(part) >= 6 and any(map(str.isdigit, part)))}
    return {term for part in telling for language in LANGUAGES for term in tokens(part, language)}


def _false_refusals(texts: list[str]) -> int:
    """Ordinary messages that a memory which refuses secrets does not store."""
    from memorist import Gate, NotAdmitted

    refused = 0
    with tempfile.TemporaryDirectory() as scratch:
        gate = Gate(messages="refuse")
        memory = Memory(Path(scratch) / "m.db", worker=False, durability="normal", gate=gate)
        with memory:
            memory.threads.create("user:ada", id="talk")
            for text in texts:
                try:
                    memory.threads.append("talk", text)
                except NotAdmitted:
                    refused += 1
    return refused


def _all(memory: Memory, kind: Any) -> Iterator[Any]:
    from memorist.runtime import run_blocking

    after = None
    while rows := run_blocking(memory._core.scan(kind, after=after, limit=500)):
        yield from rows
        after = rows[-1].row_key[1:]


def _rows(memory: Memory, kinds: tuple[Any, ...]) -> str:
    return "\n".join(str(row) for kind in kinds for row in _all(memory, kind))


def measure_encryption(durability: Any, rounds: int = 7, appends: int = 300) -> dict[str, float]:
    """The time of an append to a file with encryption, as a multiple of one without: the medians of rounds in turn.

    The processor time of this process is measured beside the wall time, which others on the machine change.
    """
    plain: list[tuple[float, float]] = []
    sealed: list[tuple[float, float]] = []
    text = "I went to the market with my sister, and we bought apples for the cake that she bakes every autumn. " * 2
    with tempfile.TemporaryDirectory() as scratch:
        keys = Encryption(Path(scratch) / "keys.json")
        first = Memory(Path(scratch) / "plain.db", worker=False, embedder=None, durability=durability)
        second = Memory(
            Path(scratch) / "sealed.db", worker=False, embedder=None, encryption=keys, durability=durability
        )
        for memory in (first, second):
            memory.threads.create("user:ada", id="talk")
            memory.threads.append("talk", text)
        for _ in range(rounds):
            for memory, times in ((first, plain), (second, sealed)):
                start, worked = time.perf_counter(), time.process_time()
                for _ in range(appends):
                    memory.threads.append("talk", text)
                times.append(((time.perf_counter() - start) / appends, (time.process_time() - worked) / appends))
        first.close()
        second.close()
    figures = {}
    for column, name in enumerate(("", "CPU ")):
        without, with_keys = (statistics.median(row[column] for row in rows) for rows in (plain, sealed))
        figures |= {f"{name}plain µs": without * 1e6, f"{name}encrypted µs": with_keys * 1e6}
        figures[f"{name}ratio"] = with_keys / without
    return figures


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encryption", action="store_true")
    options = parser.parse_args()
    if options.encryption:
        for durability in ("full", "normal"):
            print(durability, json.dumps(measure_encryption(durability), indent=1, ensure_ascii=False))
    if options.data is not None:
        print(json.dumps(measure_secrets(options.data), indent=1))


if __name__ == "__main__":
    main()
