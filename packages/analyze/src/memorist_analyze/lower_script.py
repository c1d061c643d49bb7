"""Lower tree-sitter's TypeScript and JavaScript syntax trees to the common tree of `syntax.py`.

Idioms are normalised to their Python form, so that each rule is written once:
`this` becomes `self`, `x.length` becomes `len(x)`, `x.slice(a, b)` a slice, `push` an `append`, `shift()` a `pop(0)`,
`filter` and `map` with an arrow a comprehension, `concat` a sum.
"""

from __future__ import annotations

from collections.abc import Callable

from tree_sitter import Node as Raw

from memorist_analyze.lower_python import text_of
from memorist_analyze.syntax import Head, Node, Param

_TRANSPARENT = {
    "parenthesized_expression", "await_expression", "as_expression", "satisfies_expression", "non_null_expression",
    "expression_statement", "export_statement", "type_assertion", "else_clause",
}  # fmt: skip
_SKIP = {
    "comment", "interface_declaration", "type_alias_declaration", "type_annotation", "type_arguments",
    "accessibility_modifier", "ERROR", "empty_statement", "hash_bang_line", "optional_chain", "decorator",
    "override_modifier", "predefined_type", "jsx_text", "statement_identifier",
}  # fmt: skip
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "function"}


def lower(raw: Raw) -> Node:
    """Lower one raw node of the TypeScript or JavaScript grammar."""
    kind = raw.type
    handler = _HANDLERS.get(kind)
    if handler is not None:
        return handler(raw)
    if kind in _TRANSPARENT:
        inner = [c for c in raw.named_children if c.type not in _SKIP]
        if inner:
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


def _leaf(kind: str) -> Callable[[Raw], Node]:
    def make(raw: Raw) -> Node:
        return Node(kind, _line(raw), text_of(raw))

    return make


def _this(raw: Raw) -> Node:
    return Node("name", _line(raw), "self")


def _string(raw: Raw) -> Node:
    return Node("str", _line(raw), "".join(text_of(c) for c in raw.named_children))


def _template(raw: Raw) -> Node:
    pieces: list[str] = []
    holes: list[Node] = []
    for child in raw.named_children:
        if child.type == "template_substitution":
            holes.extend(_lower_all(child))
        else:
            pieces.append(text_of(child))
    return Node("fstr" if holes else "str", _line(raw), "".join(pieces), holes)


def _member(raw: Raw) -> Node:
    line = _line(raw)
    owner, name = _maybe(_field(raw, "object"), line), _field(raw, "property")
    label = text_of(name).lstrip("#") if name is not None else ""
    if label == "length":
        return Node("call", line, "", [Node("name", line, "len"), owner])
    return Node("attr", line, label, [owner])


def _target(raw: Raw | None, line: int) -> Node:
    """Return the left side of an assignment: here `x.length` stays an attribute and does not become `len(x)`."""
    if raw is not None and raw.type == "member_expression":
        name = _field(raw, "property")
        return Node("attr", line, text_of(name) if name is not None else "", [_maybe(_field(raw, "object"), line)])
    return _maybe(raw, line)


def _subscript(raw: Raw) -> Node:
    line = _line(raw)
    return Node("index", line, "", [_maybe(_field(raw, "object"), line), _maybe(_field(raw, "index"), line)])


def _call(raw: Raw) -> Node:
    line = _line(raw)
    callee, args = _field(raw, "function"), _field(raw, "arguments")
    kids = _lower_all(args) if args is not None and args.type == "arguments" else []
    if callee is not None and callee.type == "member_expression":
        name = _field(callee, "property")
        owner = _maybe(_field(callee, "object"), line)
        return _method(line, owner, text_of(name).lstrip("#") if name is not None else "", kids)
    return Node("call", line, "", [_maybe(callee, line), *kids])


def _method(line: int, owner: Node, name: str, args: list[Node]) -> Node:
    none = Node("none", line)
    if name == "slice" or (name in ("substring", "substr") and args):
        return Node("slice", line, "", [owner, *[*args, none, none][:2]])
    if name == "concat" and args:
        return Node("bin", line, "+", [owner, *args[:1]])
    if name == "push":
        return Node("call", line, "", [Node("attr", line, "append", [owner]), *args])
    if name == "shift" and not args:
        return Node("call", line, "", [Node("attr", line, "pop", [owner]), Node("num", line, "0")])
    inline = bool(args) and args[0].kind == "lambda" and (name == "filter" or args[0].text == "expression")
    if name in ("filter", "map", "flatMap") and inline:
        body = args[0].kids[0]
        item = Node("name", line, args[0].note or "item")
        if name == "filter":
            return Node("comp", line, "list", [item, item, owner, Node("cond_filter", line, "", [body])])
        return Node("comp", line, "list", [body, item, owner])
    if name in ("toReversed", "reverse") and not args:
        return Node("call", line, "", [Node("name", line, "reversed"), owner])
    return Node("call", line, "", [Node("attr", line, name, [owner]), *args])


