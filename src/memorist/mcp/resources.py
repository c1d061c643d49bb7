"""Provides MCP resources: profiles, facts, threads and summaries under URIs that a client can list, read and watch.

The URIs are `memorist://profile/<user>`, `memorist://fact/<namespace>/<key>`, `memorist://thread/<id>` and
`memorist://summary/<thread>`. Parts of a URI are percent-encoded. Contents are fenced and shortened like the answers of
tools.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from urllib.parse import parse_qsl, quote, unquote

import mcp_types as types
import msgspec

from ..context.fence import is_hidden_or_opening, label
from ..errors import MemoristError, NotFound, UsageError
from ..importing.graph_keys import ENTITY, RELATION
from ..kinds import namespaced
from . import graph, shown
from .answers import Answer, fitted
from .callers import Caller
from .calls import profile_answer
from .graph_tools import RESOURCE as GRAPH
from .shown import Shown, shown_fact

SCHEME = "memorist://"
PAGE_ROWS = 100
THREAD_MESSAGES = 50
MIME = "text/plain"
TEMPLATES = (
    types.ResourceTemplate(
        name="profile", title="Profile", uri_template="memorist://profile/{user}", mime_type=MIME,
        description="Everything known about a user.",
    ),
    types.ResourceTemplate(
        name="fact", title="Fact", uri_template="memorist://fact/{namespace}/{key}", mime_type=MIME,
        description="One fact, with its earlier versions.",
    ),
    types.ResourceTemplate(
        name="thread", title="Conversation", uri_template="memorist://thread/{id}{?before}", mime_type=MIME,
        description="The newest messages of a conversation, or those before a number.",
    ),
    types.ResourceTemplate(
        name="summary", title="Summaries", uri_template="memorist://summary/{thread}", mime_type=MIME,
        description="The summaries that replace the older messages of a conversation.",
    ),
)  # fmt: skip


class ShownMessage(Shown, frozen=True, kw_only=True):
    """Represents a message of a conversation."""

    id: str
    seq: int
    role: str
    text: str
    trust: str


class ShownThread(Shown, frozen=True, kw_only=True):
    """Represents a conversation: its newest messages, or those before a number."""

    id: str
    namespace: str
    title: str | None = None
    messages: list[ShownMessage] = []
    earlier: str | None = None
    """This is the URI of the messages before these."""
    note: str = ""


class ShownSummary(Shown, frozen=True, kw_only=True):
    """Represents a summary of the messages from `first` to `last`."""

    id: str
    first: int
    last: int
    text: str


class ShownSummaries(Shown, frozen=True, kw_only=True):
    """Holds the summaries of a conversation."""

    thread: str
    summaries: list[ShownSummary] = []
    left_out: int = 0
    note: str = ""


class FactWithHistory(Shown, frozen=True, kw_only=True):
    """Represents a fact, with its earlier versions."""

    fact: shown.ShownFact
    history: list[shown.ShownFact] = []
    left_out: int = 0
    note: str = ""


def address(kind: str, *parts: str) -> str:
    """Return the URI of a resource, with its parts percent-encoded."""
    return f"{SCHEME}{kind}/" + "/".join(quote(part, safe="") for part in parts)


def parsed(uri: str) -> tuple[str, list[str], dict[str, str]]:
    """Return the kind, the parts and the query of a URI."""
    if not uri.startswith(SCHEME):
        raise NotFound("no such resource; addresses here begin with memorist://")
    path, _, query = uri.removeprefix(SCHEME).partition("?")
    kind, _, rest = path.partition("/")
    return kind, [unquote(part) for part in rest.split("/")], dict(parse_qsl(query))


async def read(caller: Caller, uri: str, max_tokens: int) -> types.ReadResourceResult:
    """Return the content of a resource. Raises NotFound if it does not exist or the caller may not read it."""
    if uri == GRAPH:
        whole = msgspec.json.format(
            msgspec.json.encode((await graph.load(caller.memory, caller.own)).shown()), indent=2
        )
        return _content(uri, whole.decode(), "application/json")
    kind, parts, query = parsed(uri)
    reader = _READERS.get(kind)
    if reader is None or not all(parts):
        raise NotFound("no such resource")
    return _content(uri, fitted(await reader(caller, parts, query), max_tokens).text, MIME)


def _content(uri: str, text: str, mime: str) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=mime, text=text)])


async def _profile(caller: Caller, parts: list[str], query: Mapping[str, str]) -> Answer:
    return await profile_answer(caller, parts[0])


async def _fact(caller: Caller, parts: list[str], query: Mapping[str, str]) -> Answer:
    space, key = parts[0], "/".join(parts[1:])
    if not key:
        raise NotFound("no such resource")
    fact = await caller.memory.facts.get(space, key)
    if fact is None:
        raise NotFound("no such fact")
    past = await caller.memory.facts.history(space, key)
    fact_with_history = FactWithHistory(
        fact=shown_fact(fact), history=[shown_fact(version) for version in reversed(past[:-1])]
    )
    return Answer(fact_with_history, stored=True, listed="history")


async def _thread(caller: Caller, parts: list[str], query: Mapping[str, str]) -> Answer:
    id = "/".join(parts)
    thread = await caller.memory.threads.get(id)
    if thread is None:
        raise NotFound("no such conversation")
    before = query.get("before", "")
    if before.isdecimal() and before.isascii():
        start = max(0, int(before) - THREAD_MESSAGES - 1)
        messages = await caller.memory.threads.messages(id, after=start, before=int(before))
    else:
        messages = await caller.memory.threads.recent(id, THREAD_MESSAGES)
    first = messages[0].seq if messages else 0
    shown_thread = ShownThread(
        id=id, namespace=thread.ns, title=thread.title,
        messages=[
            ShownMessage(
                id=message.id, seq=message.seq, role=message.role, text=message.text, trust=message.trust_level
            )
            for message in messages
        ],
        earlier=f"{address('thread', id)}?before={first}" if first > 1 else None,
    )  # fmt: skip
    return Answer(shown_thread, stored=True)


async def _summary(caller: Caller, parts: list[str], query: Mapping[str, str]) -> Answer:
    id = "/".join(parts)
    if await caller.memory.threads.get(id) is None:
        raise NotFound("no such conversation")
    summaries = await caller.memory.threads.summaries(id)
    lines = msgspec.convert(summaries, list[ShownSummary], from_attributes=True)
    return Answer(ShownSummaries(thread=id, summaries=lines), stored=True, listed="summaries")


_READERS: Mapping[str, Callable[[Caller, list[str], Mapping[str, str]], Awaitable[Answer]]] = {
    "profile": _profile,
    "fact": _fact,
    "thread": _thread,
    "summary": _summary,
}


# Listing


class Place(msgspec.Struct, array_like=True, frozen=True):
    """Holds the decoded cursor of a listing: the namespace, the kind, and the name after which it continues."""

    space: str = ""
    kind: str = "profile"
    after: str | None = None


async def listed(caller: Caller, cursor: str | None) -> tuple[list[types.Resource], str | None]:
    """Return a page of resources, and the cursor of the next one."""
    resources: list[types.Resource] = []
    async for resource, position in _walk(caller, _decoded(cursor)):
        resources.append(resource)
        if len(resources) == PAGE_ROWS:
            return resources, _encoded(position)
    return resources, None


async def _walk(caller: Caller, start: Place) -> AsyncIterator[tuple[types.Resource, Place]]:
    """Yield all resources after a cursor, by namespace. In each namespace, the profile comes first, then the threads,
    then the facts."""
    spaces = await caller.memory.namespaces()
    for space in (space for space in spaces if space >= start.space):
        position = start if space == start.space else Place(space)
        if position.kind == "profile":
            user = space.removeprefix("user:")
            if user != space:
                yield _resource("profile", user, user), Place(space, "thread")
            position = Place(space, "thread")
        if position.kind == "thread":
            async for resource, id in _threads(caller, space, position.after):
                yield resource, Place(space, "thread", id)
            position = Place(space, "fact")
        async for resource, key in _facts(caller, space, position.after):
            yield resource, Place(space, "fact", key)


async def _threads(caller: Caller, space: str, after: str | None) -> AsyncIterator[tuple[types.Resource, str]]:
    while page := await caller.memory.threads.list(space, limit=PAGE_ROWS, after=after):
        for thread in page:
            yield _resource("thread", thread.title or thread.id, thread.id), thread.id
        after = page[-1].id


async def _facts(caller: Caller, space: str, after: str | None) -> AsyncIterator[tuple[types.Resource, str]]:
    while page := await caller.memory.facts.list(space, limit=PAGE_ROWS, after=after):
        for fact in page:
            yield _resource("fact", fact.key, space, fact.key), fact.key
        after = page[-1].key


def _resource(kind: str, name: str, *parts: str) -> types.Resource:
    # A name may be shown to a model: it is escaped so that it cannot close a fence, and kept on one line.
    return types.Resource(
        uri=address(kind, *parts),
        name="".join("_" if is_hidden_or_opening(character) else character for character in label(name)),
        mime_type=MIME,
    )


def graph_resource() -> types.Resource:
    """Return the whole knowledge graph, in the format of `server-memory`."""
    return types.Resource(
        uri=GRAPH, name="knowledge-graph", title="Knowledge Graph", mime_type="application/json",
        description="All entities and relations.",
    )  # fmt: skip


def _encoded(position: Place) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def _decoded(cursor: str | None) -> Place:
    if cursor is None:
        return Place()
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=Place)
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise UsageError("this is not a cursor of the list of resources; pass `nextCursor` unchanged") from None


# Completion

MAX_OFFERED_RESOURCES = 100


async def completed(caller: Caller, name: str, value: str, arguments: Mapping[str, str]) -> types.Completion:
    """Return completions of an argument that begin with the typed text."""
    try:
        candidates = await _candidates(caller, name, value, arguments)
    except MemoristError:
        # The text typed so far is not a valid name, or not one that the caller may see: offer nothing.
        candidates = []
    return types.Completion(
        values=candidates[:MAX_OFFERED_RESOURCES],
        total=len(candidates),
        has_more=len(candidates) > MAX_OFFERED_RESOURCES,
    )


async def _candidates(caller: Caller, name: str, value: str, arguments: Mapping[str, str]) -> list[str]:
    memory = caller.memory
    if name == "user":
        spaces = await memory.namespaces("user", prefix=value or None, limit=MAX_OFFERED_RESOURCES + 1)
        return [space.removeprefix("user:") for space in spaces]
    if name == "namespace":
        return await memory.namespaces(prefix=value or None, limit=MAX_OFFERED_RESOURCES + 1)
    if name == "key":
        space = arguments.get("namespace", caller.own)
        facts = await memory.facts.list(space, prefix=value or None, limit=MAX_OFFERED_RESOURCES + 1)
        return [fact.key for fact in facts]
    if name in ("id", "thread"):
        return await _thread_ids(caller, value)
    return []


async def _thread_ids(caller: Caller, value: str) -> list[str]:
    ids: list[str] = []
    for space in await caller.memory.namespaces():
        threads = await caller.memory.threads.list(space, by="updated_at", reverse=True, limit=MAX_OFFERED_RESOURCES)
        ids += [thread.id for thread in threads if thread.id.startswith(value)]
        if len(ids) > MAX_OFFERED_RESOURCES:
            break
    return ids


def touched(kind: str, id: str) -> list[str]:
    """Return the URIs whose content changes with a fact (`namespace/key`), a learning or a thread."""
    if kind == "thread":
        return [address("thread", id), address("summary", id)]
    stale: list[str] = []
    # The id does not show where its namespace ends, so a reading that is not meant is announced as well.
    for space, key in namespaced(id):
        stale += [address("profile", space.removeprefix("user:"))] if space.startswith("user:") else []
        if kind == "fact":
            stale.append(address("fact", space, key))
            stale += [GRAPH] if key.startswith((ENTITY, RELATION)) else []
    return stale
