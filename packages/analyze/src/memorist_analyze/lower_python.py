"""Lower tree-sitter's Python syntax tree to the common tree of `syntax.py`."""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node as Raw

from memorist_analyze.syntax import Head, Node, Param

_TRANSPARENT = {"parenthesized_expression", "await", "type", "keyword_separator", "expression_statement"}
_SKIP = {"comment", "pass_statement", "global_statement", "nonlocal_statement", "line_continuation", "ERROR"}


def text_of(raw: Raw) -> str:
    """Return the source text of a raw node."""
    data = raw.text
    return data.decode("utf-8", "replace") if data else ""


def lower(raw: Raw) -> Node:
    """Lower one raw node of the Python grammar."""
    kind = raw.type
    handler = _HANDLERS.get(kind)
    if handler is not None:
        return handler(raw)
    if kind in _TRANSPARENT:
        inner = [c for c in raw.named_children if c.type != "comment"]
        if len(inner) == 1:
            return lower(inner[0])
    return Node("other", raw.start_point[0] + 1, kind, _lower_all(raw))


def _lower_all(raw: Raw) -> list[Node]:
    return [lower(c) for c in raw.named_children if c.type not in _SKIP]


def _line(raw: Raw) -> int:
    return raw.start_point[0] + 1


def _field(raw: Raw, name: str) -> Raw | None:
    return raw.child_by_field_name(name)


def _maybe(raw: Raw | None, line: int) -> Node:
    return Node("none", line) if raw is None else lower(raw)


def _name(raw: Raw) -> Node:
    return Node("name", _line(raw), text_of(raw))


def _num(raw: Raw) -> Node:
    return Node("num", _line(raw), text_of(raw))


def _const(raw: Raw) -> Node:
    return Node("const", _line(raw), text_of(raw))


def _string(raw: Raw) -> Node:
    pieces: list[str] = []
    holes: list[Node] = []
    for child in raw.named_children:
        if child.type == "string_content":
            pieces.append(text_of(child))
        elif child.type == "interpolation":
            inner = _field(child, "expression")
            if inner is not None:
                holes.append(lower(inner))
        elif child.type == "string":
            part = _string(child)
            pieces.append(part.text)
            holes.extend(part.kids)
    return Node("fstr" if holes else "str", _line(raw), "".join(pieces), holes)


def _attribute(raw: Raw) -> Node:
    attribute = _field(raw, "attribute")
    return Node(
        "attr", _line(raw), text_of(attribute) if attribute else "", [_maybe(_field(raw, "object"), _line(raw))]
    )


def _call(raw: Raw) -> Node:
    callee = _maybe(_field(raw, "function"), _line(raw))
    arguments = _field(raw, "arguments")
    kids = [callee]
    if arguments is not None:
        if arguments.type == "generator_expression":
            kids.append(lower(arguments))
        else:
            kids.extend(_lower_all(arguments))
    return Node("call", _line(raw), "", kids)


def _keyword(raw: Raw) -> Node:
    name = _field(raw, "name")
    return Node("kw", _line(raw), text_of(name) if name else "", [_maybe(_field(raw, "value"), _line(raw))])


def _spread(raw: Raw) -> Node:
    kids = _lower_all(raw)
    return Node("spread", _line(raw), "", kids or [Node("none", _line(raw))])


def _subscript(raw: Raw) -> Node:
    line = _line(raw)
    value = _maybe(_field(raw, "value"), line)
    keys = raw.children_by_field_name("subscript")
    if len(keys) == 1 and keys[0].type == "slice":
        return _slice(keys[0], value, line)
    key = lower(keys[0]) if len(keys) == 1 else Node("list", line, "tuple", [lower(k) for k in keys])
    return Node("index", line, "", [value, key])


def _slice(raw: Raw, value: Node, line: int) -> Node:
    parts: list[Node] = []
    current: Node | None = None
    for child in raw.children:
        if child.type == ":":
            parts.append(current or Node("none", line))
            current = None
        elif child.is_named and child.type != "comment":
            current = lower(child)
    parts.append(current or Node("none", line))
    low, high = parts[0], parts[1] if len(parts) > 1 else Node("none", line)
    step = "step" if len(parts) > 2 and parts[2].kind != "none" else ""
    return Node("slice", line, step, [value, low, high])


def _binary(raw: Raw) -> Node:
    operator = _field(raw, "operator")
    left, right = _maybe(_field(raw, "left"), _line(raw)), _maybe(_field(raw, "right"), _line(raw))
    kind = "bool" if raw.type == "boolean_operator" else "bin"
    return Node(kind, _line(raw), text_of(operator) if operator else "", [left, right])