def _new(raw: Raw) -> Node:
    args = _field(raw, "arguments")
    return Node(
        "call",
        _line(raw),
        "new",
        [_maybe(_field(raw, "constructor"), _line(raw)), *(_lower_all(args) if args is not None else [])],
    )


def _spread(raw: Raw) -> Node:
    return Node("spread", _line(raw), "", _lower_all(raw) or [Node("none", _line(raw))])


def _binary(raw: Raw) -> Node:
    line = _line(raw)
    operator = _field(raw, "operator")
    label = text_of(operator) if operator is not None else ""
    kids = [_maybe(_field(raw, "left"), line), _maybe(_field(raw, "right"), line)]
    if label in ("&&", "||", "??"):
        return Node("bool", line, "and" if label == "&&" else "or", kids)
    if label in ("<", ">", "<=", ">=", "==", "!=", "===", "!==", "in", "instanceof"):
        return Node("cmp", line, label.replace("===", "==").replace("!==", "!="), kids)
    return Node("bin", line, label, kids)


def _unary(raw: Raw) -> Node:
    operator = _field(raw, "operator")
    label = text_of(operator) if operator is not None else ""
    kids = [_maybe(_field(raw, "argument"), _line(raw))]
    if label == "!":
        return Node("bool", _line(raw), "not", kids)
    return Node("del" if label == "delete" else "un", _line(raw), label, kids)


def _update(raw: Raw) -> Node:
    operator = "+=" if "++" in text_of(raw) else "-="
    return Node(
        "assign", _line(raw), operator, [_maybe(_field(raw, "argument"), _line(raw)), Node("num", _line(raw), "1")]
    )


def _array(raw: Raw) -> Node:
    return Node("list", _line(raw), "list", _lower_all(raw))


