"""How much each feature counts.

Learned, but for those in `FIXED`, by `python bench/recall/learn.py` (first column) and
`python bench/recall/learn.py --embedder none` (second); what they mean is in `features.py`.
The first column is for recall with vectors, the second without.
"""

from __future__ import annotations

TABLE: dict[str, tuple[float, float]] = {
    "text": (0.22, 0.54),
    "text_best": (0.6, 0.83),
    "context": (0.54, 1.14),
    "both": (0.8, 1.08),
    "both_best": (1.01, 1.16),
    "pairs": (0.89, 1.0),
    "session_terms": (1.67, 1.9),
    "session_best": (0.81, 1.16),
    "before": (0.21, 0.69),
    "after": (0.0, 0.54),
    "cosine": (0.5, 0.0),
    "cosine_standard": (0.72, 0.0),
    "cosine_previous": (0.48, 0.0),
    "cosine_around": (0.33, 0.0),
    "session_cosine": (0.59, 0.0),
    "speaker": (1.49, 1.48),
    "speaker_first": (0.56, 0.48),
    "asks": (-0.17, -0.06),
    "user": (0.17, -0.06),
    "short": (0.32, 0.0),
    "long": (-0.01, -0.05),
    "length": (0.68, 0.61),
    "times": (0.42, 0.27),
    "when_times": (0.96, 0.89),
    "numbers": (1.66, 1.75),
    "reacts": (-0.37, -0.39),
    "first": (0.48, 0.43),
    "second": (-1.01, -1.3),
    "second_other": (0.39, 0.4),
    "names": (0.78, 0.64),
    "name_names": (1.65, 1.68),
    "user_first": (0.22, 0.0),
    "date": (1.92, 1.74),
    "date_near": (1.89, 1.86),
    "recency": (2.07, 2.22),
    "recency_people": (0.0, 0.0),
    "standing": (0.3, 0.3),
    "confidence": (1.0, 1.0),
    "uses": (0.1, 0.1),
    "trust": (0.5, 0.5),
}
FIXED = frozenset({"standing", "confidence", "uses", "trust"})
"""Set by hand: the data they were learned on says nothing about these."""
CENTRE = 4.0
"""The raw score that becomes 0.5."""
