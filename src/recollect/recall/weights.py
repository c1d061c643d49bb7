"""How much each feature counts; what they mean is in `features.py`.

Learned, save those in `FIXED`, by `python bench/recall/learn.py`, each column from all three sets: the first with the
default embedder, the second with `--embedder none`, the third with `--embedder minilm`. The first is for vectors that
average words, the second for none, the third for vectors of an embedder that reads whole sentences.
"""

from __future__ import annotations

TABLE: dict[str, tuple[float, float, float]] = {
    "text": (0.22, 0.57, 0.22),
    "text_best": (0.6, 0.8, 0.48),
    "context": (0.51, 1.17, 0.45),
    "both": (0.8, 1.11, 0.81),
    "both_best": (1.01, 1.14, 0.89),
    "pairs": (0.9, 0.98, 0.93),
    "session_terms": (1.68, 1.87, 1.53),
    "session_best": (0.8, 1.13, 0.6),
    "before": (0.23, 0.7, 0.05),
    "after": (0.02, 0.55, 0.0),
    "cosine": (0.5, 0.0, 0.91),
    "cosine_standard": (0.7, 0.0, 1.14),
    "cosine_previous": (0.49, 0.0, 0.44),
    "cosine_around": (0.32, 0.0, 0.35),
    "session_cosine": (0.58, 0.0, 0.63),
    "speaker": (1.48, 1.46, 1.51),
    "speaker_first": (0.53, 0.49, 0.56),
    "asks": (-0.15, -0.05, -0.26),
    "user": (0.17, -0.06, -0.02),
    "short": (0.3, 0.0, 0.35),
    "long": (-0.01, -0.04, 0.12),
    "length": (0.64, 0.57, 0.45),
    "times": (0.41, 0.29, 0.41),
    "when_times": (1.0, 0.77, 0.85),
    "numbers": (1.64, 1.8, 1.63),
    "reacts": (-0.36, -0.37, -0.27),
    "first": (0.44, 0.37, 0.54),
    "second": (-1.05, -1.3, -0.62),
    "second_other": (0.39, 0.35, 0.18),
    "names": (0.76, 0.75, 0.85),
    "name_names": (1.56, 1.56, 1.6),
    "user_first": (0.22, 0.0, 0.07),
    "date": (1.9, 1.7, 1.82),
    "date_near": (1.86, 1.84, 1.98),
    "recency": (2.07, 2.23, 1.94),
    "recency_people": (0.0, 0.0, 0.0),
    "standing": (0.3, 0.3, 0.3),
    "confidence": (1.0, 1.0, 1.0),
    "uses": (0.1, 0.1, 0.1),
    "trust": (0.5, 0.5, 0.5),
}
FIXED = frozenset({"standing", "confidence", "uses", "trust"})
"""Set by hand: the data they were learned on says nothing about these."""
CENTRE = 4.0
"""The raw score that becomes 0.5."""