def _object(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type in ("shorthand_property_identifier", "shorthand_property_identifier_pattern"):
            kids.append(Node("pair", _line(child), text_of(child), [Node("name", _line(child), text_of(child))]))
        elif child.type not in _SKIP:
            kids.append(lower(child))
    return Node("dict", _line(raw), "", kids)


def _pair(raw: Raw) -> Node:
    key = _field(raw, "key")
    value = _field(raw, "value")
    label = text_of(key).strip("\"'`") if key is not None else ""
    inner = value if value is not None and value.type in _FUNCTIONS and _has_block(value) else _wrapped_generator(value)
    if inner is not None:
        return Node("pair", _line(raw), label, [_function(inner, label)])
    return Node("pair", _line(raw), label, [_maybe(value, _line(raw))])


def _ternary(raw: Raw) -> Node:
    line = _line(raw)
    return Node("cond", line, "", [_maybe(_field(raw, f), line) for f in ("condition", "consequence", "alternative")])


def _assignment(raw: Raw) -> Node:
    line = _line(raw)
    operator = _field(raw, "operator")
    return Node(
        "assign",
        line,
        text_of(operator) if operator is not None else "=",
        [_target(_field(raw, "left"), line), _maybe(_field(raw, "right"), line)],
    )


def _declaration(raw: Raw) -> Node:
    kids = [_declarator(c) for c in raw.named_children if c.type == "variable_declarator"]
    return kids[0] if len(kids) == 1 else Node("block", _line(raw), "", kids)


def _declarator(raw: Raw) -> Node:
    line = _line(raw)
    name, value, annotation = _field(raw, "name"), _field(raw, "value"), _field(raw, "type")
    if value is not None and name is not None and name.type == "identifier" and value.type in _FUNCTIONS:
        return _function(value, text_of(name))
    wrapped = _wrapped_generator(value)
    if wrapped is not None and name is not None and name.type == "identifier":
        return _function(wrapped, text_of(name))
    note = text_of(annotation).lstrip(": ") if annotation is not None else ""
    return Node("assign", line, "=", [_maybe(name, line), _maybe(value, line)], note)


def _wrapped_generator(value: Raw | None) -> Raw | None:
    """Return the generator inside `const run = wrap("run")(function* (x) { … })`, lowered as the function `run`."""
    if value is None or value.type != "call_expression":
        return None
    args = _field(value, "arguments")
    if args is None or args.type != "arguments":
        return None
    return next((c for c in args.named_children if c.type == "generator_function"), None)


def _pattern(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type in ("shorthand_property_identifier_pattern", "identifier"):
            kids.append(Node("name", _line(child), text_of(child)))
        elif child.type == "pair_pattern":
            kids.append(_maybe(_field(child, "value"), _line(child)))
        elif child.type == "object_assignment_pattern":
            kids.append(_maybe(_field(child, "left"), _line(child)))
        elif child.type not in _SKIP:
            kids.append(lower(child))
    return Node("list", _line(raw), "tuple", kids)


def _block(raw: Raw) -> Node:
    return Node("block", _line(raw), "", _lower_all(raw))


def _if(raw: Raw) -> Node:
    line = _line(raw)
    kids = [_maybe(_field(raw, "condition"), line), _as_block(_maybe(_field(raw, "consequence"), line))]
    alternative = _field(raw, "alternative")
    kids.append(_as_block(lower(alternative)) if alternative is not None else Node("block", line))
    return Node("if", line, "", kids)


def _as_block(branch: Node) -> Node:
    """Return a branch without braces, `if (short) return text;`, as a block of one statement."""
    return branch if branch.kind in ("block", "if") else Node("block", branch.line, "", [branch])


def _while(raw: Raw) -> Node:
    line = _line(raw)
    return Node("while", line, "", [_maybe(_field(raw, "condition"), line), _maybe(_field(raw, "body"), line)])


def _for_in(raw: Raw) -> Node:
    line = _line(raw)
    return Node("for", line, "", [_maybe(_field(raw, f), line) for f in ("left", "right", "body")])


def _for(raw: Raw) -> Node:
    """Lower `for (start; test; step)` to a `while` whose block holds start, body and step; text is `up` or `down`."""
    line = _line(raw)
    start, test, step, body = (_maybe(_field(raw, f), line) for f in ("initializer", "condition", "increment", "body"))
    way = "down" if step.kind == "assign" and step.text == "-=" else "up"
    return Node("while", line, way, [test, Node("block", line, "", [start, body, step])])


def _try(raw: Raw) -> Node:
    kids = [_maybe(_field(raw, "body"), _line(raw))]
    handler, final = _field(raw, "handler"), _field(raw, "finalizer")
    if handler is not None:
        kids.append(Node("handler", _line(handler), "", [_maybe(_field(handler, "body"), _line(handler))]))
    if final is not None:
        kids.append(_maybe(_field(final, "body"), _line(final)))
    return Node("try", _line(raw), "", kids)


def _switch(raw: Raw) -> Node:
    value = _maybe(_field(raw, "value"), _line(raw))
    body = _field(raw, "body")
    branches: list[Node] = []
    for case in body.named_children if body is not None else []:
        label = _maybe(_field(case, "value"), _line(case))
        block = Node("block", _line(case), "", [lower(b) for b in case.children_by_field_name("body")])
        test = Node("cmp", _line(case), "==", [value, label])
        branches.append(Node("if", _line(case), "", [test, block, Node("block", _line(case))]))
    return Node("block", _line(raw), "switch", branches)


def _simple(kind: str, label: str = "") -> Callable[[Raw], Node]:
    def make(raw: Raw) -> Node:
        return Node(kind, _line(raw), label, _lower_all(raw))

    return make


def _has_block(raw: Raw) -> bool:
    body = _field(raw, "body")
    return body is not None and body.type == "statement_block"


def _function(raw: Raw, name: str) -> Node:
    body, returns = _field(raw, "body"), _field(raw, "return_type")
    if body is None:
        block = Node("block", _line(raw))
    elif body.type == "statement_block":
        block = _block(body)
    else:
        block = Node("block", _line(body), "", [Node("return", _line(body), "", [lower(body)])])
    node = Node("func", _line(raw), name, [block])
    node.head = Head(name, _params(raw), text_of(returns).lstrip(": ") if returns else "", [], raw.end_point[0] + 1)
    return node


def _params(raw: Raw) -> list[Param]:
    single = _field(raw, "parameter")
    if single is not None:
        return [Param(text_of(single))]
    found: list[Param] = []
    parameters = _field(raw, "parameters")
    for child in parameters.named_children if parameters is not None else []:
        if child.type in _SKIP:
            continue
        pattern = _field(child, "pattern") or _field(child, "left") or child
        annotation, default = _field(child, "type"), _field(child, "value")
        note = text_of(annotation).lstrip(": ") if annotation is not None else ""
        value = text_of(default)[:120] if default is not None else ""
        if pattern.type == "object_pattern":
            found.extend(Param(k.text, "", "") for k in _pattern(pattern).kids if k.kind == "name")
        else:
            found.append(Param(text_of(pattern).lstrip("."), note, value))
    return found


def _declared(raw: Raw) -> Node:
    name = _field(raw, "name")
    return _function(raw, text_of(name).lstrip("#") if name is not None else "")


def _yield(raw: Raw) -> Node:
    """Lower `yield` to a return; `const x = yield* f()` uses the result and is lowered like `await f()`."""
    kids = _lower_all(raw)
    used = raw.parent is not None and raw.parent.type != "expression_statement"
    if kids and (used or any(c.type == "*" for c in raw.children)):
        return kids[0]
    return Node("return", _line(raw), "yield", kids)


def _inline(raw: Raw) -> Node:
    """Lower a function expression to a lambda, so that its body counts as part of the enclosing function."""
    body = _field(raw, "body")
    params = _params(raw)
    label = "block" if body is not None and body.type == "statement_block" else "expression"
    return Node("lambda", _line(raw), label, [_maybe(body, _line(raw))], params[0].name if params else "")


def _class(raw: Raw) -> Node:
    name, body = _field(raw, "name"), _field(raw, "body")
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type == "class_heritage":
            kids.extend(_heritage(child))
    kids.append(_class_body(body) if body is not None else Node("block", _line(raw)))
    return Node("class", _line(raw), text_of(name) if name is not None else "", kids, str(raw.end_point[0] + 1))


def _heritage(raw: Raw) -> list[Node]:
    bases: list[Node] = []
    for clause in raw.named_children:
        inner = clause.named_children if clause.type in ("extends_clause", "implements_clause") else [clause]
        bases.extend(Node("name", _line(b), text_of(b).split("<")[0]) for b in inner if b.type != "type_arguments")
    return bases


def _class_body(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type in ("public_field_definition", "field_definition"):
            kids.append(_class_field(child))
        elif child.type not in _SKIP and child.type not in ("method_signature", "abstract_method_signature"):
            kids.append(lower(child))
    return Node("block", _line(raw), "", kids)


def _class_field(raw: Raw) -> Node:
    line = _line(raw)
    name = _field(raw, "name") or _field(raw, "property")
    value, annotation = _field(raw, "value"), _field(raw, "type")
    label = text_of(name).lstrip("#") if name is not None else ""
    if value is not None and value.type in _FUNCTIONS:
        return _function(value, label)
    note = text_of(annotation).lstrip(": ") if annotation is not None else ""
    return Node("assign", line, "=", [Node("name", line, label), _maybe(value, line)], note)


def _import(raw: Raw) -> Node:
    source = _field(raw, "source")
    names = [text_of(c) for c in raw.named_children if c.type in ("import_clause", "export_clause")]
    if raw.type == "export_statement" and not names:
        names = ["*"]
    return Node("import", _line(raw), text_of(source).strip("\"'") if source is not None else "", [], ",".join(names))


def _export(raw: Raw) -> Node:
    if _field(raw, "source") is not None:
        return _import(raw)
    inner = [c for c in raw.named_children if c.type not in _SKIP and c.type != "export_clause"]
    return lower(inner[0]) if inner else Node("other", _line(raw), "export", [])


_HANDLERS: dict[str, Callable[[Raw], Node]] = {
    "program": _block,
    "statement_block": _block,
    "identifier": _leaf("name"),
    "property_identifier": _leaf("name"),
    "type_identifier": _leaf("name"),
    "shorthand_property_identifier": _leaf("name"),
    "number": _leaf("num"),
    "true": _leaf("const"),
    "false": _leaf("const"),
    "null": _leaf("const"),
    "undefined": _leaf("const"),
    "regex": _leaf("const"),
    "this": _this,
    "string": _string,
    "template_string": _template,
    "member_expression": _member,
    "subscript_expression": _subscript,
    "call_expression": _call,
    "new_expression": _new,
    "spread_element": _spread,
    "rest_pattern": _spread,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "update_expression": _update,
    "array": _array,
    "object": _object,
    "pair": _pair,
    "object_pattern": _pattern,
    "array_pattern": _pattern,
    "ternary_expression": _ternary,
    "assignment_expression": _assignment,
    "augmented_assignment_expression": _assignment,
    "lexical_declaration": _declaration,
    "variable_declaration": _declaration,
    "if_statement": _if,
    "while_statement": _while,
    "do_statement": _while,
    "for_statement": _for,
    "for_in_statement": _for_in,
    "try_statement": _try,
    "switch_statement": _switch,
    "return_statement": _simple("return"),
    "yield_expression": _yield,
    "throw_statement": _simple("raise"),
    "break_statement": _simple("jump", "break"),
    "continue_statement": _simple("jump", "continue"),
    "function_declaration": _declared,
    "generator_function_declaration": _declared,
    "method_definition": _declared,
    "arrow_function": _inline,
    "function_expression": _inline,
    "class_declaration": _class,
    "abstract_class_declaration": _class,
    "class": _class,
    "import_statement": _import,
    "export_statement": _export,
}
