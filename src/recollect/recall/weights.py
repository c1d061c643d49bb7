"""How much each feature counts; what they mean is in `features.py`.

Learned, save those in `FIXED`, by `python bench/recall/learn.py` (first column), with `--embedder none` (second) from
120 candidates of each arm. The third was learned by the same `fit` from LoCoMo embedded by MiniLM, and RealMem and
LongMemEval by the default embedder. The first is for vectors that average words, the second for none, the third for
vectors of an embedder that reads whole sentences.
"""

from __future__ import annotations

TABLE: dict[str, tuple[float, float, float]] = {
    "text": (0.22, 0.54, 0.2),
    "text_best": (0.6, 0.83, 0.47),
    "context": (0.54, 1.14, 0.54),
    "both": (0.8, 1.08, 0.82),
    "both_best": (1.01, 1.16, 0.92),
    "pairs": (0.89, 1.0, 0.86),
    "session_terms": (1.67, 1.9, 1.61),
    "session_best": (0.81, 1.16, 0.65),
    "before": (0.21, 0.69, 0.12),
    "after": (0.0, 0.54, 0.03),
    "cosine": (0.5, 0.0, 0.97),
    "cosine_standard": (0.72, 0.0, 1.15),
    "cosine_previous": (0.48, 0.0, 0.39),
    "cosine_around": (0.33, 0.0, 0.29),
    "session_cosine": (0.59, 0.0, 0.42),
    "speaker": (1.49, 1.48, 1.51),
    "speaker_first": (0.56, 0.48, 0.56),
    "asks": (-0.17, -0.06, -0.25),
    "user": (0.17, -0.06, -0.08),
    "short": (0.32, 0.0, 0.33),
    "long": (-0.01, -0.05, -0.02),
    "length": (0.68, 0.61, 0.48),
    "times": (0.42, 0.27, 0.46),
    "when_times": (0.96, 0.89, 0.75),
    "numbers": (1.66, 1.75, 1.74),
    "reacts": (-0.37, -0.39, -0.26),
    "first": (0.48, 0.43, 0.49),
    "second": (-1.01, -1.3, -0.7),
    "second_other": (0.39, 0.4, 0.2),
    "names": (0.78, 0.64, 0.86),
    "name_names": (1.65, 1.68, 1.53),
    "user_first": (0.22, 0.0, 0.0),
    "date": (1.92, 1.74, 1.84),
    "date_near": (1.89, 1.86, 1.81),
    "recency": (2.07, 2.22, 1.79),
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
