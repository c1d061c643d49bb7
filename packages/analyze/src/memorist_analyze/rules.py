"""Defines the eviction rules as data. A rule fires on one effect of one function if every condition in `needs` holds
and none in `unless` does. Conditions are defined in `conditions.py`, and effects come from `effects.py`. To add a rule,
write a positive and a negative snippet in `tests/analyze/snippets.py` and add a `Rule` here. Add a condition only if
the existing ones are not enough. A rule depends on what code does, never on the name of a framework.

Rules are tried in the order below; `BEATS` in `findings.py` says which strategy a function keeps when several fire.
A rule only proposes candidates, and `calibration.py` turns the rule and its evidence into a probability.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """Defines a rule. An effect of one of the kinds in `effects` is this strategy if `needs` hold and `unless` do not.
    `says` is the sentence that the report shows as evidence.
    """

    id: str
    strategy: str
    effects: tuple[str, ...]
    needs: tuple[str, ...]
    unless: tuple[str, ...] = ()
    says: str = ""


# Code that shortens lists without evicting: user interfaces, measuring, and functions that list, clone or export.
_NOISE = ("drawn", "gives_no_messages", "lists_or_copies")

RULES: tuple[Rule, ...] = (
    Rule(
        "summary.rebuilt",
        "summarization",
        ("rebuild",),
        ("message_list", "kept_somewhere", "summary_evidence", "model_near_or_given"),
        _NOISE,
        "a message list is rebuilt from a model's summary and the messages kept",
    ),
    Rule(
        "summary.refilled",
        "summarization",
        ("refill",),
        ("summary_evidence", "model_near_or_beside"),
        _NOISE,
        "the stored messages are cleared and refilled with a model's summary",
    ),
    Rule(
        "summary.in-front",
        "summarization",
        ("rebuild", "refill"),
        ("message_list", "kept_somewhere", "stands_before_kept", "made_by_model_here"),
        (*_NOISE, "sets_property"),
        "what a model made is put before the messages that are kept, in place of those that are not",
    ),
    Rule(
        "summary.forgotten",
        "summarization",
        ("removal",),
        ("with_summary", "model_near"),
        _NOISE,
        "ids of removed messages are returned together with a model's summary",
    ),
    Rule(
        "summary.inserted",
        "summarization",
        ("summary_put",),
        ("message_list", "leaves_as_messages", "model_near_or_given", "summary_named"),
        (*_NOISE, "writes_prompt"),
        "a model's summary is put into the message list that is given back",
    ),
    Rule(
        "summary.kept-aside",
        "summarization",
        ("summary_field",),
        ("made_by_model_here",),
        (*_NOISE, "only_written_out"),
        "a model's summary of what was said is kept in a field of its own",
    ),
    Rule(
        "importance.budgeted",
        "importance_scoring",
        ("score_sort",),
        ("token_guard_in_function", "cuts"),
        _NOISE,
        "items sorted by score or priority are cut when a token budget is reached",
    ),
    Rule(
        "importance.recalled",
        "importance_scoring",
        ("sorted_cut", "kept_in_loop"),
        ("kept_by_score", "remembers", "handed_on", "bounded_by_setting"),
        (*_NOISE, "page_of_many"),
        "what is recalled is ordered by score and cut to a number",
    ),
    Rule(
        "token-window.trimmed",
        "token_window",
        ("token_trim",),
        ("message_list",),
        (*_NOISE, "splits", "for_summary", "trims_answer"),
        "messages are taken away in a loop until the token count fits",
    ),
    Rule(
        "token-window.filled",
        "token_window",
        ("token_fill",),
        ("message_list", "stops_or_backwards", "gives_messages"),
        (*_NOISE, "splits", "for_summary", "gathers_ids", "offloads", "finds_no_cut"),
        "messages are gathered while their tokens fit a limit, and the rest is left out",
    ),
    Rule(
        "fifo.tail",
        "fifo_message_count",
        ("slice",),
        ("message_list", "of_conversation", "keeps_variable_tail", "main_or_stored"),
        (*_NOISE, "token_guarded", "for_summary", "never_shown", "used_aside"),
        "only the newest messages, a variable number of them, go on",
    ),
    Rule(
        "fifo.shrunk",
        "fifo_message_count",
        ("slice",),
        ("message_list", "keeps_tail", "back_into_itself", "strong_subject", "goes_to_context"),
        (*_NOISE, "token_guarded", "never_shown"),
        "a message list is overwritten by its own tail",
    ),
    Rule(
        "fifo.trimmed",
        "fifo_message_count",
        ("slice",),
        ("message_list", "keeps_tail", "goes_somewhere", "of_conversation", "named_for_trimming"),
        (*_NOISE, "token_guarded", "for_summary", "never_shown", "found_by_search"),
        "a function made for trimming returns the tail of a message list",
    ),
    Rule(
        "fifo.popped",
        "fifo_message_count",
        ("pop_front",),
        ("message_list", "strong_subject", "count_guarded"),
        (*_NOISE, "token_guarded", "never_shown"),
        "the oldest message is removed while there are too many",
    ),
    Rule(
        "fifo.queried",
        "fifo_message_count",
        ("query_limit",),
        ("read_newest",),
        _NOISE,
        "the newest of the stored messages are read, up to a limit",
    ),
    Rule(
        "vector.indexed",
        "vector_swap",
        ("vector_put",),
        ("indexes_messages", "searched_beside"),
        _NOISE,
        "messages are put into a vector store, and what is near the input is brought back from it",
    ),
    Rule(
        "elision.content",
        "content_elision",
        ("content", "mapped"),
        ("message_list", "shrinks", "some_of_many"),
        ("drawn", "lists_or_copies", "hides_secrets", "made_by_model_here", "used_aside"),
        "the content of a message is replaced by a marker or a shortened text",
    ),
    Rule(
        "elision.shortened",
        "content_elision",
        ("shortened",),
        ("says_it_was_cut", "sized", "handed_on", "of_results"),
        ("drawn", "lists_or_copies", "hides_secrets", "for_people"),
        "a long text is cut to its head, a notice and perhaps its tail",
    ),
    Rule(
        "dedup.content",
        "dedup",
        ("content",),
        ("message_list", "dedup_words", "shrinks"),
        ("drawn", "lists_or_copies"),
        "content that a later message made outdated is replaced",
    ),
    Rule(
        "dedup.unseen",
        "dedup",
        ("kept_in_loop",),
        ("remembers", "freed_of_doubles", "handed_on"),
        _NOISE,
        "things remembered whose content was seen before are left out",
    ),
    Rule(
        "offload.stored",
        "offload",
        ("offload",),
        ("saved_elsewhere", "leaves_a_note", "sized_or_referenced", "of_results"),
        ("drawn", "lists_or_copies", "cut_anyway"),
        "a large result is stored elsewhere and a reference or preview is left in its place",
    ),
    Rule(
        "provider.asked",
        "provider_managed",
        ("provider",),
        (),
        ("drawn",),
        "the model's provider is asked to manage the context",
    ),
    Rule(
        "reset.cleared",
        "reset",
        ("clear",),
        ("strong_subject", "empties_memory"),
        (*_NOISE, "refills"),
        "a command or method empties the stored messages",
    ),
    # Loose rules propose candidates that no rule above explains. Without a judge, they are hardly ever shown.
    *(
        Rule(f"loose.{strategy}", strategy, kinds, needs, ("drawn",), f"perhaps {strategy.replace('_', ' ')}")
        for strategy, kinds, needs in (
            ("summarization", ("rebuild", "refill", "summary_put", "summary_field", "removal"), ("model_around",)),
            ("token_window", ("token_trim", "token_fill"), ("of_messages",)),
            (
                "token_window",
                ("slice", "pop_front", "pop_other", "filter", "kept_in_loop"),
                ("of_messages", "by_tokens"),
            ),
            ("importance_scoring", ("score_sort", "sorted_cut", "removal", "filter"), ("by_score",)),
            ("fifo_message_count", ("slice",), ("of_messages", "keeps_tail")),
            ("fifo_message_count", ("pop_front", "query_limit", "removal"), ("of_messages",)),
            ("fifo_message_count", ("kept_in_loop", "sorted_cut"), ("of_messages", "bounded_by_setting")),
            ("vector_swap", ("vector_put",), ("takes_or_keeps_messages",)),
            ("content_elision", ("content", "mapped", "shortened"), ("may_shrink",)),
            ("offload", ("offload",), ("saved_elsewhere",)),
            ("dedup", ("kept_in_loop", "content"), ("leaves_doubles_out",)),
            ("reset", ("clear",), ("strong_subject",)),
        )
    ),
)
LOOSE_IDS = frozenset(rule.id for rule in RULES if rule.id.startswith("loose."))
