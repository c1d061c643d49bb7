"""How often each rule was right where people had read the code, and the confidence that follows from it.

The counts are made by `bench/analyze/run.py --calibrate` on the labelled frameworks. A rule's confidence is its
share of
right findings, drawn towards the share of all rules as if it had been seen four times more, so that a rule seen
twice is
not believed like one seen twenty times.
"""

from __future__ import annotations

_WEIGHT = 4

# rule: (right, reported)
SEEN: dict[str, tuple[int, int]] = {}


def confidence(rule: str) -> float:
    """The chance that a finding of this rule is right, as far as the labelled frameworks tell."""
    right = sum(r for r, _ in SEEN.values())
    fired = sum(f for _, f in SEEN.values())
    prior = right / fired if fired else 0.6
    own_right, own_fired = SEEN.get(rule, (0, 0))
    return round((own_right + _WEIGHT * prior) / (own_fired + _WEIGHT), 2)
