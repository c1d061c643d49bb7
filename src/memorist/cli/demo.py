"""Implements `memorist demo`, a guided tour on one temporary file that needs no key, no network and no input."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import click

from ..blocking.memory import Memory
from ..errors import UsageError
from .display import columns, human, table, wrap
from .session import Session, session_of

FIRST = (
    ("Hi, I'm Ada. I live in London and I work as a nurse.", "Nice to meet you, Ada!"),
    ("I prefer short answers, and my sister is called Mia.", "Noted: short answers."),
    (
        "We decided to hold the launch on 3 March with a budget of 4,200 euros.",
        "The launch is on 3 March, 4,200 euros.",
    ),
)
SECOND = (
    ("Actually, I live in Lisbon now.", "Lisbon it is."),
    ("What did we decide about the launch?", "It is on 3 March, with 4,200 euros."),
)
ITEMS = [f"customer-{number:02}" for number in range(1, 9)]
TASK = """
import os, signal, sys
from memorist import Memory
with Memory(sys.argv[1], worker=False) as memory, memory.tasks.run("import-crm", lease=1) as task:
    for item in task.remaining(sys.argv[3:]):
        with task.batch() as batch:
            batch.state.increment("imported")
            task.complete(item)
        print("  imported", item, flush=True)
        if item == sys.argv[2]:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
"""


@click.command()
@click.option(
    "--keep", type=click.Path(dir_okay=False), metavar="FILE", help="Write a memory with ten weeks of history to FILE."
)
@session_of
def demo(session: Session, keep: str | None) -> None:
    """Take a guided tour: sessions, facts, a correction, folding, a killed task and forgetting.

    With --keep, the command writes ten weeks of sample history instead. Look at it with `memorist open FILE`.
    """
    if keep is not None:
        _print_where_kept(keep)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "demo.db")
        _first(path)
        _second(path)
        _folded(path)
        _killed(path)
        _forgotten(path)
    click.echo()
    _print_wrapped(
        "That was all: one SQLite file, no server, no key. Next: the README, and `memorist --help`.", under=0
    )


def _print_where_kept(path: str) -> None:
    from .demo_story import tell

    if os.path.exists(path):
        raise UsageError(f"{path} exists already; name a new file")
    tell(path)
    _print_wrapped(f"{path}: a hospital's memory of ten weeks. Look around: memorist open {path}", under=0)


def _print_wrapped(text: str, *, under: int) -> None:
    """Print a text wrapped at words, indented below its first `under` characters."""
    click.echo(text[:under] + f"\n{' ' * under}".join(wrap(text[under:], columns() - under)))


def _title(text: str) -> None:
    click.echo(f"\n{click.style('■', fg='green')} {click.style(text, bold=True)}")


def _talk(memory: Memory, turns: Iterable[tuple[str, str]]) -> None:
    with memory.session() as talk:
        for question, answered in turns:
            talk.add(question, answered)
            _print_wrapped(f"  Ada:   {question}", under=9)
            _print_wrapped(f"  agent: {answered}", under=9)


def _first(path: str) -> None:
    _title("First run: an agent talks to Ada, over one file")
    with Memory(path, user="ada") as memory:
        _talk(memory, FIRST)
    _title("What is stored now (memorist profile show ada)")
    with Memory(path, user="ada", worker=False) as memory:
        ada = memory.profile.get("ada")
        rows = [{"what": "fact", "name": f.key, "value": human(f.value), "said in": f.source} for f in ada.facts]
        rows += [
            {"what": learning.type, "name": "", "value": learning.content, "said in": learning.sources[-1]}
            for learning in ada.learnings
        ]
        table(rows, ("what", "name", "value", "said in"))


def _second(path: str) -> None:
    _title("Second run, another process: it knows, and it is corrected")
    with Memory(path, user="ada") as memory:
        for hit in memory.recall("when is the launch?", top_k=1):
            _print_wrapped(f"  recalled: {hit.text!r} ({hit.kind}, score {hit.score:.2f})", under=12)
        _talk(memory, SECOND)
    with Memory(path, user="ada", worker=False) as memory:
        rows = [
            {"version": f.version, "location": human(f.value), "said in": f.source}
            for f in memory.facts.history("user:ada", "location")
        ]
        click.echo("  the new value replaced the old one, and nothing was erased:")
        table(rows, ("version", "location", "said in"))


def _folded(path: str) -> None:
    _title("A long talk is folded to fit a budget of 700 tokens")
    with Memory(path, user="ada", worker=False) as memory, memory.session(budget=700, layout="standard") as talk:
        for number in range(1, 31):
            talk.add(f"Note {number}: ward {number % 5} needs {number * 3} masks.", f"Noted {number * 3} masks.")
        context = talk.context("How many masks does ward 3 need?")
        click.echo("  " + context.bar().replace("\n", "\n  "))
        summaries = memory.threads.summaries(talk.thread)
        click.echo(f"  {context.tokens} of 700 tokens; {len(summaries)} summary; all {60} messages are still stored")


def _killed(path: str) -> None:
    _title("A task is killed half-way (kill -9) and goes on where it stopped")
    script = Path(tempfile.gettempdir()) / f"memorist-demo-{os.getpid()}.py"
    script.write_text(TASK, "utf-8")
    try:
        for stop in (ITEMS[3], "none"):
            ended = subprocess.run(
                [sys.executable, str(script), path, stop, *ITEMS], capture_output=True, text=True, check=False
            )
            click.echo(ended.stdout.rstrip())
            if ended.returncode != 0:
                click.echo("  … killed; started again after its lease of one second has ended:")
                _until_free(path)
    finally:
        script.unlink()
    with Memory(path, worker=False) as memory:
        click.echo(f"  {memory.state.get('imported')} imports for {len(ITEMS)} customers: none twice, none missing")


def _until_free(path: str) -> None:
    import time

    with Memory(path, worker=False) as memory:
        while (task := memory.tasks.resume("import-crm")) is not None and task.leased_until is not None:
            seconds = task.leased_until.timestamp() - time.time()
            if seconds <= 0:
                return
            time.sleep(seconds + 0.01)


def _forgotten(path: str) -> None:
    _title("Ada asks to be forgotten (memorist forget --user ada --physical)")
    with Memory(path, worker=False) as memory:
        erasure = memory.forget(user="ada", physical=True)
        table([{"kind": kind, "removed": count} for kind, count in erasure.counts.items()], ("kind", "removed"))
        hits = memory.recall("launch budget masks Lisbon", top_k=3)
        trace = "nothing" if erasure.verified else erasure.found or erasure.unchecked
        click.echo(f"  left in the file: {trace}; recalled now: {len(hits)} hits")
