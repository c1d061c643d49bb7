"""The confidence of each rule: its measured precision on labelled frameworks and on first looks at others.

`bench/analyze/run.py --calibrate` makes the counts, also from the verdicts of `unseen-third.json`, `-fourth` and
`-fifth`. The precision is smoothed with a prior: four pseudo-observations at the mean precision of all
rules, so that two correct findings give less confidence than twenty.
"""

from __future__ import annotations

_WEIGHT = 4

# rule: (correct findings, reported findings)
SEEN: dict[str, tuple[int, int]] = {
    "dedup.content": (1, 1),
    "dedup.unseen": (1, 2),
    "elision.content": (22, 34),
    "elision.shortened": (32, 56),
    "fifo.fed": (1, 3),
    "fifo.forgotten": (2, 2),
    "fifo.kept": (1, 1),
    "fifo.newest": (1, 1),
    "fifo.popped": (1, 2),
    "fifo.queried": (3, 6),
    "fifo.shrunk": (0, 2),
    "fifo.tail": (24, 32),
    "importance.budgeted": (1, 2),
    "importance.model-ranked": (1, 1),
    "importance.ranked-prefix": (1, 1),
    "importance.recalled": (4, 4),
    "offload.stored": (14, 20),
    "provider.asked": (3, 4),
    "reset.cleared": (3, 14),
    "summary.flagged": (1, 1),
    "summary.forgotten": (3, 3),
    "summary.in-front": (2, 2),
    "summary.inserted": (3, 3),
    "summary.kept-aside": (3, 3),
    "summary.rebuilt": (22, 24),
    "summary.refilled": (4, 4),
    "summary.removed": (1, 1),
    "summary.sized-content": (1, 1),
    "summary.with-cut": (1, 1),
    "token-window.cut": (0, 1),
    "token-window.filled": (2, 4),
    "token-window.searched": (1, 1),
    "token-window.trimmed": (6, 6),
    "vector.handed-on": (1, 1),
    "vector.indexed": (2, 3),
    "vector.paged": (1, 1),
    "vector.popped": (1, 1),
}


def confidence(rule: str) -> float:
    """The smoothed precision of a rule, between 0 and 1; a rule that was never measured gets the prior."""
    right = sum(r for r, _ in SEEN.values())
    fired = sum(f for _, f in SEEN.values())
    prior = right / fired if fired else 0.6
    own_right, own_fired = SEEN.get(rule, (0, 0))
    return round((own_right + _WEIGHT * prior) / (own_fired + _WEIGHT), 2)