def _unary(raw: Raw) -> Node:
    operator = "not" if raw.type == "not_operator" else raw.children[0].type
    kind = "bool" if operator == "not" else "un"
    return Node(kind, _line(raw), operator, [_maybe(_field(raw, "argument"), _line(raw))])


def _compare(raw: Raw) -> Node:
    operators = [c.type for c in raw.children_by_field_name("operators")]
    return Node("cmp", _line(raw), " ".join(operators), _lower_all(raw))


def _items(raw: Raw) -> Node:
    label = {"list": "list", "set": "set"}.get(raw.type, "tuple")
    if raw.type in ("list_pattern",):
        label = "list"
    return Node("list", _line(raw), label, _lower_all(raw))


def _dictionary(raw: Raw) -> Node:
    return Node("dict", _line(raw), "", _lower_all(raw))


def _pair(raw: Raw) -> Node:
    key = _field(raw, "key")
    lowered = _maybe(key, _line(raw))
    return Node("pair", _line(raw), lowered.text, [_maybe(_field(raw, "value"), _line(raw))])


def _comprehension(raw: Raw) -> Node:
    line = _line(raw)
    element = _maybe(_field(raw, "body"), line)
    target = Node("none", line)
    iterable = Node("none", line)
    conditions: list[Node] = []
    for child in raw.named_children:
        if child.type == "for_in_clause":
            if iterable.kind == "none":
                target, iterable = _maybe(_field(child, "left"), line), _maybe(_field(child, "right"), line)
            else:
                conditions.append(_maybe(_field(child, "right"), line))
        elif child.type == "if_clause":
            conditions.append(Node("cond_filter", line, "", _lower_all(child)))
    return Node("comp", line, raw.type.split("_")[0], [element, target, iterable, *conditions])


def _lambda(raw: Raw) -> Node:
    return Node("lambda", _line(raw), "", [_maybe(_field(raw, "body"), _line(raw))])


def _conditional(raw: Raw) -> Node:
    kids = _lower_all(raw)
    if len(kids) == 3:
        kids = [kids[1], kids[0], kids[2]]
    return Node("cond", _line(raw), "", kids)


def _assignment(raw: Raw) -> Node:
    operator = _field(raw, "operator")
    annotation = _field(raw, "type")
    line = _line(raw)
    target, value = _maybe(_field(raw, "left"), line), _maybe(_field(raw, "right"), line)
    if operator is None and target.kind == value.kind == "list" and len(target.kids) == len(value.kids) > 1:
        # `old, new = a, b` becomes two assignments, so that data flow can tell the two values apart.
        pairs = zip(target.kids, value.kids, strict=True)
        return Node("block", line, "", [Node("assign", line, "=", [t, v]) for t, v in pairs])
    return Node(
        "assign",
        line,
        text_of(operator) if operator is not None else "=",
        [target, value],
        text_of(annotation) if annotation is not None else "",
    )


def _walrus(raw: Raw) -> Node:
    return Node(
        "assign", _line(raw), "=", [_maybe(_field(raw, "name"), _line(raw)), _maybe(_field(raw, "value"), _line(raw))]
    )


