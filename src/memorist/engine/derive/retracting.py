"""Carries out requests to forget ("Forget that I …") by finding the memories and messages that a request is about.

Nothing is deleted: facts, learnings and events end, and the messages behind them are marked, so that recall shows that
they were retracted. An ended version under `forgotten.<words>` records what the request did, and `facts.unforget`
undoes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from ...extract.keys import slug
from ...kinds import MEMORIES, MemoryRecord, message_ref
from ...messages.message import Message, split_message_id, text_parts
from ...records import Entry, Fact, FactVersion, Learning, Link, Ref, view_of
from ...stores.base import Change, Delete, EntryFilter, Expect, Load, Put
from ..core import Core
from ..facts.facts import FORGOTTEN
from ..index_jobs import index_job
from ..learnings import content_terms
from ..memories import NOUNS
from .progress import BatchResult

if TYPE_CHECKING:
    from ...extract.extracted import Extracted
    from ...extract.writer.checks import Note

Items = Sequence[tuple["Extracted", Message]]
"""What the rules have extracted, each item with the message that contains it."""

MAX_MARKED_MESSAGES = 12
"""The maximum number of messages that one request marks."""
MIN_SHARE = 0.5
"""The share of a request's words that a message must contain to be considered related to it."""
MIN_SCORE = 0.01
"""The minimum relevance, as computed by recall."""
RECENT_MESSAGES = 8
"""People often ask to forget something that was just discussed, so a message right before a request only has to share a
word with it."""
SEARCHED_MESSAGES = 40
MAX_OWN_MARKED_MESSAGES = 1000
"""The maximum number of messages that a request to forget everything marks, newest first."""
MAX_BEFORE = 24
"""How many earlier messages in the thread to search for the one that "forget this" refers to."""
CURRENT = ("active", "planned", "done")
"""The statuses of facts, learnings and events that have not ended."""
MAX_OTHER_WORDS = 4
"""How many words a request may contain in addition to those of the fact that it ends."""
_WORD = re.compile(r"[^\W_]+")


class Retracting:
    """Carries out the requests to forget in one batch of messages.

    Learnings and events change in `batch`, which shows its own writes. A learning that two requests name, or that is
    stated again after a request, is therefore never written twice from the same version.
    """

    def __init__(self, core: Core, batch: Core, ns: str, result: BatchResult) -> None:
        self._core, self._batch, self._ns, self._result = core, batch, ns, result

    async def end_learnings(self, items: Items) -> list[tuple[Extracted, Message]]:
        """End the learnings that requests name, and return the new learnings that no later request takes back."""
        wishes: list[tuple[Extracted, Message]] = []
        for item, message in items:
            if item.kind == "learning":
                wishes.append((item, message))
            elif item.kind == "forget":
                before = await self._message_meant(item, message)
                source = "" if before is None else before.id
                wishes = [
                    (wish, stated) for wish, stated in wishes
                    if not (stated.id == source or item.is_everything or _same_words(wish.value, item.value))
                ]  # fmt: skip
                for learning in await self._batch.listed(Learning, self._ns):
                    named = _names_memory(item, learning.content, source in learning.sources)
                    if named and learning.status == "active":
                        guard = Expect(Learning, learning.row_key, learning.version)
                        await self._batch.apply(guard, *ended_learning(self._batch, learning, message.id))
                        self._note(message, f"{self._ns}/{learning.id}")
        return wishes

    async def record(self, item: Extracted, message: Message, changes: Sequence[Change]) -> list[Change]:
        """End the other memories that a request names, and return its record, which marks the messages that mention its
        subject. `changes` are those that the other statements and requests of the batch have made to facts so far.
        """
        core, ns = self._core, self._ns
        before = await self._message_meant(item, message)
        await self._end_others(item, message, "" if before is None else before.id)
        changes = [*changes, *self._batch.collected]
        if before is not None:
            marked = [before.id]
        elif item.is_everything:
            marked = await own_messages(core, ns, message)
        else:
            staying = await sources_that_stay(core, ns, changes)
            marked = await messages_about(core, ns, item.value, message, staying)
        last = await self._last_record(item, message)
        ended = self._result.forgotten.get(str(message.seq), [])
        if last is not None and last.value["request"] == message.id:
            # The rules carried it out before, in place of the model, and then found what is not there to be found now.
            ended = list(dict.fromkeys([*last.value["ended"], *ended]))
            marked = list(dict.fromkeys([*last.value["marked"], *marked]))
        key, did = request_key(item, message), {"request": message.id, "ended": ended, "marked": marked}
        self._result.forgotten[str(message.seq)] = [*ended, f"{ns}/{key}"]
        return request_changes(core, ns, key, last, did, [*marked, message.id], message)

    async def is_undone(self, item: Extracted, message: Message) -> bool:
        """Return whether the user has already undone this very request, so that reading it again must end nothing."""
        last = await self._last_record(item, message)
        return last is not None and last.status == "restored" and last.value["request"] == message.id

    async def _last_record(self, item: Extracted, message: Message) -> FactVersion | None:
        last = await self._core.scan(FactVersion, self._ns, request_key(item, message), reverse=True, limit=1)
        return last[0] if last else None

    async def _message_meant(self, item: Extracted, message: Message) -> Message | None:
        """Return the message that "forget this" refers to, or None if the request itself says what to forget."""
        return None if item.value else await message_before(self._core, message)

    async def _end_others(self, item: Extracted, message: Message, source: str) -> None:
        """End the memories of all other kinds that a request names, so that they are not recalled."""

        def is_named(text: str, sources: Sequence[str]) -> bool:
            return _names_memory(item, text, source in sources)

        for noun in NOUNS.values():
            for id in await noun(self._batch)._end_named(self._ns, is_named, message.id):
                self._note(message, f"{self._ns}/{id}")

    def _note(self, message: Message, id: str) -> None:
        self._result.forgotten.setdefault(str(message.seq), []).append(id)


