"""Lowers tree-sitter's Python syntax tree."""

from __future__ import annotations

from tree_sitter import Node as Raw

from memorist_analyze.lowering import Grammar, field, line_of, spread, text_of, texts
from memorist_analyze.syntax import Head, Node, Param

_PYTHON = Grammar(
    {"parenthesized_expression", "await", "type", "keyword_separator", "expression_statement"},
    {"comment", "pass_statement", "global_statement", "nonlocal_statement", "line_continuation", "ERROR"},
    one_inside=True,
)
lower = _PYTHON.lower


def _string(raw: Raw) -> Node:
    pieces: list[str] = []
    holes: list[Node] = []
    for child in raw.named_children:
        if child.type == "string_content":
            pieces.append(text_of(child))
        elif child.type == "interpolation" and (inner := field(child, "expression")) is not None:
            holes.append(lower(inner))
        elif child.type == "string":
            part = _string(child)
            pieces.append(part.text)
            holes.extend(part.kids)
    return Node("fstr" if holes else "str", line_of(raw), "".join(pieces), holes)


def _call(raw: Raw) -> Node:
    arguments = field(raw, "arguments")
    kids = _PYTHON.fields(raw, "function")
    if arguments is not None:
        kids += [lower(arguments)] if arguments.type == "generator_expression" else _PYTHON.below(arguments)
    return Node("call", line_of(raw), "", kids)


def _subscript(raw: Raw) -> Node:
    line = line_of(raw)
    (value,) = _PYTHON.fields(raw, "value")
    keys = raw.children_by_field_name("subscript")
    if len(keys) == 1 and keys[0].type == "slice":
        return _slice(keys[0], value, line)
    key = lower(keys[0]) if len(keys) == 1 else Node("list", line, "tuple", [lower(k) for k in keys])
    return Node("index", line, "", [value, key])


def _slice(raw: Raw, value: Node, line: int) -> Node:
    parts = [Node("none", line)]
    for child in raw.children:
        if child.type == ":":
            parts.append(Node("none", line))
        elif child.is_named and child.type != "comment":
            parts[-1] = lower(child)
    step = "step" if len(parts) > 2 and parts[2].kind != "none" else ""
    return Node("slice", line, step, [value, *parts[:2]])


def _unary(raw: Raw) -> Node:
    operator = "not" if raw.type == "not_operator" else raw.children[0].type
    return Node("bool" if operator == "not" else "un", line_of(raw), operator, _PYTHON.fields(raw, "argument"))


def _compare(raw: Raw) -> Node:
    operators = [c.type for c in raw.children_by_field_name("operators")]
    return Node("cmp", line_of(raw), " ".join(operators), _PYTHON.below(raw))


def _pair(raw: Raw) -> Node:
    key, value = _PYTHON.fields(raw, "key", "value")
    return Node("pair", line_of(raw), key.text, [value])


def _comprehension(raw: Raw) -> Node:
    line = line_of(raw)
    target = iterable = Node("none", line)
    conditions: list[Node] = []
    for child in raw.named_children:
        if child.type == "for_in_clause":
            left, right = _PYTHON.fields(child, "left", "right")
            if iterable.kind == "none":
                target, iterable = left, right
            else:
                conditions.append(right)
        elif child.type == "if_clause":
            conditions.append(Node("cond_filter", line, "", _PYTHON.below(child)))
    return Node("comp", line, raw.type.split("_")[0], [*_PYTHON.fields(raw, "body"), target, iterable, *conditions])


def _conditional(raw: Raw) -> Node:
    kids = _PYTHON.below(raw)
    if len(kids) == 3:
        kids = [kids[1], kids[0], kids[2]]
    return Node("cond", line_of(raw), "", kids)


def _assignment(raw: Raw) -> Node:
    line, operator = line_of(raw), field(raw, "operator")
    target, value = _PYTHON.fields(raw, "left", "right")
    if operator is None and target.kind == value.kind == "list" and len(target.kids) == len(value.kids) > 1:
        # `old, new = a, b` becomes two assignments, so that data flow can tell the two values apart.
        pairs = zip(target.kids, value.kids, strict=True)
        return Node("block", line, "", [Node("assign", line, "=", [t, v]) for t, v in pairs])
    return Node("assign", line, text_of(operator) or "=", [target, value], text_of(field(raw, "type")))


def _block(raw: Raw) -> Node:
    # A bare string statement is a docstring, and prose is no evidence about the code.
    kids = [lower(c) for c in raw.named_children if c.type not in _PYTHON.skipped and not _is_docstring(c)]
    return Node("block", line_of(raw), "", kids)


def _is_docstring(raw: Raw) -> bool:
    alone = raw.type == "expression_statement" and raw.named_child_count == 1
    return alone and raw.named_children[0].type in ("string", "concatenated_string")


