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
    """A rule: an effect of one of the kinds in `effects` is this strategy if `needs` hold and `unless` do not.

    `says` is the sentence given as evidence in the report.
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
        "summary.field",
        "summarization",
        ("summary_field",),
        ("model_near", "stands_for_messages"),
        _NOISE,
        "a model's summary is kept beside the messages and shown instead of them",
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
        "summary.marked",
        "summarization",
        ("marked_out",),
        ("message_list", "puts_summary", "model_here"),
        _NOISE,
        "messages are marked as no longer shown and a model's summary takes their place",
    ),
    Rule(
        "summary.flagged",
        "summarization",
        ("summary_flag",),
        ("model_near", "read_back_to"),
        _NOISE,
        "a model's answer is kept as a message marked as a summary, and what stands before it is not read again",
    ),
    Rule(
        "summary.content",
        "summarization",
        ("condensed",),
        ("message_list", "model_near", "summary_named"),
        _NOISE,
        "the content of single messages is replaced by a model's summary of it",
    ),
    Rule(
        "summary.sized-content",
        "summarization",
        ("content",),
        ("message_list", "made_by_model_here", "sized_there"),
        _NOISE,
        "content that is too large is replaced by what a model made of it",
    ),
    Rule(
        "summary.removed",
        "summarization",
        ("digested",),
        (),
        _NOISE,
        "messages are taken out once a model has made something of them",
    ),
    Rule(
        "summary.with-cut",
        "summarization",
        ("digest",),
        (),
        _NOISE,
        "a text that is too long is given back cut, with a model's summary of the whole",
    ),
    Rule(
        "importance.model-ranked",
        "importance_scoring",
        ("removal", "filter"),
        ("message_list", "model_here", "prompt_ranks", "score_words", "no_summary_value"),
        _NOISE,
        "a language model ranks the messages and the lowest are removed",
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
        "importance.ranked-prefix",
        "importance_scoring",
        ("ranked_cut",),
        ("token_guard_in_function",),
        _NOISE,
        "a prefix of ranked items is chosen to fit a token budget",
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
        "token-window.searched",
        "token_window",
        ("slice",),
        ("message_list", "binary_search", "gives_messages"),
        (*_NOISE, "splits", "for_summary"),
        "the longest run of messages that fits a token limit is found by halving",
    ),
    Rule(
        "token-window.cut",
        "token_window",
        ("slice",),
        ("message_list", "keeps_tail", "goes_somewhere", "cut_by_token_helper"),
        (*_NOISE, "for_summary"),
        "a message list is cut at an index found by adding up tokens",
    ),
    Rule(
        "token-window.called",
        "token_window",
        ("trim_call",),
        ("message_list", "goes_to_context", "trimmer_from_elsewhere"),
        _NOISE,
        "a library is asked to trim the messages to a number of tokens",
    ),
    Rule(
        "token-window.marked",
        "token_window",
        ("marked_out",),
        ("message_list", "measures_tokens", "no_model_here"),
        (*_NOISE, "for_summary"),
        "messages are marked as no longer shown until the token count fits",
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
        "fifo.fed",
        "fifo_message_count",
        ("slice", "tail"),
        ("keeps_variable_tail", "fed_to_model"),
        (*_NOISE, "token_guarded", "for_summary", "for_people"),
        "only the newest part of a list is given back, and a caller hands it to a model",
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
        "fifo.marked",
        "fifo_message_count",
        ("marked_out",),
        ("message_list", "counts_in_function", "no_model_here"),
        (*_NOISE, "token_guarded", "for_summary"),
        "all but the newest messages are marked as no longer shown",
    ),
    Rule(
        "fifo.forgotten",
        "fifo_message_count",
        ("removal",),
        ("slices_in_function", "no_model_here"),
        (*_NOISE, "with_summary", "token_guarded"),
        "ids of the oldest messages are returned as removed",
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
        "fifo.counted",
        "fifo_message_count",
        ("count_fill",),
        ("message_list", "goes_somewhere"),
        (*_NOISE, "splits", "for_summary"),
        "messages are gathered from the newest back until a number is reached",
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
        "fifo.kept",
        "fifo_message_count",
        ("kept_in_loop",),
        ("message_list", "kept_by_number", "not_by_score", "handed_on"),
        (*_NOISE, "token_guarded", "for_summary"),
        "of a list of messages as many are kept as a number allows, and the others left out",
    ),
    Rule(
        "fifo.newest",
        "fifo_message_count",
        ("sorted_cut", "kept_in_loop"),
        ("remembers_or_messages", "kept_by_age", "handed_on", "bounded_by_setting"),
        (*_NOISE, "token_guarded", "for_summary", "page_of_many"),
        "a list ordered by time is cut to its newest part",
    ),
    Rule(
        "fifo.bounded",
        "fifo_message_count",
        ("bounded_deque",),
        ("message_list", "strong_subject"),
        _NOISE,
        "messages are kept in a queue of bounded length",
    ),
    Rule(
        "vector.handed-on",
        "vector_swap",
        ("token_fill", "token_trim", "slice", "pop_front", "pop_other"),
        ("message_list", "removed_go_to_vectors"),
        _NOISE,
        "messages taken out of the context are written to a vector store",
    ),
    Rule(
        "vector.popped",
        "vector_swap",
        ("pop_front", "pop_other"),
        ("message_list", "popped_go_to_vectors"),
        _NOISE,
        "messages popped from the context are saved where a vector store is written",
    ),
    Rule(
        "vector.recalled",
        "vector_swap",
        ("recalled",),
        ("goes_somewhere",),
        _NOISE,
        "older messages left out of the window are brought back by similarity to the input",
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
        "vector.paged",
        "vector_swap",
        ("paging",),
        ("paged_by_the_agent",),
        _NOISE,
        "the agent itself writes to its memory and searches it, by tools",
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
)
