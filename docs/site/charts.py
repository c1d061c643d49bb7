"""Charts of the benchmarks, drawn from the tables in `bench/*.md` that the benchmarks write.

A chart names the heading above a table and the rows to draw. This file contains no numbers of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

from svg import Drawing

BENCH = Path(__file__).resolve().parents[2] / "bench"
OURS, THEIRS = "green", "blue"
Bar = tuple[str, float, str, str]
"""A label, a value, the text next to the bar, and the colour of the bar."""


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading, without its header row."""
    text = (BENCH / page).read_text("utf-8")
    start = text.find(heading)
    if start < 0:
        raise SystemExit(f"bench/{page} has no heading {heading!r}")
    lines = text[start:].splitlines()[1:]
    table: list[list[str]] = []
    for line in lines:
        if line.startswith("|"):
            table.append([cell.strip().strip("*") for cell in line.strip("|").split("|")])
        elif table:
            break
    return table[2:]


def number(cell: str) -> float:
    """Return the first number of a cell in the smallest unit, which is microseconds for times."""
    found = re.search(r"([\d,.]+)\s*(µs|ms|s\b)?", cell)
    if found is None:
        raise SystemExit(f"no number in {cell!r}")
    scale = {"ms": 1000.0, "s": 1e6}.get(found.group(2) or "", 1.0)
    return float(found.group(1).replace(",", "").rstrip(".")) * scale


def time(micros: float) -> str:
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if micros >= limit:
            return f"{micros / limit:.3g} {unit}"
    return f"{micros:.3g} µs"


def bars(title: str, note: str, data: list[Bar], *, log: bool = False, top: float | None = None) -> Drawing:
    """Draw horizontal bars under a title, on a logarithmic scale if the values differ by orders of magnitude."""
    height = 74 + 30 * len(data) + 20
    d = Drawing(880, height, title)
    d.words(20, 28, title, "title")
    d.words(20, 48, note, "small")
    values = [value for _, value, _, _ in data]
    most = top or max(values)
    least = min(v for v in values if v > 0)
    for at, (label, value, text, fill) in enumerate(data):
        y = 66 + 30 * at
        share = math.log10(max(value, least) / least * 2) / math.log10(most / least * 2) if log else value / most
        width = max(2, round(430 * share))
        d.words(330, y + 16, label, "small", "end")
        d.parts.append(f'<rect class="box" x="340" y="{y}" width="{width}" height="22" rx="3" fill="var(--{fill})"/>')
        d.words(348 + width, y + 16, text, "small")
    return d


def _beside(page: str, heading: str, title: str, note: str) -> Drawing:
    data: list[Bar] = []
    found = rows(page, heading)
    ours = sorted(number(row[1]) for row in found)
    middle = ours[len(ours) // 2]
    data.append(("Memorist", middle, time(middle), OURS))
    for row in found:
        data.append((re.split(r" \(|,", row[0])[0], number(row[2]), time(number(row[2])), THEIRS))
    return bars(title, note, data, log=True)


def append() -> Drawing:
    return _beside(
        "RESULTS.md",
        "### Append one message, RAM disk",
        "Append one message",
        "median time on a RAM disk, logarithmic scale; ours is the middle of the runs beside each peer",
    )


def last_twenty() -> Drawing:
    return _beside(
        "RESULTS.md",
        "### Last 20 messages, RAM disk",
        "Read the last 20 messages of a long thread",
        "median time on a RAM disk, logarithmic scale; thread lengths differ by peer, see the table",
    )


def floor() -> Drawing:
    data: list[Bar] = []
    for row in rows("RESULTS.md", "### Writes and reads, SQLite")[:4]:
        name = row[0].split(", 2")[0].replace("append one message, ", "append, ")
        data += [
            (name, number(row[1]), f"{row[1]}  ({row[3]} ×)", OURS),
            ("bare driver", number(row[2]), row[2], "box"),
        ]
    return bars("Beside the bare SQLite driver", "the same durable work, median of one run in turns", data)


def growth() -> Drawing:
    data: list[Bar] = []
    for row in rows("RESULTS.md", "### Growth and disk, SQLite")[:2]:
        name = row[0].split(" at ")[0]
        data += [
            (f"{name}, 1,000 messages", number(row[2]), row[2], "box"),
            (f"{name}, 1,000,000", number(row[1]), f"{row[1]}  ({row[3]} ×)", OURS),
        ]
    return bars("From 1,000 to 1,000,000 messages", "median time on SQLite: it does not grow with the thread", data)


def cache_share() -> Drawing:
    data = [
        (row[0].replace("`", ""), number(row[1]), row[1], OURS if "cached" in row[0] else THEIRS)
        for row in rows("context.md", "## Prompt cache")
    ]
    return bars(
        "What the provider's prompt cache can serve",
        "share of request tokens that repeat the request before, over 500 turns",
        data,
        top=100,
    )


CHARTS: dict[str, Callable[[], Drawing]] = {
    "append": append,
    "last-twenty": last_twenty,
    "floor": floor,
    "growth": growth,
    "cache-share": cache_share,
}
