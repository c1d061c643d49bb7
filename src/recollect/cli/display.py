"""How values look to people: tables that fit the terminal, times as one says them, colours by meaning.

Written here and not taken from a library: a table of `rich` took longer to load than the memory it shows.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import click

GAP = 2
NARROWEST = 8
"""No column that can be wrapped becomes narrower than this."""
PIPED_COLUMNS = 100
_GENERATED = re.compile(r"[0-9a-hjkmnp-tv-z]{20}|[0-9a-f]{24,64}")
SHORT = 8
"""How many characters of a generated id are shown; commands take them in place of the whole."""

_GOOD = {"active", "done", "ok", "ready", "completed", "yes", "all well", "user"}
_UNSURE = {"pending", "running", "superseded", "waiting", "expired", "paused", "processor", "tool", "web"}
_BAD = {"dead", "failed", "rejected", "deleted", "lost", "no trace", "error"}
_MEANT = ("status", "state", "integrity", "trust")
"""Columns whose words have a colour."""


def columns() -> int:
    """The width to fill."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return shutil.get_terminal_size((PIPED_COLUMNS, 24)).columns if sys.stdout.isatty() else PIPED_COLUMNS


def echo(text: str = "", *, err: bool = False) -> None:
    """Print; colours only on a terminal, or as NO_COLOR and FORCE_COLOR say."""
    colour = False if os.environ.get("NO_COLOR") else True if os.environ.get("FORCE_COLOR") else None
    click.echo(text, err=err, color=colour)


def table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    """Rows under headings, columns aligned, long texts wrapped; columns that are empty everywhere are left out."""
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


def pairs(fields: Sequence[tuple[str, Any]]) -> None:
    """Names and values, one a line; what is long is wrapped beside its name."""
    now = datetime.now(UTC)
    left = max((measure(titled(name)) for name, _ in fields), default=0)
    room = max(columns() - left - GAP, 2 * NARROWEST)
    for name, value in fields:
        lines = [part for line in spelled(value, now=now).split("\n") for part in wrap(line, room)] or [""]
        for at, line in enumerate(lines):
            label = click.style(titled(name), bold=True) + " " * (left - measure(titled(name)))
            echo(_line([label if at == 0 else " " * left, _coloured(name, line)]))


def titled(name: str) -> str:
    """The name of a field as a heading."""
    return name.removesuffix("_at").replace("_", " ")


def human(value: Any, *, now: datetime | None = None, nested: bool = False) -> str:
    """A value in a cell: times from now, ids short, no JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return ago(value, now or datetime.now(UTC))
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, dict):
        inside = ", ".join(f"{cell(str(key))}: {human(one, now=now, nested=True)}" for key, one in value.items())
        return f"({inside})" if nested else inside
    if isinstance(value, list | tuple):
        inside = ", ".join(human(one, now=now, nested=True) for one in value)
        return f"[{inside}]" if nested and len(value) != 1 else inside
    text = cell(str(value))
    return f"…{text[-SHORT:]}" if _GENERATED.fullmatch(text) else text


def spelled(value: Any, *, now: datetime) -> str:
    """A value that has a line of its own: whole ids, the date beside how long ago it was."""
    if isinstance(value, datetime):
        return f"{value.astimezone():%d %b %Y %H:%M:%S} ({ago(value, now)})"
    if isinstance(value, dict):
        return "\n".join(f"{cell(str(key))}: {human(one, now=now, nested=True)}" for key, one in value.items())
    if isinstance(value, list | tuple) and any(isinstance(one, dict) for one in value):
        return "\n".join(human(one, now=now) for one in value)
    return cell(value) if isinstance(value, str) else human(value, now=now)


def ago(moment: datetime, now: datetime) -> str:
    """A moment as one says it: from now where it is near, by date where it is not."""
    seconds = (now - moment).total_seconds()
    near = abs(seconds)
    if near < 45:
        return "just now" if seconds >= 0 else "in a moment"
    for limit, unit, name in ((2700, 60, "min"), (79_200, 3600, "h"), (86_400 * 6.5, 86_400, "d")):
        if near < limit:
            count = f"{max(round(near / unit), 1)} {name}"
            return f"{count} ago" if seconds > 0 else f"in {count}"
    return f"{moment.astimezone():%d %b}" if near < 86_400 * 300 else f"{moment.astimezone():%d %b %Y}"


def lasting(seconds: float) -> str:
    """A length of time."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))


def cell(value: Any) -> str:
    """Text without control characters that would move the cursor."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else human(value)
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def measure(text: str) -> int:
    """How many columns the longest line of a text takes; wide and combining characters counted as terminals do."""
    return max((sum(map(_columns_of, line)) for line in text.split("\n")), default=0)


def _columns_of(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fitted(natural: Sequence[int], room: int) -> list[int]:
    """Column widths that fit: the widest gives way first, down to a few characters."""
    widths = list(natural)
    while sum(widths) + GAP * (len(widths) - 1) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def wrap(text: str, width: int) -> list[str]:
    """The lines of a text within a width, broken at spaces where there are any."""
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
    """How many characters fit into a width, at least one."""
    taken = 0
    for at, char in enumerate(line):
        taken += _columns_of(char)
        if taken > width:
            return max(at, 1)
    return len(line)


def _columns(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    return ([head, *column] for head, *column in zip(heads, *cells, strict=True))


def _line(parts: Sequence[str]) -> str:
    return (" " * GAP).join(parts).rstrip()


def _row(names: Sequence[str], parts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    """A line of a table; colours go on last and around no space, so that nothing trails."""
    filled = max((at for at, part in enumerate(parts) if part), default=-1) + 1
    shown = []
    for at in range(filled):
        space = " " * (widths[at] - measure(parts[at]))
        coloured = _coloured(names[at], parts[at])
        shown.append(space + coloured if right[at] else coloured + space)
    return _line(shown)


def _coloured(name: str, text: str) -> str:
    """Ids and times stand back; words of a state have the colour of what they mean."""
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
    """A running count on a terminal, nothing elsewhere; call what it gives with how much more was done."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    done = 0

    def more(*given: Any) -> None:
        nonlocal done
        done += next((one for one in given if isinstance(one, int)), 1)
        click.echo(f"\r\x1b[K{label}: {done:,}", err=True, nl=False)

    try:
        yield more
    finally:
        click.echo("\r\x1b[K", err=True, nl=False)