def request_key(item: Extracted, message: Message) -> str:
    """Return the key of the record of a request to forget."""
    if item.is_everything:
        return f"{FORGOTTEN}everything"
    return FORGOTTEN + (slug(item.value, words=8) if item.value else message.id.replace("#", "_"))


async def facts_asked_about(
    core: Core, ns: str, item: Extracted, message: Message, current: Mapping[str, Fact | None]
) -> list[Fact]:
    """Return the facts that a request to forget is about. If it does not name anything, return the facts from the
    user's previous message. `current` contains the facts as the batch has changed them so far.
    """
    stored = {fact.key: fact for fact in await core.scan(Fact, ns)}
    facts = [fact for fact in {**stored, **current}.values() if fact is not None]
    if not item.value:
        before = await message_before(core, message)
        return [fact for fact in facts if before is not None and before.id in fact.sources[-1:]]
    if item.is_everything:
        return facts
    from ...extract import extract

    stated = extract(item.value, at=stated_time(message, core.at()))
    return [fact for fact in facts if fact.trust == "user" and is_about(fact, item.value, stated)]


def terms(text: str) -> frozenset[str]:
    """Return the stemmed content words of a text."""
    from ...recall.analyze import tokens

    return frozenset(tokens(text))


def is_about(fact: Fact, request: str, stated: Sequence[Extracted]) -> bool:
    """Return whether a request refers to this fact, either by stating it (`stated` contains the facts that the rules
    extract from the request) or by its words.
    """
    for item in stated:
        if item.kind == "fact" and item.key == fact.key:
            return item.value is None or terms(str(item.value)) <= terms(str(fact.value)) | terms(fact.key)
    from ...languages import topic_of

    topic = topic_of(fact.key)
    request_terms = terms(request)
    tail = fact.key.partition(".")[2].replace("_", " ").replace(".", " ")
    value = terms(tail if isinstance(fact.value, bool) else str(fact.value))
    about = terms(" ".join((fact.key.replace("_", " ").replace(".", " "), *(topic.ask if topic else ()))))
    if request_terms and request_terms <= about:  # "forget my birthday"
        return True
    single = topic is not None and topic.single
    return (
        not single and bool(value) and value <= request_terms and len(request_terms - value - about) <= MAX_OTHER_WORDS
    )


def _names_memory(item: Extracted, text: str, is_from_previous: bool) -> bool:
    """Return whether a request to forget refers to a learning or an event with this text."""
    if not item.value or item.is_everything:
        return is_from_previous or item.is_everything
    request_terms, content = content_terms(item.value), content_terms(text)
    both = request_terms & content
    # Most words of one occur in the other: people name a thing in fewer words than it has, or wrap it into more.
    return bool(both) and len(both) >= 0.75 * min(len(request_terms), len(content))


def _same_words(text: str, other: str) -> bool:
    return bool(other) and set(_WORD.findall(text.casefold())) >= set(_WORD.findall(other.casefold()))


def stated_time(message: Message, now: datetime) -> datetime:
    """Return when a message was written. For an imported message, this is not the time of the import."""
    return now if message.created_at is None else min(message.created_at, now)


async def message_before(core: Core, message: Message) -> Message | None:
    """Return the user's previous message, to which "forget this" refers."""
    before = await core.scan(Message, message.thread, before=(message.seq,), reverse=True, limit=MAX_BEFORE)
    return next(
        (row for row in before if row.role == "user" and row.author_trust == "user" and _has_own_words(row)), None
    )


def _has_own_words(message: Message) -> bool:
    return any(own and text.strip() for text, own in text_parts(message.content))


