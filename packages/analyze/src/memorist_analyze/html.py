"""Analyses as one self-contained HTML page: no script, no font, no image from elsewhere."""

from __future__ import annotations

from html import escape

from memorist_analyze.analysis import Analysis
from memorist_analyze.assembly import Place
from memorist_analyze.checks import FAILS, verdicts
from memorist_analyze.drawing import drawing
from memorist_analyze.markdown import NAMES
from memorist_analyze.matrix import COLUMNS, matrix

_AROUND = 3

_STYLE = """
:root{--ink:#1c2430;--soft:#5b6675;--line:#dde3ea;--paper:#fff;--tint:#f5f7fa;--accent:#2457c5;--ok:#1a7f4b;--bad:#b3372f}
@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#2c3643;--paper:#12171e;--tint:#1a212b;
--accent:#82aaff;--ok:#5fd39a;--bad:#ff8a80}}
*{box-sizing:border-box}html{scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:1020px;margin:0 auto;padding:32px 24px 96px}
h1{font-size:26px;margin:0 0 4px}h2{font-size:22px;margin:56px 0 4px;padding-top:16px;border-top:2px solid var(--line)}
h3{font-size:17px;margin:36px 0 10px}p{margin:6px 0 14px}.soft{color:var(--soft)}
a{color:var(--accent);text-decoration:none}
a:hover,a:focus{text-decoration:underline}nav{display:flex;flex-wrap:wrap;gap:6px 16px;margin:12px 0 0}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:14px;margin:8px 0}
th,td{text-align:left;vertical-align:top;padding:8px 12px 8px 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600;white-space:nowrap}code,pre{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
td code{overflow-wrap:anywhere}pre{background:var(--tint);border:1px solid var(--line);border-radius:8px;
padding:10px 14px;overflow-x:auto;margin:6px 0}pre b{color:var(--accent);font-weight:700}
.evidence{margin:18px 0;scroll-margin-top:16px}
.evidence:target pre{border-color:var(--accent)}
.tag{display:inline-block;border:1px solid var(--line);border-radius:99px;
padding:1px 10px;font-size:12.5px;white-space:nowrap;color:var(--soft)}.on{color:var(--ok);border-color:currentColor}
.bad{color:var(--bad)}.facts{display:grid;grid-template-columns:max-content 1fr;gap:6px 20px;margin:0}
.facts dt{color:var(--soft)}.facts dd{margin:0;overflow-wrap:anywhere}
svg{width:100%;max-width:520px;height:auto;margin:12px 0 0}
svg text{fill:var(--ink);font:14px system-ui,sans-serif}svg .label{fill:var(--soft);font-size:13px}
svg .in{text-anchor:middle;font-size:13.5px}svg .end{text-anchor:end}svg .small{fill:var(--soft);font-size:12.5px}
svg .strong{font-weight:600}.slot{fill:var(--tint);stroke:var(--accent);stroke-width:1.5}
.arrow{stroke:var(--soft);stroke-width:1.5;fill:none}.tip{fill:var(--soft)}.tier{fill:var(--tint);stroke:var(--line);
stroke-width:1.5}.tier-working{stroke:var(--accent)}
"""


class _Evidence:
    """Numbered excerpts of source, each linked from where it is used."""

    def __init__(self, analysis: Analysis, prefix: str) -> None:
        self.analysis = analysis
        self.prefix = prefix
        self.ids: dict[tuple[str, int], str] = {}
        self.sources: dict[str, list[str]] = {}

    def link(self, path: str, line: int) -> str:
        key = (path, line)
        if key not in self.ids:
            self.ids[key] = f"{self.prefix}-{len(self.ids) + 1}"
        return f'<a href="#{self.ids[key]}"><code>{escape(path)}:L{line}</code></a>'

    def section(self) -> str:
        parts = ["<h3>Evidence</h3>"]
        for (path, line), name in self.ids.items():
            parts.append(
                f'<div class="evidence" id="{name}"><code>{escape(path)}:L{line}</code>'
                f"<pre>{self._excerpt(path, line)}</pre></div>"
            )
        return "\n".join(parts)

    def _excerpt(self, path: str, line: int) -> str:
        if path not in self.sources:
            text = (self.analysis.checkout.root / path).read_text(encoding="utf-8", errors="replace")
            self.sources[path] = text.splitlines()
        lines = self.sources[path]
        shown: list[str] = []
        for at in range(max(1, line - _AROUND), min(len(lines), line + _AROUND) + 1):
            text = f"{at:>5}  {escape(lines[at - 1][:160])}"
            shown.append(f"<b>{text}</b>" if at == line else text)
        return "\n".join(shown)


