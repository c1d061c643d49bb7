"""Every rule on its own snippet with all names replaced: which still fire says what rests on behaviour alone.

Replaced are all identifiers a programmer is free to choose, and the path. Kept are keywords, builtins, the methods of
lists, sets and texts, names that belong to the wire format (`role`, `content`, `messages=`), and the calls of a model,
which are the interface of libraries.
"""

from __future__ import annotations

import builtins
import io
import keyword
import re
import tokenize
from pathlib import Path

import pytest

from memorist_analyze.rules import RULES

from .snippets import SNIPPETS, Snippet
from .snippets_lineage import LINEAGE
from .snippets_windows import WINDOWS
from .test_rules import fired

_API = frozenset(
    "self cls append extend insert pop popleft clear remove sort reverse index add update keys values "
    "items get join split "
    "strip replace format copy deepcopy deque maxlen role content messages model_copy write write_text "
    "put query upsert "
    "search llm chat complete reversed sorted sub text lrange limit tokens token created_at score encode decode".split()
)

# Rules whose snippet needs a name to be known for what it is: a summary that only its name tells, a command, a library.
RESTS_ON_NAMES = frozenset(
    {
        "dedup.content",
        "dedup.unseen",
        "elision.shortened",
        "fifo.popped",
        "fifo.queried",
        "fifo.trimmed",
        "importance.budgeted",
        "importance.recalled",
        "offload.stored",
        "provider.asked",
        "reset.cleared",
        "summary.forgotten",
        "summary.inserted",
        "summary.kept-aside",
        "summary.rebuilt",
        "summary.refilled",
        "token-window.trimmed",
        "vector.indexed",
    }
)


def renamed(source: str) -> str:
    """The program with every free name replaced by one that says nothing."""
    names: dict[str, str] = {}
    pieces: list[tuple[int, str]] = []
    reserved = _API | set(keyword.kwlist) | set(dir(builtins))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string
        if token.type == tokenize.NAME and text not in reserved:
            text = names.setdefault(text, f"{'V' if text[:1].isupper() else 'v'}{len(names)}")
        elif token.type == tokenize.STRING:
            text = re.sub(r"\{(\w+)", lambda m: "{" + names.get(m.group(1), m.group(1)), text)
        pieces.append((token.type, text))
    return tokenize.untokenize(pieces)


def _python(snippets: tuple[Snippet, ...]) -> list[Snippet]:
    return [s for s in snippets if s.name.endswith(".py")]


ALL = _python((*SNIPPETS, *WINDOWS, *LINEAGE))


@pytest.mark.parametrize("snippet", ALL, ids=lambda s: s.rule)
def test_a_rule_that_rests_on_behaviour_fires_whatever_things_are_called(snippet: Snippet, tmp_path: Path) -> None:
    fires = snippet.rule in fired(tmp_path, "a/b.py", renamed(snippet.fires))
    assert fires == (snippet.rule not in RESTS_ON_NAMES)


def test_the_rules_that_rest_on_names_are_known_rules() -> None:
    assert {r.id for r in RULES} >= RESTS_ON_NAMES