async def sources_that_stay(core: Core, ns: str, changes: Sequence[Change]) -> frozenset[str]:
    """Return the ids of messages behind current facts, learnings and events, except messages behind any that `changes`
    ends.
    """
    rows: dict[tuple[type, object], MemoryRecord] = {}
    for kind in MEMORIES:
        stored = cast("list[MemoryRecord]", await core.scan(kind.record, ns))
        rows.update({(type(row), row.row_key): row for row in stored})
    ended: set[str] = set()
    for change in changes:
        record = change.record if isinstance(change, Put | Load) else None
        if isinstance(record, MemoryRecord) and record.status in ("retracted", "cancelled"):
            ended.update(record.sources)
        elif isinstance(record, MemoryRecord) and not isinstance(record, FactVersion):
            rows[type(record), record.row_key] = record
    current = {source for row in rows.values() if row.status in CURRENT for source in row.sources}
    return frozenset(current - ended)


async def messages_about(
    core: Core, ns: str, request: str, request_message: Message, staying: frozenset[str] = frozenset()
) -> list[str]:
    """Return the ids of messages that mention the subject of a request. They are found by recall and are older than the
    request.

    A message behind memories that stay (`staying`) must contain more than half of the request's words: "Forget that I'm
    allergic to shrimp" does not concern "I'm allergic to peanuts".
    """
    from ...recall.hits import Hits, Wanted
    from ..recalling import Recalling

    # "Forget that I love dogs" is not about everything that the user loves.
    request_terms = content_terms(request) or terms(request)
    pool = await Recalling(core).pool(
        request, namespaces=[ns], entry_filter=EntryFilter(("message",)), top_k=SEARCHED_MESSAGES, fresh=False
    )
    if not request_terms or pool is None:
        return []
    hits = await Hits(core).of([pool], Wanted(SEARCHED_MESSAGES, 0, None, None, True))
    out: list[str] = []
    near: list[str] = []
    for hit in hits:
        parts = split_message_id(hit.id)
        behind = request_message.seq - parts[1] if parts is not None and parts[0] == request_message.thread else None
        if behind is not None and behind <= 0:
            continue
        shared = len(request_terms & terms(hit.text))
        if hit.id in staying and shared <= MIN_SHARE * len(request_terms):
            continue
        if behind is not None and behind <= RECENT_MESSAGES:
            near += [hit.id] if shared else []
        elif hit.score >= MIN_SCORE and shared >= MIN_SHARE * len(request_terms):
            out.append(hit.id)
    return [*near, *out][:MAX_MARKED_MESSAGES]


async def own_messages(core: Core, ns: str, request_message: Message) -> list[str]:
    """Return the ids of the newest messages that the user wrote before a request to forget everything."""
    entries = await core.scan(view_of(Entry, "role", "created_at"), ns, "message")
    written = [
        (entry.created_at, entry.id)
        for entry in entries
        if entry.role == "user" and entry.parent != request_message.thread
    ]
    before = await core.scan(
        Message, request_message.thread, before=(request_message.seq,), reverse=True, limit=MAX_OWN_MARKED_MESSAGES
    )
    newest = [message.id for message in before if message.role == "user"]
    newest += [id for _, id in sorted(written, reverse=True)]
    return newest[:MAX_OWN_MARKED_MESSAGES]


def request_changes(
    core: Core,
    ns: str,
    key: str,
    last: FactVersion | None,
    did: Mapping[str, object],
    marked: Sequence[str],
    request: Message,
) -> list[Change]:
    """Return the record of a request (an ended version whose sources are the messages to mark) and the job that marks
    them.
    """
    at = stated_time(request, core.at())
    version = FactVersion(
        org=core.org, ns=ns, key=key, value=did, status="retracted", reason="asked to forget",
        sources=tuple(marked), actor="processor", trust="user", version=(last.version if last else 0) + 1,
        created_at=at, updated_at=at,
    )  # fmt: skip
    # The record repeats words of the request, so it is forgotten with it. If only a marked message is forgotten, the
    # record stays, because the other messages must keep their marks.
    link = Link.of(core.org, message_ref(request), Ref("fact", ns, version.key), core.at())
    # Loaded, because no fact is current under this key: its versions go straight into the history.
    return [Load(version), Put(link), Put(index_job(core.org, ns, f"fact:{version.key}", core.at()))]


def ended_learning(core: Core, learning: Learning, source: str, note: Note | None = None) -> list[Change]:
    """Return the changes that end a learning. It stays in the store, so it can be restored."""
    ended = replace(learning, status="retracted", sources=(*learning.sources, source), updated_at=core.at())
    if note is not None:
        ended = replace(ended, reason=note.reason, metadata={**learning.metadata, "quote": note.quote})
    return [Put(ended), Delete(Entry, (core.org, learning.ns, "learning", "", learning.id))]