def as_html(analyses: list[Analysis], *, compare: bool = False) -> str:
    """One page for all frameworks, with the matrix first if asked for."""
    title = "Memory Orchestration Analysis" + (f": {analyses[0].name}" if len(analyses) == 1 else "")
    body = [f"<h1>{escape(title)}</h1>"]
    if len(analyses) > 1:
        links = "".join(f'<a href="#f{i}">{escape(a.name)}</a>' for i, a in enumerate(analyses))
        body.append(f"<nav>{links}</nav>")
    if compare:
        body.append(_matrix(analyses))
    body += [_framework(a, f"f{i}", len(analyses) > 1) for i, a in enumerate(analyses)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def _framework(analysis: Analysis, anchor: str, titled: bool) -> str:
    evidence = _Evidence(analysis, f"{anchor}-e")
    lines = sum(analysis.languages.values())
    aside = ", ".join(f"{n} {reason}" for reason, n in sorted(analysis.checkout.aside.items())) or "nothing"
    heading = f'<h2 id="{anchor}">{escape(analysis.name)}</h2>' if titled else f'<span id="{anchor}"></span>'
    parts = [
        heading,
        f'<p class="soft">{len(analysis.world.files)} files, {lines} lines read; set aside: {escape(aside)}.</p>',
        drawing(analysis),
        "<h3>Context Assembly</h3>",
        _assembly(analysis, evidence),
        "<h3>Eviction Policy</h3>",
        _eviction(analysis, evidence),
        "<h3>Memory Tiers</h3>",
        _tiers(analysis, evidence),
        "<h3>Token Management</h3>",
        _tokens(analysis, evidence),
        "<h3>Checks</h3>",
        _checks(analysis),
        _skipped(analysis),
    ]
    return "\n".join([*parts, evidence.section()])


def _assembly(analysis: Analysis, evidence: _Evidence) -> str:
    found = analysis.assembly
    if not found.order:
        return "<p>Not determined: no function that builds a model's context was found.</p>"
    order = " → ".join(escape(s) for s in found.order)
    sure = "" if found.determined else ' <span class="tag">not determined: the usual order</span>'
    rows = [[escape(slot), _places(found.slots.get(slot, [])[:2], evidence)] for slot in found.order]
    methods = escape(", ".join(found.methods))
    facts = f'<dl class="facts"><dt>Order</dt><dd>{order}{sure}</dd><dt>Method</dt><dd>{methods}</dd></dl>'
    return facts + _table(["slot", "seen at"], rows)


def _eviction(analysis: Analysis, evidence: _Evidence) -> str:
    if not analysis.eviction:
        return "<p>No mechanism found that makes the context smaller.</p>"
    rows: list[list[str]] = []
    for f in analysis.eviction:
        default = '<span class="tag on">default</span>' if f.default_on else '<span class="tag">optional</span>'
        says = escape(f.evidence.partition(": `")[0])
        rows.append([
            f"<strong>{escape(NAMES.get(f.strategy, f.strategy))}</strong><br>{default}",
            escape(", ".join(f.trigger)),
            escape(f.subject),
            f"{evidence.link(f.path, f.line)}<br><span class='soft'>{escape(f.symbol)}: {says}</span>",
            f"{f.confidence:.2f}",
        ])  # fmt: skip
    return _table(["strategy", "trigger", "subject", "location", "confidence"], rows)


def _tiers(analysis: Analysis, evidence: _Evidence) -> str:
    rows = [
        [
            escape(t.tier),
            escape(", ".join(t.storage)),
            escape(t.capacity),
            escape(", ".join(t.retrieval)),
            _places(t.locations[:2], evidence),
        ]
        for t in analysis.tiers
    ]
    return _table(["tier", "storage", "capacity", "retrieval", "location"], rows)


def _tokens(analysis: Analysis, evidence: _Evidence) -> str:
    found = analysis.tokens
    facts = [
        ("Counting", escape(", ".join(found.counting) or "none found")),
        ("Budget allocation", f"<code>{escape(found.budget)}</code>"),
        ("Overflow handling", escape(", ".join(found.overflow))),
    ]
    text = "".join(f"<dt>{k}</dt><dd>{v}</dd>" for k, v in facts)
    rows = [[escape(p.role), _places([p], evidence), f"<code>{escape(p.why)}</code>"] for p in found.locations[:12]]
    return f'<dl class="facts">{text}</dl>' + (_table(["role", "location", "evidence"], rows) if rows else "")


def _checks(analysis: Analysis) -> str:
    rows = [
        [
            escape(v.rule),
            f'<span class="{"bad" if v.status == FAILS else "tag"}">{escape(v.status)}</span>',
            escape(v.message) + "".join(f" <code>{escape(w)}</code>" for w in v.where[:4]),
        ]
        for v in verdicts(analysis)
    ]
    return _table(["check", "answer", "why"], rows)


def _skipped(analysis: Analysis) -> str:
    skipped = sorted(analysis.checkout.skipped)
    if not skipped:
        return ""
    items = "".join(f"<li><code>{escape(path)}</code>: {escape(reason)}</li>" for path, reason in skipped[:20])
    return f"<h3>Not read</h3><ul>{items}</ul>"


def _matrix(analyses: list[Analysis]) -> str:
    rows = matrix(analyses)["rows"]
    cells = [
        [f"<strong>{column}</strong>", *(escape(", ".join(rows[a.name][column]) or "none") for a in analyses)]
        for column in COLUMNS
    ]
    return "<h2>Matrix</h2>" + _table(["", *(escape(a.name) for a in analyses)], cells)


def _places(places: list[Place], evidence: _Evidence) -> str:
    if not places:
        return '<span class="soft">not determined</span>'
    return "<br>".join(f'{evidence.link(p.path, p.line)} <span class="soft">{escape(p.symbol)}</span>' for p in places)


def _table(headings: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{h}</th>" for h in headings)
    body = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
