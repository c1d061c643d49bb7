"""Finds the memory that an id refers to, even if a person or a model has guessed the id.

An id may be exact (`fact:city`, `learning:9f2a…`, `user:ada/city`, `talk#3`), a bare key (`city`), or words that only
one memory contains (`coffee`, `allergy.shellfish`).
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from ..engine.memories import Remembered
from ..errors import NotFound, UsageError
from ..kinds import namespaced
from .callers import Caller

MIN_PREFIX_CHARACTERS = 6
"""The number of leading characters of a generated id that are enough to identify it."""
MAX_SUGGESTIONS = 5
_MESSAGE = re.compile(r"(?P<thread>.+)#\d+")
_WORD = re.compile(r"[^\W_]+")


class Target(msgspec.Struct, frozen=True):
    """Holds what an id refers to: a memory, or a message, thread or user."""

    kind: Literal["memory", "message", "thread", "user"]
    id: str
    text: str = ""
    memory: Remembered | None = None


async def resolve_target(caller: Caller, id: str) -> Target:
    """Return the memory, message, thread or user that an id refers to.

    Raises:
        UsageError: Several memories match; the message lists them.
        NotFound: No memory matches; the message lists the nearest ones.
    """
    name = id.strip()
    if _MESSAGE.fullmatch(name):
        message = await caller.memory.threads.message(name)
        if message is not None:
            return Target("message", name, message.text)
    if name.startswith("thread:") and await caller.memory.threads.get(name.removeprefix("thread:")):
        return Target("thread", name.removeprefix("thread:"))
    if name in ("user:me", caller.own):
        return Target("user", caller.user)
    memory = await resolve_memory(caller, name)
    return Target("memory", memory.id, memory.text, memory)


async def resolve_memory(caller: Caller, id: str, *, past: bool = False) -> Remembered:
    """Return the memory that an id refers to. With `past`, an exact id may also be that of a fact that has ended."""
    namespaces, key = split_id(caller, id.strip())
    candidates: list[Remembered] = []
    for namespace in namespaces:
        memory = await caller.memory.memories.get(key, ns=namespace)
        if memory is not None:
            return memory
        if past and (versions := await caller.memory.memories.history(key, ns=namespace)):
            return versions[-1]
        items = await caller.memory.memories.list(ns=namespace)
        candidates += [item for item in items if item.status in ("active", "ended")]
    matches = _by_prefix(key, candidates) or _by_words(key, candidates)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(f"{id!r} may mean several memories; pass the id of one: {_suggest(matches)}")
    nearest = await caller.memory.memories.search(key, top_k=MAX_SUGGESTIONS, ns=namespaces[0])
    hint = f"; the nearest are {_suggest(nearest)}" if nearest else "; recall or profile list what there is"
    raise NotFound(f"there is no memory {id!r}{hint}")


def split_id(caller: Caller, id: str) -> tuple[list[str], str]:
    """Return the namespace and the key of an id such as `user:ada/city`, or the caller's own namespaces for other
    ids.
    """
    readings = [(namespace, key) for namespace, key in namespaced(id) if key]
    # The ids of users may contain slashes, so a namespace of the caller's own comes before a shorter one.
    own = [reading for reading in readings if reading[0] in caller.namespaces]
    for namespace, key in [*own, *readings]:
        return [namespace], key
    return caller.namespaces, id


def _by_prefix(key: str, candidates: list[Remembered]) -> list[Remembered]:
    if len(key.rpartition(":")[2]) < MIN_PREFIX_CHARACTERS:
        return []
    return [item for item in candidates if item.id.startswith(key) or item.id.partition(":")[2].startswith(key)]


def _by_words(key: str, candidates: list[Remembered]) -> list[Remembered]:
    """Return the memories that contain every word of a guess, or only those with the words in their key if there are
    any.
    """
    key_words = _words(key)
    if not key_words:
        return []
    in_keys = [item for item in candidates if key_words <= _words(item.key or "")]
    if len(in_keys) == 1:
        return in_keys
    return [item for item in candidates if key_words <= _words(f"{item.key or ''} {item.text} {item.value or ''}")]


def _words(text: str) -> frozenset[str]:
    """Return the words of a text without the plural's s, so that `allergies` matches `allergy`."""
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(_singular(word) for word in words if word not in ("fact", "learning", "event", "memory", "the"))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _suggest(items: list[Remembered]) -> str:
    return "; ".join(f"{item.id} ({item.text[:60]})" for item in items[:MAX_SUGGESTIONS])
