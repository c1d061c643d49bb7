"""Finds the stage at which a text was lost on its way from the message to the prompt."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Literal

import msgspec

from ..engine.sessions.assembling import Recall, max_items
from .request import CaseRequest, plain, shorten

Stage = Literal["never stored", "not extracted", "not retrieved", "ranked out", "below the floor", "over budget"]
MAX_HITS = 300
"""The lowest rank at which to look for an item."""


class Loss(msgspec.Struct, frozen=True):
    """Describes where a text was lost: the stage, what was found there, and the commands that reproduce the loss."""

    stage: Stage | None
    """This is None if the request says the same in other words."""
    detail: str
    commands: tuple[str, ...] = ()


def find_loss(request: CaseRequest, text: str) -> Loss:
    """Return the stage at which a text was lost. If several records contain it, the one that got furthest counts."""
    for judge in (_in_context, _in_profile, _in_history, _in_ranking):
        loss = judge(request, text)
        if loss is not None:
            return loss
    carriers = list(find_carriers(request, text))
    if not carriers:
        reader = request.memory.user or request.case.user
        return Loss(
            "never stored", f"no record that {reader} can read contains it",
            (memorist_command(request, "threads", "list"), memorist_command(request, "memories", "list")),
        )  # fmt: skip
    indexed = [carrier for carrier in carriers if _is_indexed(request, carrier)]
    if not indexed:
        return not_extracted(request, carriers[0].text, "it is stored, but no memory was extracted from it")
    return Loss(
        "not retrieved", f"recall does not find {indexed[0]} for this question",
        (memorist_command(request, "recall", request.case.ask, "--top", str(MAX_HITS), "--min-score", "0"),),
    )  # fmt: skip


def not_extracted(request: CaseRequest, text: str, detail: str) -> Loss:
    """Return the loss of a statement that is in a message but not in any memory."""
    return Loss(
        "not extracted", f"{detail}: {shorten(text)!r}", (f"memorist extract {shlex.quote(text)} --explain",)
    )  # fmt: skip


class Carrier(msgspec.Struct, frozen=True):
    """Represents a record that contains a text."""

    kind: str
    id: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {self.id}: {shorten(self.text)!r}"


def find_carriers(request: CaseRequest, text: str) -> Iterator[Carrier]:
    """Yield the messages, memories and documents that contain a text and that the user who asks may read."""
    memory, needle = request.memory, plain(text)
    for namespace in memory.namespaces():
        for thread in memory.threads.list(namespace):
            for message in memory.threads.messages(thread.id):
                if needle in plain(message.text):
                    yield Carrier("message", message.id, message.text)
        for item in memory.memories.list(ns=namespace, limit=None):
            if needle in plain(f"{item.text} {item.value}"):
                yield Carrier(item.kind, f"{namespace}/{item.id}", item.text)
        for document in memory.documents.list(namespace):
            if needle in plain(document.text):
                yield Carrier("document", document.id, document.text)


def _in_context(request: CaseRequest, text: str) -> Loss | None:
    """Return what the assembly did with a recalled item."""
    fates = [fate for fate in request.context.recalled if plain(text) in plain(fate.item.text)]
    for fate in fates:
        if fate.double:
            return Loss(None, f"{fate.item.source} was recalled and is {fate.reason}, in other words")
    if not fates:
        return None
    fate = fates[0]
    reason = "shortened to a passage without it" if fate.fate != "dropped" else f"dropped, {fate.reason}"
    return _over_budget(request, f"{fate.item.kind} {fate.item.source} was recalled, then {reason}")


def _in_profile(request: CaseRequest, text: str) -> Loss | None:
    """Return whether the text is in a line of the profile that did not fit."""
    if request.memory.user is None or not request.context.account.profile_dropped:
        return None
    lines = request.memory.profile.block(max_tokens=100_000)
    line = next((line for line in lines if plain(text) in plain(line.text)), None)
    return None if line is None else _over_budget(request, f"the profile had no room for {line.text!r}")


def _in_history(request: CaseRequest, text: str) -> Loss | None:
    """Return whether the text is in a message of the continued thread that was left out of the request."""
    if request.thread is None:
        return None
    for message in request.memory.threads.messages(request.thread):
        if plain(text) in plain(message.text):
            return _over_budget(request, f"message {message.id} of the thread was left out of the history")
    return None


def _over_budget(request: CaseRequest, detail: str) -> Loss:
    budget = request.context.account.budget_tokens
    return Loss("over budget", f"{detail}; the budget is {budget:,} tokens", (context_command(request),))


def _in_ranking(request: CaseRequest, text: str) -> Loss | None:
    """Return the rank of the best hit that contains the text, and whether the request includes hits of that rank."""
    hits = request.memory.recall(request.case.ask, top_k=MAX_HITS, min_score=0.0)
    rank = next((rank for rank, hit in enumerate(hits) if plain(text) in plain(hit.text)), None)
    if rank is None:
        return None
    hit = hits[rank]
    limit = max_items(request.budget)
    commands = (memorist_command(request, "recall", request.case.ask, "--top", str(rank + 1), "--min-score", "0"),)
    name = f"{hit.kind} {hit.id}"
    if rank >= limit:
        return Loss("ranked out", f"{name} is number {rank + 1}; the request includes at most {limit}", commands)
    unfloored = request.memory.context(request.case.ask, budget=request.budget, recall=Recall(min_score=0.0))
    if any(plain(text) in plain(fate.item.text) for fate in unfloored.recalled):
        detail = f"{name} does not reach the relevance floor for this question (score {hit.score:.5f})"
        return Loss("below the floor", detail, commands)
    return Loss("ranked out", f"{name} is number {rank + 1}, but it repeats the question or another result", commands)


def _is_indexed(request: CaseRequest, carrier: Carrier) -> bool:
    """Return whether recall finds a record by its own words."""
    hits = request.memory.recall(carrier.text[:500], top_k=50)
    return any(plain(carrier.text)[:200] in plain(hit.text) or hit.id in carrier.id for hit in hits)


def context_command(request: CaseRequest) -> str:
    """Return the command that assembles the request of a case."""
    budget = str(request.context.account.budget_tokens)
    return memorist_command(request, "context", *request.words, "--budget", budget)


def memorist_command(request: CaseRequest, *words: str) -> str:
    """Return a command that reads the store of a case, as the user who asks."""
    user = () if request.memory.user is None else ("--user", request.memory.user)
    return shlex.join(["memorist", "--url", request.store, *words, *user])
