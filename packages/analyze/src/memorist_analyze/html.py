"""Writes analyses as one self-contained HTML page, which contains the Markdown reports and the source behind every
location."""

from __future__ import annotations

import re
from html import escape

from memorist_analyze.analysis import Analysis
from memorist_analyze.markdown import as_markdown
from memorist_analyze.matrix import COLUMNS, matrix

_LINES_AROUND = 3
_LOCATION = re.compile(r"^(.+):L(\d+)$")
_CODE = re.compile(r"`([^`]+)`")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_CELL = re.compile(r"(?<!\\)\|")
_STYLE = """
:root{--ink:#1c2430;--soft:#5b6675;--line:#dde3ea;--paper:#fff;--tint:#f5f7fa;--accent:#2457c5}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#2c3643;--paper:#12171e;--tint:#1a212b;
--accent:#82aaff}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:1020px;margin:0 auto;padding:32px 24px 96px}h1{font-size:26px;margin:0 0 4px}
h2{font-size:22px;margin:56px 0 4px;padding-top:16px;border-top:2px solid var(--line)}
h3{font-size:17px;margin:36px 0 10px}
a{color:var(--accent);text-decoration:none}a:hover,a:focus{text-decoration:underline}
nav{display:flex;flex-wrap:wrap;gap:6px 16px}.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;vertical-align:top;padding:8px 12px 8px 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600;white-space:nowrap}code,pre{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
td code{overflow-wrap:anywhere}pre{background:var(--tint);border:1px solid var(--line);border-radius:8px;
padding:10px 14px;overflow-x:auto;margin:6px 0}pre b{color:var(--accent)}
.evidence:target pre{border-color:var(--accent)}
"""


class _Page:
    """Holds one framework's section: its Markdown as HTML, and the excerpts that its locations link to."""

    def __init__(self, analysis: Analysis, prefix: str) -> None:
        self.root = analysis.checkout.root
        self.prefix = prefix
        self.ids: dict[tuple[str, int], str] = {}

    def render(self, text: str) -> str:
        """Return headings, tables, lists and paragraphs. A report contains nothing else."""
        parts = [self._block(block.split("\n")) for block in text.strip().split("\n\n")]
        return "\n".join([*parts, "<h3>Evidence</h3>", *(self._excerpt(*key) for key in list(self.ids))])

    def _block(self, lines: list[str]) -> str:
        first = lines[0]
        if first.startswith("## "):
            return f'<h2 id="{self.prefix}">{self._inline(first[3:])}</h2>'
        if first.startswith("### "):
            return f"<h3>{self._inline(first[4:])}</h3>"
        if first.startswith("|"):
            return table(self._cells(first), [self._cells(line) for line in lines[2:]])
        if first.startswith("- "):
            return f"<ul>{''.join(f'<li>{self._inline(line[2:])}</li>' for line in lines)}</ul>"
        return f"<p>{self._inline(' '.join(lines))}</p>"

    def _cells(self, line: str) -> list[str]:
        return [self._inline(cell.strip().replace("\\|", "|")) for cell in _CELL.split(line)[1:-1]]

    def _inline(self, text: str) -> str:
        parts = _CODE.split(text)
        return "".join(
            self._code(part) if at % 2 else _BOLD.sub(r"<strong>\1</strong>", escape(part))
            for at, part in enumerate(parts)
        )

    def _code(self, text: str) -> str:
        location = _LOCATION.match(text)
        if location is None or not (self.root / location[1]).is_file():
            return f"<code>{escape(text)}</code>"
        name = self.ids.setdefault((location[1], int(location[2])), f"{self.prefix}-{len(self.ids) + 1}")
        return f'<a href="#{name}"><code>{escape(text)}</code></a>'

    def _excerpt(self, path: str, line: int) -> str:
        lines = (self.root / path).read_text(encoding="utf-8", errors="replace").splitlines()
        numbered: list[str] = []
        for at in range(max(1, line - _LINES_AROUND), min(len(lines), line + _LINES_AROUND) + 1):
            text = f"{at:>5}  {escape(lines[at - 1][:160])}"
            numbered.append(f"<b>{text}</b>" if at == line else text)
        rows = "\n".join(numbered)
        location = escape(f"{path}:L{line}")
        return f'<div class="evidence" id="{self.ids[path, line]}"><code>{location}</code><pre>{rows}</pre></div>'


def as_html(analyses: list[Analysis], *, compare: bool = False) -> str:
    """Return one page for all frameworks, starting with the matrix if it was requested."""
    title = "Memory Orchestration Analysis" + (f": {analyses[0].name}" if len(analyses) == 1 else "")
    links = "".join(f'<a href="#f{i}">{escape(a.name)}</a>' for i, a in enumerate(analyses))
    body = [f"<h1>{escape(title)}</h1>", f"<nav>{links}</nav>" if len(analyses) > 1 else ""]
    if compare:
        rows = matrix(analyses)["rows"]
        cells = [[column, *(escape(", ".join(rows[a.name][column]) or "none") for a in analyses)] for column in COLUMNS]
        body.append("<h2>Matrix</h2>" + table(["", *(escape(a.name) for a in analyses)], cells))
    body += [_Page(a, f"f{i}").render(as_markdown(a)) for i, a in enumerate(analyses)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def table(headings: list[str], rows: list[list[str]]) -> str:
    """Return a table that scrolls sideways on a narrow screen. The cells are already HTML."""
    head = "".join(f"<th>{h}</th>" for h in headings)
    body = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
