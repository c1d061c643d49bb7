"""Contains the language data, as one folder of TOML files per language: topics, word lists, stop words and patterns.

A topic is one kind of fact about a user. It has patterns that recognise it, a wording for prompts, and questions that
ask for it. Nothing here imports the rest of the package, so extraction, recall and context read the same lists. Files
are read on first use. docs/extraction.md explains how to add a pattern or a language.
"""

from .recognise import language_name, language_of
from .rules import Rules, rules
from .stop import stop_words
from .topics import Topic, languages, topic_named, topic_of, topics
from .words import UNSPACED, Words, any_of, words

__all__ = [
    "UNSPACED",
    "Rules",
    "Topic",
    "Words",
    "any_of",
    "language_name",
    "language_of",
    "languages",
    "rules",
    "stop_words",
    "topic_named",
    "topic_of",
    "topics",
    "words",
]
