"""Prints values for people: tables that fit the terminal, relative times, colours by meaning, and progress. It does not
use `rich`, because importing it took longer than opening the memory.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..values import JsonObject

GAP_COLUMNS = 2
MIN_COLUMN_WIDTH = 8
"""The minimum width of a column that is narrowed to fit the terminal."""
PIPED_COLUMNS = 100
_GENERATED = re.compile(r"[0-9a-hjkmnp-tv-z]{20}|[0-9a-f]{24,64}")
SHORT_ID_CHARACTERS = 8
"""The number of characters of a generated id to show; commands accept these instead of the whole id."""
BAR_WIDTH = 24
"""The width of a progress bar."""

_GOOD = {"active", "done", "ok", "ready", "completed", "yes", "all well", "user"}
_UNSURE = {"pending", "running", "superseded", "waiting", "expired", "paused", "processor", "tool", "web"}
_BAD = {"dead", "failed", "rejected", "deleted", "lost", "no trace", "error"}
_MEANT = ("status", "state", "integrity", "trust")
"""Columns whose words are coloured by `_GOOD`, `_UNSURE` and `_BAD`."""


def columns() -> int:
    """Return the width of the output in columns."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    return shutil.get_terminal_size((PIPED_COLUMNS, 24)).columns if sys.stdout.isatty() else PIPED_COLUMNS


def echo(text: str = "", *, err: bool = False) -> None:
    """Print text, with colours only on a terminal, unless NO_COLOR or FORCE_COLOR is set."""
    colour = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    click.echo(text, err=err, color=colour)


def table(rows: Sequence[JsonObject], names: Sequence[str]) -> None:
    """Print rows under headings, with long texts wrapped. Columns without any value are left out."""
    now = datetime.now(UTC)
    used = [name for name in names if any(row.get(name) not in (None, "", [], {}, ()) for row in rows)] or names[:1]
    cells = [[human(row.get(name), now=now) for name in used] for row in rows]
    numbers = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in used]
    heads = [titled(name) for name in used]
    widths = fitted([max(map(measure, [head, *column])) for head, *column in _columns(heads, cells)], columns())
    echo(_row(["heading"] * len(used), heads, widths, numbers))
    for row in cells:
        wrapped = [wrap(text, width) for text, width in zip(row, widths, strict=True)]
        for at in range(max(map(len, wrapped))):
            echo(_row(used, [lines[at] if at < len(lines) else "" for lines in wrapped], widths, numbers))


def pairs(fields: Sequence[tuple[str, object]]) -> None:
    """Print names and values, one per line. Long values are wrapped next to their name."""
    now = datetime.now(UTC)
    left = max((measure(titled(name)) for name, _ in fields), default=0)
    room = max(columns() - left - GAP_COLUMNS, 2 * MIN_COLUMN_WIDTH)
    for name, value in fields:
        lines = [part for line in spelled(value, now=now).split("\n") for part in wrap(line, room)] or [""]
        for at, line in enumerate(lines):
            label = click.style(titled(name), bold=True) + " " * (left - measure(titled(name)))
            echo(_line([label if at == 0 else " " * left, _coloured(name, line)]))


def titled(name: str) -> str:
    """Return the name of a field as a heading."""
    return name.removesuffix("_at").replace("_", " ")


def human(value: object, *, now: datetime | None = None, nested: bool = False) -> str:
    """Return a value for a table cell, with relative times, shortened ids and no JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return ago(value, now or datetime.now(UTC))
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, dict):
        inside = ", ".join(f"{cell(str(key))}: {human(item, now=now, nested=True)}" for key, item in value.items())
        return f"({inside})" if nested else inside
    if isinstance(value, list | tuple):
        inside = ", ".join(human(item, now=now, nested=True) for item in value)
        return f"[{inside}]" if nested and len(value) != 1 else inside
    text = cell(str(value))
    return f"…{text[-SHORT_ID_CHARACTERS:]}" if _GENERATED.fullmatch(text) else text


def spelled(value: object, *, now: datetime) -> str:
    """Return a value on its own line, with full ids and both absolute and relative times."""
    if isinstance(value, datetime):
        return f"{value.astimezone():%d %b %Y %H:%M:%S} ({ago(value, now)})"
    if isinstance(value, dict):
        return "\n".join(f"{cell(str(key))}: {human(item, now=now, nested=True)}" for key, item in value.items())
    if isinstance(value, list | tuple) and any(isinstance(item, dict) for item in value):
        return "\n".join(human(item, now=now) for item in value)
    return cell(value) if isinstance(value, str) else human(value, now=now)


def ago(moment: datetime, now: datetime) -> str:
    """Return a time relative to now (`3 h ago`), or as a date if it is more than a week away."""
    seconds = (now - moment).total_seconds()
    near = abs(seconds)
    if near < 45:
        return "just now" if seconds >= 0 else "in a moment"
    for limit, unit, name in ((2700, 60, "min"), (79_200, 3600, "h"), (86_400 * 6.5, 86_400, "d")):
        if near < limit:
            count = f"{max(round(near / unit), 1)} {name}"
            return f"{count} ago" if seconds > 0 else f"in {count}"
    return f"{moment.astimezone():%d %b}" if near < 86_400 * 300 else f"{moment.astimezone():%d %b %Y}"


def url_without_password(url: str) -> str:
    """Return a URL for display, without its user, password or query."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}" if separator else url