def _block(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        # A bare string statement is a docstring; prose must not count as evidence about the code.
        if child.type in _SKIP or (
            child.type == "expression_statement"
            and child.named_child_count == 1
            and child.named_children[0].type in ("string", "concatenated_string")
        ):
            continue
        kids.append(lower(child))
    return Node("block", _line(raw), "", kids)


def _if(raw: Raw) -> Node:
    line = _line(raw)
    chain = raw.children_by_field_name("alternative")
    otherwise = Node("block", line)
    for alternative in reversed(chain):
        if alternative.type == "elif_clause":
            branch = Node(
                "if",
                _line(alternative),
                "",
                [
                    _maybe(_field(alternative, "condition"), line),
                    _maybe(_field(alternative, "consequence"), line),
                    otherwise,
                ],
            )
            otherwise = Node("block", _line(alternative), "", [branch])
        else:
            otherwise = _maybe(_field(alternative, "body"), line)
    return Node(
        "if", line, "", [_maybe(_field(raw, "condition"), line), _maybe(_field(raw, "consequence"), line), otherwise]
    )


def _while(raw: Raw) -> Node:
    line = _line(raw)
    return Node("while", line, "", [_maybe(_field(raw, "condition"), line), _maybe(_field(raw, "body"), line)])


def _for(raw: Raw) -> Node:
    line = _line(raw)
    return Node(
        "for",
        line,
        "",
        [_maybe(_field(raw, "left"), line), _maybe(_field(raw, "right"), line), _maybe(_field(raw, "body"), line)],
    )


def _try(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type in ("except_clause", "except_group_clause"):
            value = _field(child, "value")
            blocks = [c for c in child.named_children if c.type == "block"]
            kids.append(
                Node("handler", _line(child), text_of(value) if value else "", [_block(b) for b in blocks[-1:]])
            )
        elif child.type in ("finally_clause", "else_clause"):
            kids.extend(_block(c) for c in child.named_children if c.type == "block")
        elif child.type == "block":
            kids.append(_block(child))
    return Node("try", _line(raw), "", kids)


def _simple(kind: str, label: str = "") -> Callable[[Raw], Node]:
    def make(raw: Raw) -> Node:
        return Node(kind, _line(raw), label, _lower_all(raw))

    return make


def _function(raw: Raw) -> Node:
    name, body, returns = _field(raw, "name"), _field(raw, "body"), _field(raw, "return_type")
    node = Node("func", _line(raw), text_of(name) if name else "", [_block(body)] if body is not None else [])
    node.head = Head(
        node.text, _params(_field(raw, "parameters")), text_of(returns) if returns else "", [], raw.end_point[0] + 1
    )
    return node


def _params(raw: Raw | None) -> list[Param]:
    found: list[Param] = []
    for child in raw.named_children if raw is not None else []:
        named = _field(child, "name")
        annotation, default = _field(child, "type"), _field(child, "value")
        if child.type == "identifier":
            found.append(Param(text_of(child)))
        elif named is not None:
            found.append(
                Param(
                    text_of(named), text_of(annotation) if annotation else "", text_of(default)[:120] if default else ""
                )
            )
        elif child.named_children:
            label = text_of(child.named_children[0]).lstrip("*")
            found.append(Param(label, text_of(annotation) if annotation else ""))
    return found


def _decorated(raw: Raw) -> Node:
    definition = _field(raw, "definition")
    if definition is None:
        return Node("other", _line(raw), raw.type, _lower_all(raw))
    node = lower(definition)
    names = [text_of(c).lstrip("@").strip()[:120] for c in raw.named_children if c.type == "decorator"]
    if node.head is not None:
        node.head.decorators = names
    return node


def _class(raw: Raw) -> Node:
    name, body, bases = _field(raw, "name"), _field(raw, "body"), _field(raw, "superclasses")
    kids = [lower(c) for c in bases.named_children if c.type not in _SKIP] if bases is not None else []
    kids.append(_block(body) if body is not None else Node("block", _line(raw)))
    return Node("class", _line(raw), text_of(name) if name else "", kids, str(raw.end_point[0] + 1))


def _import(raw: Raw) -> Node:
    module = _field(raw, "module_name")
    names = [text_of(c) for c in raw.children_by_field_name("name")]
    if raw.type == "import_statement":
        return Node("import", _line(raw), ",".join(n.split(" as ")[0] for n in names), [], "")
    if any(c.type == "wildcard_import" for c in raw.named_children):
        names = ["*"]
    return Node("import", _line(raw), text_of(module) if module else "", [], ",".join(names))


_HANDLERS: dict[str, Callable[[Raw], Node]] = {
    "module": _block,
    "block": _block,
    "identifier": _name,
    "integer": _num,
    "float": _num,
    "true": _const,
    "false": _const,
    "none": _const,
    "string": _string,
    "concatenated_string": _string,
    "attribute": _attribute,
    "call": _call,
    "keyword_argument": _keyword,
    "list_splat": _spread,
    "dictionary_splat": _spread,
    "list_splat_pattern": _spread,
    "subscript": _subscript,
    "binary_operator": _binary,
    "boolean_operator": _binary,
    "unary_operator": _unary,
    "not_operator": _unary,
    "comparison_operator": _compare,
    "list": _items,
    "tuple": _items,
    "set": _items,
    "expression_list": _items,
    "pattern_list": _items,
    "tuple_pattern": _items,
    "list_pattern": _items,
    "dictionary": _dictionary,
    "pair": _pair,
    "list_comprehension": _comprehension,
    "set_comprehension": _comprehension,
    "dictionary_comprehension": _comprehension,
    "generator_expression": _comprehension,
    "lambda": _lambda,
    "conditional_expression": _conditional,
    "assignment": _assignment,
    "augmented_assignment": _assignment,
    "named_expression": _walrus,
    "if_statement": _if,
    "while_statement": _while,
    "for_statement": _for,
    "try_statement": _try,
    "return_statement": _simple("return"),
    "raise_statement": _simple("raise"),
    "delete_statement": _simple("del"),
    "break_statement": _simple("jump", "break"),
    "continue_statement": _simple("jump", "continue"),
    "yield": _simple("return", "yield"),
    "function_definition": _function,
    "decorated_definition": _decorated,
    "class_definition": _class,
    "import_statement": _import,
    "import_from_statement": _import,
}
