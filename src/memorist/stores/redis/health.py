"""Reports the servers' versions, settings and risks, and damaged rows, for `doctor`."""

from __future__ import annotations

from ...errors import CorruptRecord
from ...values import JsonObject
from . import checks
from .connection import Client
from .keys import AFTER_ALL
from .rows import Layout
from .scripts import SCAN


async def diagnose(client: Client, durability: str) -> JsonObject:
    """Return the versions, settings and risks of every server."""
    problems: list[str] = []
    nodes = []
    settings = dict(await checks.read_settings(client))
    for name, info in await checks.read_info(client, "everything"):
        problems += checks.risks(name, settings.get(name), durability)
        nodes.append(_node(name, info, settings.get(name) or {}))
        if info.get("aof_last_write_status", "ok") != "ok" or info.get("rdb_last_bgsave_status", "ok") != "ok":
            problems.append(f"Redis at {name} could not write its files last time; check its log and its disk space")
    mode = "cluster" if client.cluster else "standalone"
    return {"store": "redis", "mode": mode, "durability": durability, "nodes": nodes, "problems": problems}


def _node(name: str, info: JsonObject, settings: dict[str, str]) -> JsonObject:
    product = "valkey" if "valkey_version" in info else "redis"
    return {
        "address": name,
        "server": f"{product} {info.get('valkey_version') or info.get('redis_version', 'unknown')}",
        "used_memory_bytes": int(info.get("used_memory", 0)),
        "maxmemory_bytes": int(info.get("maxmemory", 0)),
        "evicted_keys": int(info.get("evicted_keys", 0)),
        **{key: settings.get(key, "unknown") for key in ("appendonly", "appendfsync", "maxmemory-policy")},
    }


async def count_rows(client: Client, base: bytes, table: Layout) -> tuple[int, int]:
    """Return the numbers of intact and damaged rows in a table."""
    good = bad = 0
    low = b""
    while True:
        # No row has expired at this time, so expired rows are counted too.
        args = [*table.spec, 0, low, AFTER_ALL, 0, 1000, b"0" * 19, 8 * 1024 * 1024, "all"]
        # Whole rows: a checksum covers all cells, so a view could not be verified.
        last, *rows = await client.script(SCAN, base, args, write=False)
        for raw in rows:
            try:
                table.decode(raw, None)
                good += 1
            except CorruptRecord:
                bad += 1
        if last is None:
            return good, bad
        low = last + b"\0"
