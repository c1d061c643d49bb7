"""`recollect serve`: the HTTP API over any store."""

from __future__ import annotations

import ipaddress
from typing import Any

import click

from ..errors import UsageError
from .session import Session, session_of

NEEDS = 'the server needs packages that are not installed; run: pip install "recollect[server]"'


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8377, show_default=True, type=click.IntRange(0, 65535))
@click.option("--name", "names", multiple=True, help="A host name clients may use; repeat for several.")
@click.option("--root-path", default="", help="The path it is mounted under, behind a proxy.")
@click.option("--trusted-proxy", default="", help="Addresses of proxies whose X-Forwarded-* headers are believed.")
@click.option("--worker/--no-worker", default=True, help="Index and derive in this process.")
@session_of
def serve(
    session: Session, host: str, port: int, names: tuple[str, ...], root_path: str, trusted_proxy: str, worker: bool
) -> None:
    """Serve the memory over HTTP, on this machine unless told otherwise.

    Another address than loopback needs keys: make one first with `recollect keys create`.
    """
    try:
        import uvicorn

        from ..server.app import Options, make_app
    except ModuleNotFoundError as missing:
        raise UsageError(NEEDS) from missing
    from ..memory import AsyncMemory

    keyed = _has_keys(session)
    if not keyed and not _is_loopback(host):
        raise UsageError(f"{host} is not loopback, and there is no key; make one: recollect keys create --role admin")
    memory = AsyncMemory(session.url, hot=session.hot, all_orgs=True, worker=worker)
    hosts = (*Options().hosts, host, *names)
    options = Options(hosts=hosts, open_to=None if keyed else _anyone(session.org), root_path=root_path)
    click.echo(f"recollect: http://{host}:{port}  ({'keys' if keyed else 'no keys: open to this machine'})", err=True)
    uvicorn.run(
        make_app(memory, options), host=host, port=port, root_path=root_path, log_level="warning", access_log=False,
        timeout_graceful_shutdown=30, server_header=False, forwarded_allow_ips=trusted_proxy or None,
        proxy_headers=bool(trusted_proxy),
    )  # fmt: skip


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _anyone(org: str) -> Any:
    """Who asks on loopback while there is no key: the operator of this machine."""
    from datetime import UTC, datetime

    from ..server.auth import ApiKey

    roles: Any = ("reader", "writer", "forget", "operator")
    return ApiKey(id="local", digest=b"", org=org, roles=roles, created_at=datetime.now(UTC))


def _has_keys(session: Session) -> bool:
    from ..runtime import run_blocking
    from ..server.auth import Keys

    with session.memory(create=True, all_orgs=True) as memory:
        return run_blocking(Keys(memory._engine).any())
