"""Carries out requests to forget ("Forget that I …") by finding the memories and messages that a request is about.

Nothing is deleted: facts, learnings and events end, and the messages behind them are marked, so that recall shows that
they were retracted. An ended version under `forgotten.<words>` records what the request did, and `facts.unforget`
undoes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...messages.message import Message, text_parts
from ...records import Entry, Event, Fact, FactVersion, Learning, view_of
from ...stores.base import Change, Delete, EntryFilter, Load, Put
from ..core import Core
from ..facts.facts import FORGOTTEN
from ..index_jobs import index_job
from ..learnings import content_terms

if TYPE_CHECKING:
    from ...extract.extracted import Extracted
    from ...extract.writer.checks import Note

MAX_MARKED = 12
"""The maximum number of messages that one request marks."""
MIN_SHARE = 0.5
"""The share of a request's words that a message must contain to be considered related to it."""
MIN_SCORE = 0.01
"""The minimum relevance, as computed by recall."""
RECENT_MESSAGES = 8
"""People often ask to forget something that was just discussed, so a message right before a request only has to share a
word with it."""
SEARCHED_MESSAGES = 40
MAX_MARKED_BY_ALL = 1000
"""The maximum number of messages that a request to forget everything marks, newest first."""
MAX_BEFORE = 24
"""How many earlier messages in the thread to search for the one that "forget this" refers to."""
CURRENT = ("active", "planned", "done")
"""The statuses of facts, learnings and events that have not ended."""
MAX_OTHER_WORDS = 4
"""How many words a request may contain in addition to those of the fact that it ends."""


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


def names_text(text: str, request: str) -> bool:
    """Return whether a request names a learning or an event with this text: most words of one occur in the other."""
    request_terms, content = content_terms(request), content_terms(text)
    both = request_terms & content
    return bool(both) and len(both) >= 0.75 * min(len(request_terms), len(content))


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
    stored: list[Fact | Learning | Event] = [
        *await core.scan(Fact, ns), *await core.scan(Learning, ns), *await core.scan(Event, ns)
    ]  # fmt: skip
    rows: dict[tuple[type, object], Fact | Learning | Event] = {(type(row), row.row_key): row for row in stored}
    ended: set[str] = set()
    for change in changes:
        record = change.record if isinstance(change, Put | Load) else None
        if isinstance(record, Fact | Learning | Event) and record.status in ("retracted", "cancelled"):
            ended.update(record.sources)
        elif isinstance(record, Fact | Learning | Event) and not isinstance(record, FactVersion):
            rows[type(record), record.row_key] = record
    current = {source for row in rows.values() if row.status in CURRENT for source in row.sources}
    return frozenset(current - ended)


async def messages_about(
    core: Core, ns: str, request: str, asked: Message, staying: frozenset[str] = frozenset()
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
        request, namespaces=[ns], asked=EntryFilter(("message",)), top_k=SEARCHED_MESSAGES, fresh=False
    )
    if not request_terms or pool is None:
        return []
    hits = await Hits(core).of([pool], Wanted(SEARCHED_MESSAGES, 0, None, None, True))
    out: list[str] = []
    near: list[str] = []
    for hit in hits:
        thread, _, seq = hit.id.rpartition("#")
        behind = asked.seq - int(seq) if thread == asked.thread else None
        if behind is not None and behind <= 0:
            continue
        shared = len(request_terms & terms(hit.text))
        if hit.id in staying and shared <= MIN_SHARE * len(request_terms):
            continue
        if behind is not None and behind <= RECENT_MESSAGES:
            near += [hit.id] if shared else []
        elif hit.score >= MIN_SCORE and shared >= MIN_SHARE * len(request_terms):
            out.append(hit.id)
    return [*near, *out][:MAX_MARKED]


async def own_messages(core: Core, ns: str, asked: Message) -> list[str]:
    """Return the ids of the newest messages that the user wrote before a request to forget everything."""
    entries = await core.scan(view_of(Entry, "role", "created_at"), ns, "message")
    written = [
        (entry.created_at, entry.id) for entry in entries if entry.role == "user" and entry.parent != asked.thread
    ]
    before = await core.scan(Message, asked.thread, before=(asked.seq,), reverse=True, limit=MAX_MARKED_BY_ALL)
    newest = [message.id for message in before if message.role == "user"]
    newest += [id for _, id in sorted(written, reverse=True)]
    return newest[:MAX_MARKED_BY_ALL]


def request_changes(
    core: Core,
    ns: str,
    key: str,
    last: FactVersion | None,
    did: Mapping[str, object],
    marked: Sequence[str],
    at: datetime,
) -> list[Change]:
    """Return the record of a request (an ended version whose sources are the messages to mark) and the job that marks
    them.
    """
    version = FactVersion(
        org=core.org, ns=ns, key=f"{FORGOTTEN}{key}", value=did, status="retracted", reason="asked to forget",
        sources=tuple(marked), actor="processor", trust="user", version=(last.version if last else 0) + 1,
        created_at=at, updated_at=at,
    )  # fmt: skip
    # Loaded, because no fact is current under this key: its versions go straight into the history.
    return [Load(version), Put(index_job(core.org, ns, f"fact:{version.key}", core.at()))]


def ended_learning(core: Core, learning: Learning, source: str, note: Note | None = None) -> list[Change]:
    """Return the changes that end a learning. It stays in the store, so it can be restored."""
    ended = replace(learning, status="retracted", sources=(*learning.sources, source), updated_at=core.at())
    if note is not None:
        ended = replace(ended, reason=note.reason, metadata={**learning.metadata, "quote": note.quote})
    return [Put(ended), Delete(Entry, (core.org, learning.ns, "learning", "", learning.id))]
