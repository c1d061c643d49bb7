"""Checks the server's durability settings, which determine whether an acknowledged write survives a crash or a
restart."""

from __future__ import annotations

import warnings

from redis.exceptions import ResponseError

from ...errors import StoreError, UsageError
from ...values import JsonObject
from .connection import Client

RISKS = ("warn", "refuse", "ignore")
_CHECKED_SETTINGS = ("appendonly", "appendfsync", "maxmemory-policy", "save")


class DurabilityWarning(UserWarning):
    """Warns that the server may lose acknowledged writes."""


def check_option(on_risk: str) -> None:
    """Refuse an unknown `on_risk` value before anything is opened."""
    if on_risk not in RISKS:
        raise UsageError(f"on_risk={on_risk!r} is not one of {', '.join(RISKS)}")


async def check(client: Client, *, durability: str, on_risk: str) -> None:
    """Warn or refuse if the server's settings are weaker than the requested durability."""
    if on_risk == "ignore":
        return
    problems = [text for name, settings in await read_settings(client) for text in risks(name, settings, durability)]
    if problems and on_risk == "refuse":
        raise StoreError("; ".join(problems) + ". Change the server, or open with on_risk='warn'", problems=problems)
    for problem in problems:
        warnings.warn(problem, DurabilityWarning, stacklevel=2)


async def read_settings(client: Client) -> list[tuple[str, dict[str, str] | None]]:
    """Return each server's settings, or None if the server does not reveal them."""
    # Many hosted servers do not allow CONFIG. That is a risk to report, not a failure.
    replies = await client.ask_everywhere("CONFIG GET", *_CHECKED_SETTINGS)
    return [(name, None if isinstance(reply, ResponseError) else reply) for name, reply in replies]


def risks(name: str, settings: dict[str, str] | None, durability: str) -> list[str]:
    """Return the risks of one server's settings, in one sentence each."""
    if settings is None:
        return [
            f"Redis at {name} does not reveal its settings (CONFIG is not allowed): "
            "whether acknowledged writes survive a crash could not be checked"
        ]
    sentences = []
    fsync = settings.get("appendfsync", "")
    if settings.get("appendonly") != "yes":
        sentences.append(f"Redis at {name} has no append-only file: a restart loses data; set appendonly yes")
    elif durability == "full" and fsync != "always":
        sentences.append(
            f"Redis at {name} has appendfsync {fsync}: a crash loses acknowledged writes; "
            "set appendfsync always, or open with durability='normal'"
        )
    elif durability != "full" and fsync == "no":
        sentences.append(
            f"Redis at {name} has appendfsync no: a power cut loses acknowledged writes; set it to everysec"
        )
    # With any other policy, the server makes room by deleting rows that were acknowledged, and no command fails.
    policy = settings.get("maxmemory-policy", "noeviction")
    if policy != "noeviction":
        sentences.append(f"Redis at {name} may evict data (maxmemory-policy {policy}); set it to noeviction")
    return sentences


async def read_info(client: Client, section: str) -> list[tuple[str, JsonObject]]:
    """Return each server's INFO as pairs, or no pairs if the server refuses."""
    replies = await client.ask_everywhere("INFO", section)
    return [(name, {} if isinstance(reply, ResponseError) else reply) for name, reply in replies]
