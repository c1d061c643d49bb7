"""Implements `memorist serve` and `memorist open`, which serve the HTTP API and the inspector over any store."""

from __future__ import annotations

import ipaddress
import socket
import threading
import webbrowser
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from ..errors import UsageError
from ..extras import install_command
from .session import Session, session_of

if TYPE_CHECKING:
    from ..protocol.parts import MakePart
    from ..server.app import Options
    from ..server.logs import LogFormat

NEEDS = f"the server needs packages that are not installed; run: {install_command('server')}"


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=8377,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port to listen on; 0 chooses a free one.",
)
@click.option("--name", "names", multiple=True, help="A host name that clients may use. Repeatable.")
@click.option("--root-path", default="", help="The path that the server is mounted under, behind a proxy.")
@click.option("--trusted-proxy", default="", help="Addresses of proxies whose X-Forwarded-* headers are trusted.")
@click.option("--worker/--no-worker", default=True, help="Also run the background worker in this process.")
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="The number of server processes."
)
@click.option(
    "--analyze", "folders", multiple=True, type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder that operators may analyse. Repeatable.",
)  # fmt: skip
@click.option("--link", is_flag=True, help="Print a one-time link to the inspector, even if there are keys.")
@click.option(
    "--tools", default="all", show_default=True, help="The tool sets of /mcp: core, review, tasks, graph or all."
)
@click.option("--issuer", default=None, help="An OAuth issuer whose tokens /mcp accepts in addition to keys.")
@click.option(
    "--resource",
    default=None,
    help="The URL of /mcp that tokens must name as audience.  [default: the server's address]",
)
@click.option(
    "--log", "log_format", default="none", show_default=True, type=click.Choice(["none", "text", "json"]),
    help="Log each request to standard error: ids, status and time, never content.",
)  # fmt: skip
@click.option(
    "--max-budget", default=400_000, show_default=True, type=click.IntRange(min=1_000),
    help="The maximum token budget of a context request.",
)  # fmt: skip
@click.option(
    "--trace", is_flag=True, help="Record an OpenTelemetry span for each request, as a child of `traceparent`."
)
@session_of
def serve(
    session: Session, host: str, port: int, names: tuple[str, ...], root_path: str, trusted_proxy: str, worker: bool,
    workers: int, folders: tuple[Path, ...], link: bool, tools: str, issuer: str | None, resource: str | None,
    log_format: LogFormat, max_budget: int, trace: bool,
) -> None:  # fmt: skip
    """Serve the memory over HTTP, by default on this machine only.

    Any address other than loopback needs keys: create one first with `memorist keys create`. On loopback, the command
    prints a one-time link to the inspector if there are no keys.
    """
    _installed()
    from ..server.app import Options
    from ..server.logs import log_to_stderr

    log_to_stderr(log_format)
    keyed = _has_keys(session)
    if not keyed and not is_loopback(host):
        raise UsageError(f"{host} is not loopback, and there is no key; run: memorist keys create --role admin")
    port = port or _free_port(host)
    at = f"http://{host}:{port}{root_path}"
    click.echo(f"memorist: {at}", err=True)
    if link or not keyed:
        click.echo(f"memorist: one-time link, valid for ten minutes: {at}/login?code={_code(session)}", err=True)
    limits = msgspec.structs.replace(Options().limits, budget_tokens=max_budget)
    options = Options(
        hosts=(*Options().hosts, host, *names), root_path=root_path, analyze=folders, limits=limits, trace=trace
    )
    parts = _assistants(session, tools, issuer, resource or f"{at}/mcp")
    _run(
        session, options, host=host, port=port, worker=worker, trusted_proxy=trusted_proxy, parts=parts, workers=workers
    )


@click.command("open")
@click.argument("file", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="The port to listen on.  [default: a free one]")
@click.option("--browser/--no-browser", default=True, help="Open the browser, or only print the link.")
@session_of
def open_(session: Session, file: str | None, port: int, browser: bool) -> None:
    """Open a memory in the browser.

    The command serves FILE (or --url) on this machine until you stop it, and opens a one-time link to the inspector.
    """
    _installed()
    from ..server.app import Options

    opened = session if file is None else session.at(file)
    port = port or _free_port("127.0.0.1")
    link = f"http://127.0.0.1:{port}/login?code={_code(opened)}"
    click.echo(link)
    if browser:
        timer = threading.Timer(1.0, webbrowser.open, [link])
        timer.daemon = True
        timer.start()
    _run(opened, Options(), host="127.0.0.1", port=port, worker=True, trusted_proxy="")


def _installed() -> None:
    """Raise an error if a package of the server is missing, before anything is printed."""
    try:
        from ..server import app, process  # noqa: F401  # uvicorn alone is not enough: its parser is a package too
    except ModuleNotFoundError as missing:
        raise UsageError(NEEDS) from missing


def _assistants(session: Session, tools: str, issuer: str | None, resource: str) -> list[MakePart]:
    """Return the parts that serve MCP at /mcp, if its packages are installed."""
    if find_spec("mcp") is None:
        if issuer is not None:
            raise UsageError(f"--issuer is for /mcp; run: {install_command('mcp')}")
        return []
    from ..mcp.http import mcp_parts
    from ..mcp.server import Options
    from ..mcp.tokens import Resource
    from ..mcp.tools import chosen_sets

    who = None if issuer is None else Resource(issuer, resource, session.org)
    return mcp_parts(Options(sets=chosen_sets(tools)), who)


def _run(
    session: Session, options: Options, *, host: str, port: int, worker: bool, trusted_proxy: str,
    parts: Sequence[MakePart] = (), workers: int = 1,
) -> None:  # fmt: skip
    from starlette.applications import Starlette

    from ..memory import AsyncMemory
    from ..server.app import make_app
    from ..server.process import serve as serve_until_stopped

    def build_app() -> Starlette:
        memory = AsyncMemory(session.url, hot=session.hot, all_orgs=True, worker=worker, **session.settings())
        if options.trace:
            memory.trace()
        return make_app(memory, options, parts)

    serve_until_stopped(
        build_app, host=host, port=port, workers=workers, root_path=options.root_path,
        forwarded_allow_ips=trusted_proxy or None, proxy_headers=bool(trusted_proxy),
    )  # fmt: skip


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host.strip("[]"), 0))
        port: int = probe.getsockname()[1]
        return port


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _code(session: Session) -> str:
    """Store and return the code of a one-time link, which the server exchanges for a session cookie."""
    from ..server.auth import Keys
    from ..server.browser import Sessions, local_operator

    operator = local_operator(session.org)
    return session.run_on_all_orgs(lambda memory: Sessions(memory, Keys(memory)).link(operator))


def _has_keys(session: Session) -> bool:
    from ..server.auth import Keys

    return session.run_on_all_orgs(lambda memory: Keys(memory).any())
