"""Eviction rules, as data.

A rule fires on one effect of one function when every condition in `needs` holds and none in `unless` does. Conditions
are named in `conditions.py`; effects come from `effects.py`. To add a rule: write a positive and a negative snippet in
`tests/analyze/snippets.py`, add a `Rule` here, and only then a condition if the existing ones do not say it. A rule
rests on what code does, never on the name of a framework.

Rules are tried in the order below; `BEATS` in `findings.py` says which strategy a function keeps when several fire.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """When an effect means a strategy."""

    id: str
    strategy: str
    effects: tuple[str, ...]
    needs: tuple[str, ...]
    unless: tuple[str, ...] = ()
    confidence: float = 0.7
    says: str = ""


# Telemetry and detectors look; listings, clones and exports copy; helpers that split decide nothing themselves.
_NOISE = ("aside_place", "answers_yes_or_no", "lists_or_copies")

RULES: tuple[Rule, ...] = (
    Rule(
        "summary.rebuilt",
        "summarization",
        ("rebuild",),
        ("message_list", "kept_somewhere", "summary_evidence", "model_near"),
        _NOISE,
        0.85,
        "a message list is rebuilt from a model's summary and the messages kept",
    ),
    Rule(
        "summary.refilled",
        "summarization",
        ("refill",),
        ("summary_evidence", "model_near_or_beside"),
        _NOISE,
        0.85,
        "the stored messages are cleared and refilled with a model's summary",
    ),
    Rule(
        "summary.forgotten",
        "summarization",
        ("removal",),
        ("with_summary", "model_near"),
        _NOISE,
        0.9,
        "ids of removed messages are returned together with a model's summary",
    ),
    Rule(
        "summary.inserted",
        "summarization",
        ("summary_put",),
        ("message_list", "leaves_as_messages", "model_near", "summary_named"),
        (*_NOISE, "writes_prompt"),
        0.7,
        "a model's summary is put into the message list that is given back",
    ),
    Rule(
        "summary.field",
        "summarization",
        ("summary_field",),
        ("model_near", "stands_for_messages"),
        _NOISE,
        0.7,
        "a model's summary is kept beside the messages and shown instead of them",
    ),
    Rule(
        "importance.model-ranked",
        "importance_scoring",
        ("removal", "filter"),
        ("message_list", "model_here", "prompt_ranks", "score_words", "no_summary_value"),
        _NOISE,
        0.8,
        "a language model ranks the messages and the lowest are removed",
    ),
    Rule(
        "importance.budgeted",
        "importance_scoring",
        ("score_sort",),
        ("token_guard_in_function", "cuts"),
        _NOISE,
        0.75,
        "items sorted by score or priority are cut when a token budget is reached",
    ),
    Rule(
        "importance.ranked-prefix",
        "importance_scoring",
        ("ranked_cut",),
        ("token_guard_in_function",),
        _NOISE,
        0.75,
        "a prefix of ranked items is chosen to fit a token budget",
    ),
    Rule(
        "importance.sorted-messages",
        "importance_scoring",
        ("score_sort",),
        ("message_list", "strong_subject", "cuts_slice"),
        _NOISE,
        0.65,
        "messages sorted by score are cut to a number",
    ),
    Rule(
        "token-window.trimmed",
        "token_window",
        ("token_trim",),
        ("message_list",),
        (*_NOISE, "splits", "for_summary"),
        0.85,
        "messages are taken away in a loop until the token count fits",
    ),
    Rule(
        "token-window.filled",
        "token_window",
        ("token_fill",),
        ("message_list", "stops_or_backwards", "gives_messages"),
        (*_NOISE, "splits", "for_summary"),
        0.75,
        "messages are gathered while their tokens fit a limit, and the rest is left out",
    ),
    Rule(
        "token-window.searched",
        "token_window",
        ("slice",),
        ("message_list", "binary_search", "gives_messages"),
        (*_NOISE, "splits", "for_summary"),
        0.75,
        "the longest run of messages that fits a token limit is found by halving",
    ),
    Rule(
        "token-window.cut",
        "token_window",
        ("slice",),
        ("message_list", "keeps_tail", "goes_somewhere", "cut_by_token_helper"),
        _NOISE,
        0.7,
        "a message list is cut at an index found by adding up tokens",
    ),
    Rule(
        "fifo.tail",
        "fifo_message_count",
        ("slice",),
        ("message_list", "keeps_variable_tail", "goes_to_context"),
        (*_NOISE, "token_guarded", "for_summary"),
        0.8,
        "only the newest messages, a variable number of them, go on",
    ),
    Rule(
        "fifo.shrunk",
        "fifo_message_count",
        ("slice",),
        ("message_list", "keeps_tail", "back_into_itself", "strong_subject", "goes_to_context"),
        (*_NOISE, "token_guarded"),
        0.8,
        "a message list is overwritten by its own tail",
    ),
    Rule(
        "fifo.trimmed",
        "fifo_message_count",
        ("slice",),
        ("message_list", "keeps_tail", "goes_somewhere", "strong_subject", "named_for_trimming"),
        (*_NOISE, "token_guarded", "for_summary"),
        0.7,
        "a function made for trimming returns the tail of a message list",
    ),
    Rule(
        "fifo.forgotten",
        "fifo_message_count",
        ("removal",),
        ("slices_in_function", "no_model_here"),
        (*_NOISE, "with_summary", "token_guarded"),
        0.8,
        "ids of the oldest messages are returned as removed",
    ),
    Rule(
        "fifo.popped",
        "fifo_message_count",
        ("pop_front",),
        ("message_list", "strong_subject", "count_guarded"),
        (*_NOISE, "token_guarded"),
        0.8,
        "the oldest message is removed while there are too many",
    ),
    Rule(
        "fifo.counted",
        "fifo_message_count",
        ("count_fill",),
        ("message_list", "goes_somewhere"),
        (*_NOISE, "splits", "for_summary"),
        0.65,
        "messages are gathered from the newest back until a number is reached",
    ),
    Rule(
        "fifo.queried",
        "fifo_message_count",
        ("query_limit",),
        ("memory_place", "reads"),
        _NOISE,
        0.6,
        "the newest rows of a message table are read, up to a limit",
    ),
    Rule(
        "fifo.bounded",
        "fifo_message_count",
        ("bounded_deque",),
        ("message_list", "strong_subject"),
        _NOISE,
        0.75,
        "messages are kept in a queue of bounded length",
    ),
    Rule(
        "vector.handed-on",
        "vector_swap",
        ("token_fill", "token_trim", "slice", "pop_front", "pop_other"),
        ("message_list", "removed_go_to_vectors"),
        _NOISE,
        0.75,
        "messages taken out of the context are written to a vector store",
    ),
    Rule(
        "vector.popped",
        "vector_swap",
        ("pop_front", "pop_other"),
        ("message_list", "popped_go_to_vectors"),
        _NOISE,
        0.75,
        "messages popped from the context are saved where a vector store is written",
    ),
    Rule(
        "vector.recalled",
        "vector_swap",
        ("recalled",),
        ("goes_somewhere",),
        _NOISE,
        0.6,
        "older messages left out of the window are brought back by similarity to the input",
    ),
    Rule(
        "elision.content",
        "content_elision",
        ("content",),
        ("message_list",),
        ("aside_place", "lists_or_copies"),
        0.7,
        "the content of a message is replaced by a marker or a shortened text",
    ),
    Rule(
        "elision.shortened",
        "content_elision",
        ("shortened",),
        ("shortens_for_model",),
        ("aside_place", "lists_or_copies"),
        0.65,
        "a long text is cut to its head, a marker and perhaps its tail",
    ),
    Rule(
        "dedup.content",
        "dedup",
        ("content",),
        ("message_list", "dedup_words"),
        ("aside_place", "lists_or_copies"),
        0.6,
        "content that a later message made outdated is replaced",
    ),
    Rule(
        "offload.stored",
        "offload",
        ("offload",),
        ("handles_results",),
        ("aside_place", "lists_or_copies"),
        0.65,
        "a large result is stored elsewhere and a reference or preview is left in its place",
    ),
    Rule(
        "provider.asked",
        "provider_managed",
        ("provider",),
        (),
        ("aside_place",),
        0.6,
        "the model's provider is asked to manage the context",
    ),
    Rule(
        "reset.cleared",
        "reset",
        ("clear",),
        ("strong_subject", "explicit_entry"),
        (*_NOISE, "refills"),
        0.6,
        "a command or method empties the stored messages",
    ),
)
