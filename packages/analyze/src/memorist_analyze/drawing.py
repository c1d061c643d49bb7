"""The drawing of a framework's memory: assembly order above, tiers below, as SVG."""

from __future__ import annotations

from html import escape

from memorist_analyze.analysis import Analysis

# The width of a phone screen, in pixels; the drawing is not scaled on larger screens.
_WIDTH = 360
_BOX_HEIGHT = 40
_ROW = _BOX_HEIGHT + 22
_GAP = 26
_PER_ROW = 2
_TIER_HEIGHT = 76
_INSET = {"working": 0, "session": 10, "persistent": 20}
_LETTERS = 46  # that fit a line of a tier


def drawing(analysis: Analysis) -> str:
    """A self-contained SVG of what goes into the context and where memory lives."""
    rows = _rows(analysis.assembly.order)
    top = 34
    tiers_at = top + len(rows) * _ROW + 16
    height = tiers_at + 20 + max(1, len(analysis.tiers)) * (_TIER_HEIGHT + 10)
    parts = [
        f'<svg viewBox="-2 0 {_WIDTH + 4} {height}" role="img" aria-label="Assembly order and memory tiers of '
        f'{escape(analysis.name)}" xmlns="http://www.w3.org/2000/svg">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" class="tip"/></marker></defs>',
        f'<text x="0" y="18" class="label">Context, first to last</text>{_order(rows, top)}',
        f'<text x="0" y="{tiers_at}" class="label">Memory, nearest to furthest</text>{_tiers(analysis, tiers_at + 16)}',
        "</svg>",
    ]
    return "\n".join(parts)


def _rows(order: list[str]) -> list[list[str]]:
    slots = order or ["not determined"]
    return [slots[i : i + _PER_ROW] for i in range(0, len(slots), _PER_ROW)]


def _order(rows: list[list[str]], top: int) -> str:
    width = (_WIDTH - _GAP * (_PER_ROW - 1)) / _PER_ROW
    parts: list[str] = []
    for y, row in enumerate(rows):
        line = top + y * _ROW
        for x, slot in enumerate(row):
            left = x * (width + _GAP)
            middle = line + _BOX_HEIGHT / 2
            parts.append(
                f'<g><rect x="{left:.0f}" y="{line}" width="{width:.0f}" height="{_BOX_HEIGHT}" rx="8" '
                f'class="slot slot-{escape(slot.replace(" ", "-"))}"/>'
                f'<text x="{left + width / 2:.0f}" y="{middle + 5:.0f}" class="in">'
                f"{escape(slot.replace('_', ' '))}</text></g>"
            )
            if x + 1 < len(row):
                parts.append(
                    f'<line x1="{left + width + 3:.0f}" y1="{middle:.0f}" x2="{left + width + _GAP - 3:.0f}" '
                    f'y2="{middle:.0f}" class="arrow" marker-end="url(#tip)"/>'
                )
        if y + 1 < len(rows):
            below = line + _BOX_HEIGHT
            parts.append(
                f'<path d="M{_WIDTH - width / 2:.0f} {below + 2} v8 H{width / 2:.0f} v9" class="arrow" '
                'marker-end="url(#tip)"/>'
            )
    return "".join(parts)


def _tiers(analysis: Analysis, top: int) -> str:
    parts: list[str] = []
    for at, tier in enumerate(analysis.tiers):
        inset = _INSET.get(tier.tier, 20)
        y = top + at * (_TIER_HEIGHT + 10)
        lines = [", ".join(tier.storage), ", ".join(tier.retrieval), tier.capacity]
        said = "".join(
            f'<text x="{inset + 14}" y="{y + 36 + 15 * number}" class="small">{escape(_short(line, _LETTERS))}</text>'
            for number, line in enumerate(line for line in lines if line)
        )
        parts.append(
            f'<rect x="{inset}" y="{y}" width="{_WIDTH - 2 * inset}" height="{_TIER_HEIGHT}" rx="8" '
            f'class="tier tier-{escape(tier.tier)}"/>'
            f'<text x="{inset + 14}" y="{y + 20}" class="strong">{escape(tier.tier)}</text>{said}'
        )
    return "".join(parts) or f'<text x="0" y="{top + 20}" class="small">not determined</text>'


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