def _if(raw: Raw) -> Node:
    line = line_of(raw)
    otherwise = Node("block", line)
    for alternative in reversed(raw.children_by_field_name("alternative")):
        if alternative.type == "elif_clause":
            at = line_of(alternative)
            test, block = (_PYTHON.maybe(field(alternative, f), line) for f in ("condition", "consequence"))
            otherwise = Node("block", at, "", [Node("if", at, "", [test, block, otherwise])])
        else:
            otherwise = _PYTHON.maybe(field(alternative, "body"), line)
    return Node("if", line, "", [*_PYTHON.fields(raw, "condition", "consequence"), otherwise])


def _try(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        blocks = [_block(c) for c in child.named_children if c.type == "block"]
        if child.type in ("except_clause", "except_group_clause"):
            kids.append(Node("handler", line_of(child), text_of(field(child, "value")), blocks[-1:]))
        elif child.type in ("finally_clause", "else_clause"):
            kids.extend(blocks)
        elif child.type == "block":
            kids.append(_block(child))
    return Node("try", line_of(raw), "", kids)


def _function(raw: Raw) -> Node:
    body = field(raw, "body")
    node = Node("func", line_of(raw), text_of(field(raw, "name")), [_block(body)] if body is not None else [])
    returns = text_of(field(raw, "return_type"))
    node.head = Head(node.text, _params(field(raw, "parameters")), returns, [], raw.end_point[0] + 1)
    return node


def _params(raw: Raw | None) -> list[Param]:
    params: list[Param] = []
    for child in raw.named_children if raw is not None else []:
        named, annotation = field(child, "name"), text_of(field(child, "type"))
        if child.type == "identifier":
            params.append(Param(text_of(child)))
        elif named is not None:
            params.append(Param(text_of(named), annotation, text_of(field(child, "value"))[:120]))
        elif child.named_children:
            params.append(Param(text_of(child.named_children[0]).lstrip("*"), annotation))
    return params


def _lower_decorated(raw: Raw) -> Node:
    definition = field(raw, "definition")
    if definition is None:
        return Node("other", line_of(raw), raw.type, _PYTHON.below(raw))
    node = lower(definition)
    if node.head is not None:
        names = texts(c for c in raw.named_children if c.type == "decorator")
        node.head.decorators = [name.lstrip("@").strip()[:120] for name in names]
    return node


def _class(raw: Raw) -> Node:
    body, bases = field(raw, "body"), field(raw, "superclasses")
    kids = _PYTHON.below(bases) if bases is not None else []
    kids.append(_block(body) if body is not None else Node("block", line_of(raw)))
    return Node("class", line_of(raw), text_of(field(raw, "name")), kids, str(raw.end_point[0] + 1))


def _import(raw: Raw) -> Node:
    names = texts(raw.children_by_field_name("name"))
    if raw.type == "import_statement":
        return Node("import", line_of(raw), ",".join(n.split(" as ")[0] for n in names))
    if any(c.type == "wildcard_import" for c in raw.named_children):
        names = ["*"]
    return Node("import", line_of(raw), text_of(field(raw, "module_name")), [], ",".join(names))


_PYTHON.handlers = {
    "string": _string, "concatenated_string": _string, "call": _call, "subscript": _subscript,
    "unary_operator": _unary, "not_operator": _unary, "comparison_operator": _compare, "pair": _pair,
    "conditional_expression": _conditional, "assignment": _assignment, "augmented_assignment": _assignment,
    "module": _block, "block": _block, "if_statement": _if, "try_statement": _try, "function_definition": _function,
    "decorated_definition": _lower_decorated, "class_definition": _class, "import_statement": _import,
    "import_from_statement": _import, "identifier": _PYTHON.leaf("name"), "list": _PYTHON.listed("list", "list"),
    "set": _PYTHON.listed("list", "set"), "list_pattern": _PYTHON.listed("list", "list"),
    "dictionary": _PYTHON.listed("dict"), "return_statement": _PYTHON.listed("return"),
    "yield": _PYTHON.listed("return", "yield"), "raise_statement": _PYTHON.listed("raise"),
    "delete_statement": _PYTHON.listed("del"), "break_statement": _PYTHON.listed("jump", "break"),
    "continue_statement": _PYTHON.listed("jump", "continue"),
    "attribute": _PYTHON.build("attr", "object", label="attribute"),
    "keyword_argument": _PYTHON.build("kw", "value", label="name"),
    "binary_operator": _PYTHON.build("bin", "left", "right", label="operator"),
    "boolean_operator": _PYTHON.build("bool", "left", "right", label="operator"),
    "lambda": _PYTHON.build("lambda", "body"), "named_expression": _PYTHON.build("assign", "name", "value", text="="),
    "while_statement": _PYTHON.build("while", "condition", "body"),
    "for_statement": _PYTHON.build("for", "left", "right", "body"),
}  # fmt: skip
_PYTHON.handle(_PYTHON.leaf("num"), "integer float")
_PYTHON.handle(_PYTHON.leaf("const"), "true false none")
_PYTHON.handle(spread(_PYTHON), "list_splat dictionary_splat list_splat_pattern")
_PYTHON.handle(_PYTHON.listed("list", "tuple"), "tuple expression_list pattern_list tuple_pattern")
_PYTHON.handle(_comprehension, "list_comprehension set_comprehension dictionary_comprehension generator_expression")
