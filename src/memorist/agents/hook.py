"""Runs one hook: `python -m memorist.agents.hook EVENT --agent claude-code --url memory.db --user me`.

Installations write this command into an agent's configuration. `memorist hook EVENT` does the same, also without
loading the rest of the command line.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from ..engine.core import Core
    from ..ports import Clock
    from .payloads import Hook

GUARD = "MEMORIST_HOOK"
"""Set while a hook runs, so that an agent started by a hook does not run its own hooks."""
DEFAULT_USER = "me"


def run_hook(
    event: str, payload: str, *, agent: str, url: str, user: str, org: str = "default", clock: Clock | None = None
) -> str:
    """Return the text that a hook prints. After an error, the text is empty and the error is recorded for `memorist
    doctor`."""
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
    import msgspec

    from .payloads import answer_of, read_hook

    data = msgspec.json.decode(payload) if payload.strip() else {}
    call = read_hook(agent, event, data)
    if call is None:
        return ""
    from ..runtime import run_blocking

    context = run_blocking(_ask_memory(call, _open_core(url, org, clock), user))
    answer = answer_of(call, context)
    return msgspec.json.encode(answer).decode() if answer else ""


def _open_core(url: str, org: str, clock: Clock | None) -> Core:
    """Return the core of a memory without its facade. The facade would import every noun, and a hook uses only
    three."""
    create_folder(url)
    if url.startswith(("http://", "https://")):
        from ..blocking.memory import Memory
        from ..engine.noun import core_of

        return core_of(Memory(url, org=org))
    from ..engine.core import Core
    from ..engine.shared import Parts, Shared
    from ..runtime import runtime_for
    from ..scope import Scope
    from ..stores.opening import open_store

    runtime = runtime_for(True)
    # Hooks have no time for vectors or extraction; whoever opens the memory next with a worker does both.
    parts = Parts(embedder=None, counter="estimate", extract=None)
    return Core(Shared(open_store(url, None, runtime, "full", None), runtime, clock, parts), Scope(org))


async def _ask_memory(hook: Hook, core: Core, user: str) -> str:
    from .answering import Nouns, answer_hook

    await core.shared.open()
    try:
        return (await answer_hook(Nouns(core), hook, user)).context
    finally:
        await core.shared.close()


def _record(agent: str, event: str, error: Exception) -> None:
    from .errors_log import record_error

    try:
        record_error(agent, event, error)
    except OSError:
        # Nowhere to write to: the host must still not fail.
        sys.stderr.write(f"memorist hook: {type(error).__name__}\n")


def default_url() -> str:
    """Return the URL of the agents' memory, which is one file for all repositories, separate from other memories."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "memorist", "agents.db")


def create_folder(url: str) -> None:
    """Create the folder of the default memory, so that it can be used before anything is installed."""
    if url == default_url():
        os.makedirs(os.path.dirname(url), exist_ok=True)


def absolute_url(url: str) -> str:
    """Return a URL that means the same in every folder."""
    return url if "://" in url else os.path.abspath(url)


def _import_msgspec() -> None:
    """Import msgspec without `typing_extensions`, which it uses only if it is installed. Importing it would take a
    tenth of a hook's time."""
    if "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


class Options(NamedTuple):
    """Holds the command line options of a hook."""

    event: str = ""
    agent: str = "claude-code"
    url: str = ""
    user: str = DEFAULT_USER
    org: str = "default"


def read_options(arguments: Sequence[str]) -> Options | None:
    """Parse the command line of a hook. Return None if it contains other options, such as `--help`."""
    values: dict[str, str] = {}
    words = list(arguments)
    while words:
        word, has_value, value = words.pop(0).partition("=")
        name = word.removeprefix("--") if word.startswith("--") else "event"
        if name == "event":
            value = word
        elif not has_value:
            value = words.pop(0) if words else ""
        if name not in Options._fields or name in values or not value:
            return None
        values[name] = value
    return Options(**values) if "event" in values else None


def main(options: Options) -> NoReturn:
    """Run a hook and end the process."""
    # The process lives for a tenth of a second: neither collecting garbage nor taking the modules apart pays.
    gc.disable()
    _import_msgspec()
    url = absolute_url(options.url or os.environ.get("MEMORIST_URL") or default_url())
    text = run_hook(
        options.event, sys.stdin.read(), agent=options.agent, url=url, user=options.user, org=options.org
    )  # fmt: skip
    sys.stdout.write(text)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(read_options(sys.argv[1:]) or Options())
