"""The confidence of each rule: its measured precision on frameworks that people labelled by hand.

`bench/analyze/run.py --calibrate` makes the counts. The precision is smoothed with a prior: four pseudo-observations at
the mean precision of all rules, so that two correct findings give less confidence than twenty.
"""

from __future__ import annotations

_WEIGHT = 4

# rule: (correct findings, reported findings)
SEEN: dict[str, tuple[int, int]] = {
    "dedup.content": (0, 1),
    "dedup.unseen": (1, 3),
    "elision.content": (10, 25),
    "elision.shortened": (4, 12),
    "fifo.forgotten": (2, 2),
    "fifo.kept": (1, 2),
    "fifo.newest": (1, 3),
    "fifo.popped": (0, 1),
    "fifo.queried": (2, 4),
    "fifo.tail": (18, 20),
    "importance.budgeted": (1, 2),
    "importance.model-ranked": (1, 1),
    "importance.ranked-prefix": (1, 1),
    "importance.recalled": (2, 2),
    "offload.stored": (4, 7),
    "provider.asked": (1, 2),
    "reset.cleared": (1, 11),
    "summary.forgotten": (2, 2),
    "summary.in-front": (1, 2),
    "summary.kept-aside": (2, 4),
    "summary.rebuilt": (16, 17),
    "summary.refilled": (3, 3),
    "summary.sized-content": (1, 1),
    "token-window.filled": (2, 2),
    "token-window.searched": (1, 1),
    "token-window.trimmed": (5, 6),
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