def masked_note(kinds: Iterable[str]) -> str:
    """Return the end of a line about something that was stored, which says what the gate masked in it."""
    names = ", ".join(kinds)
    return f" (masked: {names})" if names else ""


def without_passwords(text: str) -> str:
    """Return a message without the user names and passwords of the URLs in it."""
    text = re.sub(r"(?<=://)[^\s'\"]*@", "", text)
    return re.sub(r"(?i)(?<=\bpassword=)[^\s&'\"]+", "…", text)


def cell(value: object) -> str:
    """Return text with control characters escaped, so that content cannot send commands to the terminal."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else human(value)
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def measure(text: str) -> int:
    """Return the number of columns that a text's longest line takes up. Wide characters take two columns, and combining
    characters take none."""
    return max((sum(map(_columns_of, line)) for line in text.split("\n")), default=0)


def _columns_of(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fitted(natural: Sequence[int], room: int) -> list[int]:
    """Return column widths that fit the available width. The widest column is narrowed first, down to `NARROWEST`."""
    widths = list(natural)
    while sum(widths) + GAP_COLUMNS * (len(widths) - 1) > room and max(widths) > MIN_COLUMN_WIDTH:
        widths[widths.index(max(widths))] -= 1
    return widths


def wrap(text: str, width: int) -> list[str]:
    """Return the lines of a text wrapped to a width, at spaces if possible."""
    lines: list[str] = []
    for line in text.replace("\t", "    ").split("\n"):
        while measure(line) > width:
            cut = _fitting(line, width)
            space = line.rfind(" ", 0, cut + 1)
            at = space if space > 0 else cut
            lines.append(line[:at].rstrip())
            line = line[at:].lstrip()
        lines.append(line)
    return lines


def _fitting(line: str, width: int) -> int:
    """Return how many characters fit into a width, at least one."""
    taken = 0
    for at, char in enumerate(line):
        taken += _columns_of(char)
        if taken > width:
            return max(at, 1)
    return len(line)


def _columns(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    return ([head, *column] for head, *column in zip(heads, *cells, strict=True))


def _line(parts: Sequence[str]) -> str:
    return (" " * GAP_COLUMNS).join(parts).rstrip()


def _row(names: Sequence[str], parts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    """Return a line of a table. Padding is outside the colour codes, so that trailing spaces can be stripped."""
    filled = max((at for at, part in enumerate(parts) if part), default=-1) + 1
    shown = []
    for at in range(filled):
        space = " " * (widths[at] - measure(parts[at]))
        coloured = _coloured(names[at], parts[at])
        shown.append(space + coloured if right[at] else coloured + space)
    return _line(shown)


def _coloured(name: str, text: str) -> str:
    """Return the text in its colour, which depends on the column for ids and times, and on the meaning for states."""
    if not text:
        return text
    if name == "heading":
        return click.style(text, bold=True)
    if name in _MEANT:
        word = text.strip()
        colour = "green" if word in _GOOD else "yellow" if word in _UNSURE else "red" if word in _BAD else None
        return click.style(text, fg=colour) if colour else text
    if name.endswith("_at") or name in ("version", "last_used", "leased_until", "seq"):
        return click.style(text, dim=True)
    return click.style(text, fg="cyan") if name in ("id", "key", "subject", "task_id") else text


@contextmanager
def progress(label: str) -> Iterator[Callable[..., None]]:
    """Show a running count on a terminal, and nothing elsewhere.

    Yields a function to call with the amount of progress.
    """
    done = 0

    def more(*counts: object) -> None:
        nonlocal done
        done += next((argument for argument in counts if isinstance(argument, int)), 1)
        show(f"{label}: {done:,}")

    with _status_line() as show:
        yield more


@contextmanager
def bar(label: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show a progress bar on a terminal, and nothing elsewhere.

    Yields a function to call with (done, total or None).
    """
    began = time.monotonic()

    def more(done: int, total: int | None) -> None:
        rate = done / max(time.monotonic() - began, 0.001)
        filled = BAR_WIDTH * done // total if total else 0
        drawn = f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {100 * done // total:3d}%  " if total else ""
        show(f"{label} {drawn}{done:,}  {rate:,.0f}/s")

    with _status_line() as show:
        yield more


@contextmanager
def _status_line() -> Iterator[Callable[[str], None]]:
    """Yield a function that replaces the last line of a terminal. The line is cleared at the end."""
    is_terminal = sys.stderr.isatty()

    def show(text: str) -> None:
        if is_terminal:
            click.echo(f"\r\x1b[K{text}", err=True, nl=False)

    try:
        yield show
    finally:
        show("")
