"""How much each feature counts.

Learned, but for those in `FIXED`, by `python bench/recall/learn.py`; what they mean is in `features.py`.
The first column is for recall with vectors, the second without.
"""

from __future__ import annotations

TABLE: dict[str, tuple[float, float]] = {
    "text": (0.0, 0.26),
    "text_best": (0.5, 1.23),
    "context": (0.4, 1.23),
    "both": (0.35, 1.16),
    "both_best": (1.5, 1.83),
    "pairs": (0.65, 1.05),
    "session_terms": (1.67, 2.12),
    "session_best": (1.23, 2.09),
    "before": (0.54, 1.35),
    "after": (0.13, 1.03),
    "cosine": (0.54, 0.0),
    "cosine_standard": (0.98, 0.0),
    "cosine_previous": (0.17, 0.0),
    "cosine_around": (0.25, 0.0),
    "session_cosine": (1.15, 0.0),
    "speaker": (1.4, 1.42),
    "speaker_first": (0.53, 0.53),
    "asks": (-0.13, 0.0),
    "user": (0.29, 0.06),
    "short": (0.47, 0.24),
    "long": (-0.37, -0.38),
    "length": (0.59, 0.67),
    "times": (0.53, 0.36),
    "when_times": (0.74, 0.81),
    "numbers": (1.41, 1.31),
    "reacts": (-0.12, -0.16),
    "first": (0.57, 0.65),
    "second": (-0.49, -0.67),
    "second_other": (0.13, 0.16),
    "names": (0.76, 0.54),
    "name_names": (0.96, 0.9),
    "user_first": (1.31, 1.67),
    "date": (1.92, 1.97),
    "date_near": (2.15, 2.15),
    "recency": (2.44, 2.73),
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
