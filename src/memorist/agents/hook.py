"""Runs one hook: `python -m memorist.agents.hook EVENT --agent claude-code --url memory.db --user me`.

This is what installations write into an agent's configuration. `memorist hook` does the same; this one starts faster,
because it does not load the command line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .errors_log import record_error

if TYPE_CHECKING:
    from ..ports import Clock

GUARD = "MEMORIST_HOOK"
"""Set while a hook runs, so that an agent started by a hook does not run hooks of its own."""
DEFAULT_USER = "me"


def run_hook(
    event: str, payload: str, *, agent: str, url: str, user: str, org: str = "default", clock: Clock | None = None
) -> str:
    """What a hook prints; on any error nothing, and the error is recorded for `memorist doctor`."""
    if os.environ.get(GUARD):
        return ""
    os.environ[GUARD] = "1"
    try:
        return _answer(event, payload, agent=agent, url=url, user=user, org=org, clock=clock)
    except Exception as error:
        _record(agent, event, error)
        return ""
    finally:
        del os.environ[GUARD]


def _answer(event: str, payload: str, *, agent: str, url: str, user: str, org: str, clock: Clock | None) -> str:
    from .payloads import answer_of, read_hook

    data = json.loads(payload) if payload.strip() else {}
    call = read_hook(agent, event, data)
    if call is None:
        return ""
    from ..blocking.memory import Memory
    from .answering import answer_hook

    # Hooks have no time for vectors or extraction; whoever opens the memory next with a worker does both.
    with Memory(url, org=org, embedder=None, extract=None, worker=False, clock=clock) as memory:
        result = answer_hook(memory, call, user)
    answer = answer_of(call, result.context)
    return json.dumps(answer, ensure_ascii=False) if answer else ""


def _record(agent: str, event: str, error: Exception) -> None:
    try:
        record_error(agent, event, error)
    except OSError:
        # Nowhere to write to: the host must still not fail.
        sys.stderr.write(f"memorist hook: {type(error).__name__}\n")


def main(arguments: Sequence[str]) -> None:
    """Run a hook with the arguments of an installation."""
    options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    text = run_hook(
        arguments[0] if arguments else "",
        sys.stdin.read(),
        agent=options.get("--agent", "claude-code"),
        url=options.get("--url", ""),
        user=options.get("--user", DEFAULT_USER),
    )
    sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
