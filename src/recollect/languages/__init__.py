"""Everything that belongs to a language: topics, word lists, stop words; one folder of TOML files per language.

A topic is one kind of fact about a user: how it is said, how it is told again in a prompt, how it is asked for.
Nothing here imports the rest of the package, so extraction, recall and context can all read the same lists. Files are
read when they are first asked for. docs/extraction.md says how to add a pattern or a language.
"""

from .files import prompt
from .recognise import language_name, language_of
from .rules import Rules, rules
from .stop import stop_words
from .topics import Topic, languages, topic_of, topics
from .words import Words, words

__all__ = [
    "Rules",
    "Topic",
    "Words",
    "language_name",
    "language_of",
    "languages",
    "prompt",
    "rules",
    "stop_words",
    "topic_of",
    "topics",
    "words",
]
