"""Three masters against one, on many orgs: how the work spreads, and what the busiest node can carry.

    python -m bench.masters [--orgs 300] [--appends 30000]

The same appends, by keyed scripts, on one master and on three. A machine with few cores cannot show three nodes at full
speed at once, so the figure is the work done for each CPU second of the busiest node: what limits a Cluster whose nodes
have a core each.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from memorist.messages.message import Message
from memorist.ports import to_datetime
from memorist.records import Thread
from memorist.runtime import BlockingRuntime, run_blocking
from memorist.stores.base import Append, Put
from memorist.stores.redis import RedisStore

AT = to_datetime(1_800_000_000_000_000)
NOW = 1_800_000_000_000_000


def load(store: RedisStore, orgs: int, appends: int) -> None:
    for number in range(orgs):
        org = f"customer-{number}"
        thread = Thread(org=org, id="t", ns="global", created_at=AT, updated_at=AT)
        run_blocking(store.apply([Put(thread)], now=NOW))
    for number in range(appends):
        org = f"customer-{number % orgs}"
        message = Message(org=org, thread="t", role="user", content="what the user said, in a sentence or two " * 3)
        run_blocking(store.apply([Append(org, "t", (message,), AT, f"k{number}")], now=NOW))


def spent(nodes: list[Any]) -> list[tuple[float, int, int]]:
    """CPU seconds, scripts run and keys, of each node."""
    out = []
    for node in nodes:
        with node.client() as client:
            cpu, stats = client.info("cpu"), client.info("commandstats")
            scripts = sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("eval", "evalsha"))
            out.append((float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"]), int(scripts), int(client.dbsize())))
    return out


def measure(nodes: list[Any], url: str, orgs: int, appends: int) -> tuple[float, float]:
    idle = at_rest(nodes)
    before, began = spent(nodes), time.monotonic()
    store = RedisStore(url, runtime=BlockingRuntime(), on_risk="ignore")
    run_blocking(store.open())
    load(store, orgs, appends)
    run_blocking(store.close())
    rows = [tuple(b - a for a, b in zip(*pair, strict=True)) for pair in zip(before, spent(nodes), strict=True)]
    totals = [sum(row[i] for row in rows) for i in range(3)]
    for number, row in enumerate(rows):
        columns = zip(("CPU s", "scripts", "keys"), row, totals, strict=True)
        print(f"  node {number}: " + ", ".join(f"{name} {own:.4g} ({own / whole:.1%})" for name, own, whole in columns))
    wall = time.monotonic() - began
    busiest = max(row[0] - rest * wall for row, rest in zip(rows, idle, strict=True))
    print(f"  at rest a node spends {max(idle):.2%} of a core, over {wall:.0f} s; that is taken off below")
    with_most = max(row[1] for row in rows) / totals[1]
    print(f"  {totals[1] / busiest:.0f} scripts per CPU second of the busiest node; {with_most:.1%} of them on one")
    errors = sum(node_errors(node) for node in nodes)
    print(f"  cross-slot errors: {errors}")
    return totals[1] / busiest, with_most


def at_rest(nodes: list[Any], seconds: float = 5.0) -> list[float]:
    """CPU seconds a second of each node that has nothing to do: a Cluster's nodes talk to each other all the time."""
    before = spent(nodes)
    time.sleep(seconds)
    return [(b[0] - a[0]) / seconds for a, b in zip(before, spent(nodes), strict=True)]


def node_errors(node: Any) -> int:
    with node.client() as client:
        error = client.info("errorstats").get("errorstat_CROSSSLOT", {})
    return int(error.get("count", 0)) if isinstance(error, dict) else 0


def main() -> None:
    """One master, then three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orgs", type=int, default=300)
    parser.add_argument("--appends", type=int, default=30_000)
    options = parser.parse_args()
    from tests.servers.redis import start_redis, start_redis_cluster

    master = start_redis(aof="no")
    print("one master")
    alone, _ = measure([master], master.url, options.orgs, options.appends)
    master.stop()
    three = start_redis_cluster(aof="no")
    print("three masters")
    spread, share = measure(three.nodes, three.url, options.orgs, options.appends)
    three.stop()
    print(
        f"three against one: {spread / alone:.2f} x per CPU second of the busiest node, {share:.1%} of scripts on one"
    )


if __name__ == "__main__":
    main()
