"""Parses Redis URLs. A URL names one server, the Sentinels of a service, or some nodes of a Cluster."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ...errors import UsageError

Address = tuple[str, int]
SCHEMES = (
    "redis", "rediss", "unix", "redis+unix", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel",
)  # fmt: skip
WAIT_MS = 1000


class Servers(NamedTuple):
    """Holds the parts of a URL."""

    plain: str
    """redis-py parses this URL to connect to any of the servers that contain data."""
    cluster: bool = False
    service: str | None = None
    """This is the name under which Sentinels know the primary, or None if there are no Sentinels."""
    seeds: tuple[Address, ...] = ()
    """These are the nodes or Sentinels that the URL names."""
    replicas: int = 0
    """This is the number of replicas that must receive a write before it is acknowledged."""
    wait_ms: int = WAIT_MS


def parse_url(url: str) -> Servers:
    """Parse `redis://…`, `redis+cluster://host:port,…` or `redis+sentinel://host:port,…/service`."""
    scheme, mark, rest = url.partition("://")
    if scheme.startswith("valkey"):
        scheme = "redis" + scheme.removeprefix("valkey")
    if not mark or scheme not in SCHEMES:
        raise UsageError(
            "not a Redis URL; write redis://, rediss://, unix://, redis+cluster://host:port or "
            "redis+sentinel://host:port/service"
        )
    rest, replicas, wait_ms = _ours(rest)
    plain, _, kind = scheme.partition("+")
    if kind not in ("cluster", "sentinel"):
        return Servers(f"{'unix' if kind == 'unix' else scheme}://{rest}", replicas=replicas, wait_ms=wait_ms)
    # From the right, because a password may contain an @ that nobody has percent-encoded.
    account, at, location = rest.rpartition("@")
    hosts, _, tail = location.partition("/")
    seeds = tuple(_address(host, 26379 if kind == "sentinel" else 6379) for host in hosts.split(","))
    if kind == "cluster":
        first = f"{plain}://{account}{at}{hosts.split(',')[0]}" + (f"/{tail}" if tail else "")
        return Servers(first, cluster=True, seeds=seeds, replicas=replicas, wait_ms=wait_ms)
    path, query, options = tail.partition("?")
    service, _, database = path.partition("/")
    if not service:
        raise UsageError("name the service that the Sentinels watch: redis+sentinel://host:26379/mymaster")
    first = f"{plain}://{account}{at}{hosts.split(',')[0]}/{database}{query}{options}"
    return Servers(first, service=unquote(service), seeds=seeds, replicas=replicas, wait_ms=wait_ms)


def _address(host: str, port: int) -> Address:
    parts = urlsplit(f"//{host}")  # understands the brackets of an IPv6 address
    return parts.hostname or "localhost", parts.port or port


def _ours(rest: str) -> tuple[str, int, int]:
    """Return a URL without our own options, the number of replicas, and the waiting time in milliseconds."""
    body, mark, query = rest.partition("?")
    if not mark:
        return rest, 0, WAIT_MS
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    # redis-py refuses options that it does not know, so ours must not reach it.
    remaining = urlencode([pair for pair in pairs if not pair[0].startswith("memorist_")], quote_via=quote)
    unknown = [name for name in options if name.startswith("memorist_") and name not in _OPTIONS]
    if unknown:
        raise UsageError(f"unknown option {unknown[0]} in the URL; use one of {', '.join(_OPTIONS)}")
    try:
        replicas, wait = int(options.get(_OPTIONS[0], 0)), float(options.get(_OPTIONS[1], WAIT_MS / 1000))
    except ValueError:
        raise UsageError(f"{_OPTIONS[0]} is a whole number, {_OPTIONS[1]} are seconds") from None
    if replicas < 0 or not 0.001 <= wait <= 60:
        raise UsageError(f"{_OPTIONS[0]} is 0 or more, {_OPTIONS[1]} from 0.001 to 60 seconds")
    return body + (f"?{remaining}" if remaining else ""), replicas, round(wait * 1000)


_OPTIONS = ("memorist_replicas", "memorist_replicas_timeout")
