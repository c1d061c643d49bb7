"""Implements `memorist chat`, a chat with memory that uses a model, or an echo that needs none."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from ..errors import MemoristError, ModelError, NotFound
from .display import cell, echo, human, table
from .session import Session, session_of

if TYPE_CHECKING:
    from .. import Context, Fact, Memory
    from ..blocking.session import Session as MemorySession
    from ..models import Model

ANSWER_TOKENS = 1024
DERIVE_SECONDS = 10.0
HELP = """\
/facts         what is known about you
/why [KEY]     where a fact came from; without a key, what was learned from your last message
/forget KEY    forget a fact and the message it came from; /forget all forgets everything about you
/context       what was sent with your last message, and how its tokens are used
/quit          leave; the conversation stays stored"""


@click.command()
@click.option(
    "--model",
    envvar="MEMORIST_MODEL",
    help="The model: anthropic:MODEL, openai:MODEL or openai:MODEL@URL. Without one, an echo replies.",
)
@click.option("--thread", help="The thread to continue. Starts a new one if omitted.")
@click.option("--budget", type=int, default=4000, show_default=True, help="The maximum number of tokens in a request.")
@click.option("--system", help="The system prompt.")
@session_of
def chat(session: Session, model: str | None, thread: str | None, budget: int, system: str | None) -> None:
    """Chat with memory, either with a model or with an echo that needs no key and replies with what it remembers.

    The user is --user or your login name. Type /help for the commands.
    """
    from ..models import open_model

    session.user = session.user or getpass.getuser()
    name = model or session.model
    answering = open_model(name, blocking=True) if name else None
    with session.memory(create=True, settle=True) as memory:
        if thread is not None and memory.threads.get(thread) is None:
            raise NotFound(f"no thread {thread!r}")
        talk = Talk(memory, session.user, answering)
        with memory.session(thread, budget=budget, system=system) as run:
            talk.greet()
            for line in _lines():
                if line.startswith("/"):
                    if not talk.command(line):
                        break
                    continue
                try:
                    talk.turn(run, line)
                except ModelError as problem:
                    _aside(f"{problem}; this turn was not stored, please say it again")
        saved_thread = run.thread if talk.turns or thread is not None else None
        session.done(
            {"thread": saved_thread, "turns": talk.turns},
            f"Stored as thread {saved_thread}." if saved_thread else "Nothing was said, so nothing was stored.",
        )


class Talk:
    """Runs one chat, with its turns and its commands."""

    def __init__(self, memory: Memory, user: str, model: Model | None) -> None:
        self._memory = memory
        self._user = user
        self._ns = f"user:{user}"
        self._model = model
        self._request: Context | None = None
        self._learned: list[Fact] = []
        self.turns = 0

    def greet(self) -> None:
        """Print who is talking to whom, and how to get help."""
        name = self._model.name if self._model else "an echo (pass --model to use a language model)"
        _aside(f"{self._user} is talking to {name}. Type /help for help, /quit or Ctrl-D to leave.")

    def turn(self, run: MemorySession, text: str) -> None:
        """Run one turn: answer a message, store both, and print the facts extracted from it."""
        self._request = run.context(text)
        answer = self._answered(text)
        before = {fact.key: fact.version for fact in self._facts()}
        receipts = run.add(text, answer) if answer else run.add(text)
        self.turns += 1
        self._memory.wait(receipts, timeout=DERIVE_SECONDS)
        self._learned = [fact for fact in self._facts() if before.get(fact.key) != fact.version]
        for fact in self._learned:
            _aside(f"learned {fact.key}: {human(fact.value)}")

    def _answered(self, text: str) -> str:
        if self._model is None:
            answer = self._echo(text)
            echo(cell(answer))
            return answer
        pieces = []
        for piece in self._stream():
            pieces.append(piece)
            click.echo(cell(piece), nl=False)
        echo()
        answer = "".join(pieces)
        if not answer.strip():
            _aside(f"{self._model.name} sent an empty answer; your message is stored")
        return answer.strip() and answer

    def _stream(self) -> Iterator[str]:
        """Stream the model's answer."""
        from ..models import iterate

        assert self._model is not None and self._request is not None
        messages = self._request.messages()
        system = "\n\n".join(str(message["content"]) for message in messages if message["role"] == "system") or None
        rest = [message for message in messages if message["role"] != "system"]
        return iterate(self._model.stream(rest, system=system, max_tokens=ANSWER_TOKENS))

    def _echo(self, text: str) -> str:
        """Return the memories that match the message, instead of a model's answer."""
        hits = self._memory.recall(text, kinds=["fact", "learning", "document"], top_k=3)
        return "I remember: " + "; ".join(hit.text for hit in hits) if hits else "I remember nothing about that yet."

    def command(self, line: str) -> bool:
        """Run a command such as /facts, and return False for /quit."""
        name, _, rest = line[1:].partition(" ")
        if name in ("quit", "exit", "q"):
            return False
        commands = {
            "help": self._help,
            "facts": self._show,
            "why": self._why,
            "forget": self._forget,
            "context": self._sent,
        }
        if name not in commands:
            _aside(f"there is no command /{cell(name)}; /help lists the commands")
            return True
        try:
            commands[name](rest.strip())
        except MemoristError as problem:
            _aside(str(problem))
        return True

    def _help(self, _: str) -> None:
        _aside(HELP)

    def _show(self, _: str) -> None:
        rows = [{"key": fact.key, "value": fact.value, "updated_at": fact.updated_at} for fact in self._facts()]
        table(rows, ("key", "value", "updated_at")) if rows else _aside("I don't know anything about you yet")

    def _why(self, key: str) -> None:
        keys = [key] if key else [fact.key for fact in self._learned]
        if not keys:
            _aside("nothing was learned from the last message; /why KEY explains a fact, and /facts lists them")
        for fact_key in keys:
            why = self._memory.why(f"{self._ns}/{fact_key}")
            quotes = [f"from “{message.text}”" for message in why.messages]
            if why.correction is not None:
                corrected = f"corrected from {human(why.correction.before)} by {why.correction.actor}"
                quotes.insert(0, corrected + (f" ({why.correction.reason})" if why.correction.reason else ""))
            _aside(f"{fact_key}: {'; '.join(quotes) if quotes else 'written directly, by ' + str(why.actor)}")

    def _forget(self, key: str) -> None:
        if not key:
            _aside("/forget KEY forgets a fact, /forget all forgets you")
            return
        everything = key == "all"
        erasure = self._memory.forget(
            user=self._user if everything else None, fact=None if everything else f"{self._ns}/{key}"
        )
        _aside("forgotten: " + (", ".join(f"{count} {kind}" for kind, count in erasure.counts.items()) or "nothing"))

    def _sent(self, _: str) -> None:
        if self._request is None:
            _aside("nothing has been sent yet")
            return
        echo(self._request.bar())
        echo(cell(self._request.explain()))

    def _facts(self) -> list[Fact]:
        return self._memory.facts.list(self._ns)


def _lines() -> Iterator[str]:
    """Yield the lines typed or piped in, with editing and history on a terminal."""
    terminal = sys.stdin.isatty()
    if terminal:
        with suppress(ImportError):  # Windows edits lines by itself
            import readline  # noqa: F401  # input() uses it
    while True:
        try:
            line = input("› ") if terminal else sys.stdin.readline()
        except EOFError:
            return
        if not terminal and not line:
            return
        if line.strip():
            yield line.strip()


def _aside(text: str) -> None:
    """Print a dimmed line that is not part of the conversation."""
    for line in text.split("\n"):
        echo(click.style(f"  {cell(line)}", dim=True))
