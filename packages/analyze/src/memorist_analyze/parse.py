"""Parses source bytes with tree-sitter and lowers them. Nothing is imported or executed."""

from __future__ import annotations

from functools import lru_cache

from memorist.errors import Unsupported
from memorist_analyze import lower_python, lower_script
from memorist_analyze.syntax import Node, Unit

try:
    import tree_sitter_javascript
    import tree_sitter_python
    import tree_sitter_typescript
    from tree_sitter import Language, Parser
    from tree_sitter import Node as Raw
except ImportError as missing:
    raise Unsupported(f"the analyser needs {missing.name}, which is not installed") from missing


_MINIFIED_FROM_BYTES = 20_000
_LONG_LINE_BYTES = 5_000


def _is_minified(data: bytes, lines: int) -> bool:
    """Return whether a file is generated, that is, bundled or minified."""
    return len(data) / lines > 300 or max(len(line) for line in data.split(b"\n")) > _LONG_LINE_BYTES


@lru_cache(maxsize=8)
def _parser(language: str) -> Parser:
    grammars = {
        "python": tree_sitter_python.language,
        "typescript": tree_sitter_typescript.language_typescript,
        "tsx": tree_sitter_typescript.language_tsx,
        "javascript": tree_sitter_javascript.language,
    }
    return Parser(Language(grammars[language]()))


def parse(path: str, language: str, data: bytes) -> Unit:
    """Parse one file. `errors` is non-zero if so much of the file could not be parsed that the rest cannot be
    trusted."""
    lines = data.count(b"\n") + 1
    if language != "python" and len(data) > _MINIFIED_FROM_BYTES and _is_minified(data, lines):
        return Unit(path, language, Node("block", 1), lines, lines)
    tree = _parser(language).parse(data)
    root = tree.root_node
    if root.has_error:
        broken = _broken_lines(root)
        if broken * 5 > lines:
            return Unit(path, language, Node("block", 1), lines, broken)
    lowered = lower_python.lower(root) if language == "python" else lower_script.lower(root)
    return Unit(path, language, lowered, lines)


def _broken_lines(root: Raw) -> int:
    """Return the number of lines inside error nodes of the parse tree."""
    broken = 0
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "ERROR" or node.is_missing:
            broken += node.end_point[0] - node.start_point[0] + 1
        elif node.has_error:
            stack.extend(node.children)
    return broken
