"""Draw boxes, arrows, bars and words as an SVG file that contains both light and dark colours."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

STYLE = """
  svg { --ink: #1d2733; --soft: #5b6876; --line: #8a97a5; --paper: #ffffff; --box: #f3f6f9; --edge: #c9d3dd;
        --blue: #dbe9fb; --green: #dcf2e3; --amber: #fcecd0; --red: #fbdfdd; --violet: #e9e1fa; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #e6ebf1; --soft: #a3afbc; --line: #7c8896; --paper: #14191f; --box: #202730; --edge: #3b4653;
          --blue: #1f3a5c; --green: #1d4430; --amber: #54401a; --red: #5a2826; --violet: #3a2f5c; } }
  text { font: 14px system-ui, sans-serif; fill: var(--ink); }
  .small { font-size: 12px; fill: var(--soft); }
  .title { font-weight: 600; }
  .box { stroke: var(--edge); stroke-width: 1.2; }
  .arrow { stroke: var(--line); stroke-width: 1.6; fill: none; marker-end: url(#head); }
  .dashed { stroke-dasharray: 5 4; }
"""


@dataclass
class Drawing:
    """An SVG drawing of boxes, arrows and words, measured in pixels."""

    width: int
    height: int
    says: str
    parts: list[str] = field(default_factory=list)

    def box(self, x: int, y: int, w: int, h: int, title: str, *lines: str, fill: str = "box") -> None:
        self.parts.append(f'<rect class="box" x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="var(--{fill})"/>')
        top = y + h / 2 - 9 * len(lines) + 5
        self.words(x + w // 2, top, title, "title", "middle")
        for at, line in enumerate(lines, 1):
            self.words(x + w // 2, top + 18 * at, line, "small", "middle")

    def frame(self, x: int, y: int, w: int, h: int, title: str) -> None:
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="10" fill="none" stroke="var(--edge)" class="dashed"/>'
        )
        self.words(x + 12, y + 20, title, "small")

    def words(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def arrow(self, *points: tuple[int, int], label: str = "", dashed: bool = False) -> None:
        path = "M" + " L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'<path class="arrow{" dashed" if dashed else ""}" d="{path}"/>')
        if label:
            (ax, ay), (bx, by) = points[0], points[1]
            level = ay == by
            self.words(
                (ax + bx) / 2 + (0 if level else 8),
                (ay + by) / 2 - (7 if level else -4),
                label,
                "small",
                "middle" if level else "start",
            )

    def bar(self, x: int, y: int, h: int, parts: list[tuple[str, int, str]]) -> None:
        """Draw one bar that consists of parts, each with a name, a width and a colour."""
        for name, width, fill in parts:
            self.parts.append(f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{h}" fill="var(--{fill})"/>')
            self.words(x + width // 2, y + h / 2 + 5, name, "small", "middle")
            x += width

    def svg(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" role="img" aria-label="{escape(self.says)}">'
        )
        marker = (
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="var(--line)"/></marker></defs>'
        )
        paper = f'<rect width="{self.width}" height="{self.height}" fill="var(--paper)"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", marker, paper, *self.parts, "</svg>", ""])
