"""Implements `memorist proxy`, an OpenAI-compatible proxy that gives any program a memory."""

from __future__ import annotations

import click

from ..errors import UsageError
from ..extras import install_command
from .session import Session, session_of

NEEDS = f"the proxy needs packages that are not installed; run: {install_command('server')}"


@click.command()
@click.option("--upstream", required=True, help="The provider's URL, such as https://api.openai.com/v1.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8378, show_default=True, type=click.IntRange(1, 65535), help="The port to listen on.")
@click.option(
    "--budget",
    default=800,
    show_default=True,
    type=click.IntRange(50),
    help="The maximum number of tokens of memory in a request.",
)
@session_of
def proxy(session: Session, upstream: str, host: str, port: int, budget: int) -> None:
    """Forward requests to a model provider and add memory to them.

    Point your program at this address instead of the provider's (OPENAI_BASE_URL=http://127.0.0.1:8378/v1). Keys and
    answers pass through unchanged. Name the user with --user, or per request in the header X-Memorist-User or the field
    `user`; a request that does not name a user is forwarded without memory.
    """
    try:
        import uvicorn

        from ..wrapping.proxy import make_proxy
    except ModuleNotFoundError as missing:
        raise UsageError(NEEDS) from missing
    from ..memory import AsyncMemory
    from .serve import is_loopback

    if not is_loopback(host):
        # Whoever can reach the proxy can read any user's memory by naming the user.
        raise UsageError(
            f"{host} is not loopback: the proxy has no keys of its own, so it listens on this machine only"
        )
    memory = AsyncMemory(session.url, hot=session.hot, org=session.org, **session.settings())
    app = make_proxy(memory, upstream, user=session.user, budget_tokens=budget)
    click.echo(f"memorist: http://{host}:{port} forwards to {upstream}", err=True)
    uvicorn.run(app, host=host, port=port, log_level="warning")
