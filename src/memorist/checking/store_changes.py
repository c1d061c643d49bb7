"""Changes the contents of a store by leaving out, ageing, duplicating or contradicting each of the user's facts and
messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from ..blocking.memory import Memory
from ..testing import FakeClock
from .cases import Case
from .running import Options, ask_case

AGE = timedelta(days=3650)
"""How far back an aged memory is dated."""
OTHER_VALUE = "Ulaanbaatar"
"""The text that replaces a value in a contradicting statement."""
Change = Callable[[Memory, FakeClock], object]
COPY_THREAD = "mutated-copy"
"""The thread for messages added by a change."""


def store_changes(case: Case) -> Iterator[tuple[str, str, Change]]:
    """Yield the changes to a case with a store: the changed record, the kind of change, and the function that makes
    it."""
    bare = msgspec.structs.replace(case, snapshot=False)
    with ask_case(bare, (), Options()) as request:
        namespace = f"user:{case.user}"
        facts = request.whole.facts.list(namespace)
        threads = request.whole.threads.list(namespace)
        messages = [message for thread in threads for message in request.whole.threads.messages(thread.id)]
    # Facts that were taken from a message go and change with it.
    for fact in (fact for fact in facts if not fact.sources):
        yield from ((f"{fact.key} = {fact.value}", name, change) for name, change in _fact_changes(fact))
    for message in (message for message in messages if message.role == "user"):
        yield from ((message.text, name, change) for name, change in _message_changes(namespace, message))


def _fact_changes(fact: Any) -> Iterator[tuple[str, Change]]:
    namespace, key, value = fact.ns, fact.key, fact.value

    def age(memory: Memory, clock: FakeClock) -> None:
        moment = clock()
        memory.forget(fact=(namespace, key))
        clock.set(moment - AGE)
        memory.facts.set(namespace, key, value)
        clock.set(moment)

    yield "left out", lambda memory, clock: memory.forget(fact=(namespace, key))
    yield "aged", age
    yield "duplicated", lambda memory, clock: memory.facts.set(namespace, f"{key}.copy", value)
    yield "contradicted", lambda memory, clock: memory.facts.set(namespace, key, OTHER_VALUE)


def _message_changes(namespace: str, message: Any) -> Iterator[tuple[str, Change]]:
    def say(text: str, ago: object = None) -> Change:
        def append(memory: Memory, clock: FakeClock) -> None:
            at = clock() if ago is None else message.created_at - ago
            row = {"role": "user", "content": text, "created_at": at}
            memory.threads.append(COPY_THREAD, row, create=namespace)
            memory.jobs.drain()

        return append

    def age(memory: Memory, clock: FakeClock) -> None:
        memory.forget(message=message.id)
        say(message.text, AGE)(memory, clock)

    yield "left out", lambda memory, clock: memory.forget(message=message.id)
    yield "aged", age
    yield "duplicated", say(message.text)
    yield "contradicted", say(contradict(message.text, message.created_at))


def contradict(text: str, at: datetime) -> str:
    """Return a text that contradicts another one. It replaces the longest value that the rules extract, or says that
    the text is wrong."""
    from ..extract.extractor import extract

    values = {str(item.value) for item in extract(text, at=at) if item.kind == "fact"}
    inside = sorted((value for value in values if value and value in text), key=len, reverse=True)
    return text.replace(inside[0], OTHER_VALUE) if inside else f"That is wrong: {text}"
