"""Rewrites third-person statements about a user, which models often write, in the first person.

"The user prefers concise answers" and "I prefer concise answers" state the same preference. After rewriting, the same
extraction rules read both, and both confirm the same memory. Only English is rewritten; other texts stay unchanged.
"""

from __future__ import annotations

import re

_SUBJECT = r"(?:the\s+)?(?:current\s+)?(?:human\s+)?user"
_ADVERB = r"(?:(?:\w+ly|always|never|often|also|now|still|sometimes|just|too)\s+)*"
_IRREGULAR = {
    "is": "am", "has": "have", "does": "do", "goes": "go", "isn't": "am not", "hasn't": "haven't",
    "doesn't": "don't", "was": "was", "wasn't": "wasn't", "dies": "die", "lies": "lie", "ties": "tie",
    "are": "am", "aren't": "am not", "were": "was", "weren't": "wasn't",
}  # fmt: skip
_VERBS = (
    "am|is|has|works|lives|likes|loves|hates|prefers|wants|uses|needs|plays|drinks|eats|enjoys|speaks|owns|drives|"
    "studies|teaches|dislikes|avoids|plans|writes|reads|runs|does|doesn't|isn't"
)
_AND = re.compile(rf"\b(and|but)\s+({_ADVERB})({_VERBS})\b", re.IGNORECASE)
_OTHERS = re.compile(r"\b(?:and|with|of|at|for|in|on|from|by|to|their|\w+[^\Ws]s)\b", re.IGNORECASE)
_UNINFLECTED = frozenset({"this", "us", "yes", "as", "his", "its", "was", "towards", "always"})


def in_first_person(text: str, name: str | None = None) -> str:
    """Return the text as the user would say it, if its sentences are about "the user" (or `name`). Otherwise return it
    unchanged.

    """
    names = [_SUBJECT] if not name or not name.isalpha() else [_SUBJECT, re.escape(name)]
    subject = f"(?:{'|'.join(names)})"
    sentences = re.split(r"(?<=[.!?;])\s+", text.strip())
    rewritten: list[str] = []
    for index, sentence in enumerate(sentences):
        is_about_user = index > 0 and _names_only_user(sentences[index - 1], subject)
        rewritten.append(_rewrite_sentence(sentence, rf"(?:{subject}|they)" if is_about_user else subject))
    return " ".join(rewritten)


def _names_only_user(sentence: str, subject: str) -> bool:
    """Return whether "they" in the next sentence can only be the user, because this one mentions nobody and nothing
    else that the word could refer to."""
    statement = re.match(rf"{subject}\s+{_ADVERB}(?:is|prefers|likes|wants|dislikes)\s+(.*)", sentence, re.IGNORECASE)
    return statement is not None and not _OTHERS.search(statement[1])


def _rewrite_sentence(sentence: str, subject: str) -> str:
    possessive = re.match(rf"{subject}['’]s?\s+(.*)", sentence, re.IGNORECASE | re.DOTALL)
    if possessive is not None:
        return "My " + _rewrite_rest(possessive[1])
    statement = re.match(rf"{subject}\s+({_ADVERB})([\w'’]+)(.*)", sentence, re.IGNORECASE | re.DOTALL)
    if statement is None:
        return sentence
    return f"I {statement[1]}{_base_form(statement[2])}{_rewrite_rest(statement[3])}"


def _rewrite_rest(rest: str) -> str:
    rest = re.sub(r"\btheir\b", "my", rest, flags=re.IGNORECASE)
    rest = re.sub(r"\b(?:themselves|themself)\b", "myself", rest, flags=re.IGNORECASE)
    return _AND.sub(lambda match: f"{match[1]} {match[2]}{_base_form(match[3])}", rest)


def _base_form(verb: str) -> str:
    """Return the verb as it follows "I": `prefers` becomes `prefer`, and forms without an ending stay."""
    word = verb.replace("’", "'")
    if word.lower() in _IRREGULAR:
        return _IRREGULAR[word.lower()]
    if not word.endswith("s") or word.endswith("ss") or word.lower() in _UNINFLECTED:
        return verb
    if word.endswith("ies"):
        return word[:-3] + "y"
    if re.search(r"(?:ss|sh|ch|x|zz|o)es$", word):
        return word[:-2]
    return word[:-1]
