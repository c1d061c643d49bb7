"""Lowers tree-sitter's TypeScript and JavaScript syntax trees.

Idioms are normalised to their Python form, so that each rule is written once:
`this` becomes `self`, `x.length` becomes `len(x)`, `x.slice(a, b)` a slice, `push` an `append`, `shift()` a `pop(0)`,
`filter` and `map` with an arrow a comprehension, `concat` a sum.
"""

from __future__ import annotations

from tree_sitter import Node as Raw

from memorist_analyze.lowering import Grammar, field, line_of, spread, text_of, texts
from memorist_analyze.syntax import Head, Node, Param

_SCRIPT = Grammar(
    {
        "parenthesized_expression", "await_expression", "as_expression", "satisfies_expression", "non_null_expression",
        "expression_statement", "export_statement", "type_assertion", "else_clause",
    },
    {
        "comment", "interface_declaration", "type_alias_declaration", "type_annotation", "type_arguments",
        "accessibility_modifier", "ERROR", "empty_statement", "hash_bang_line", "optional_chain", "decorator",
        "override_modifier", "predefined_type", "jsx_text", "statement_identifier",
    },
    one_inside=False,
)  # fmt: skip
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "function"}
_COMPARING = {"<", ">", "<=", ">=", "==", "!=", "===", "!==", "in", "instanceof"}
lower = _SCRIPT.lower


def _name(raw: Raw, child: str) -> str:
    return text_of(field(raw, child)).lstrip("#")


def _note(raw: Raw, child: str = "type") -> str:
    return text_of(field(raw, child)).lstrip(": ")


def _string(raw: Raw) -> Node:
    return Node("str", line_of(raw), "".join(texts(raw.named_children)))


def _template(raw: Raw) -> Node:
    pieces: list[str] = []
    holes: list[Node] = []
    for child in raw.named_children:
        if child.type == "template_substitution":
            holes.extend(_SCRIPT.below(child))
        else:
            pieces.append(text_of(child))
    return Node("fstr" if holes else "str", line_of(raw), "".join(pieces), holes)


def _member(raw: Raw) -> Node:
    line, label = line_of(raw), _name(raw, "property")
    owner = _SCRIPT.fields(raw, "object")
    if label == "length":
        return Node("call", line, "", [Node("name", line, "len"), *owner])
    return Node("attr", line, label, owner)


def _assignment(raw: Raw) -> Node:
    """Lower an assignment. On its left side, `x.length` stays an attribute and does not become `len(x)`."""
    left = field(raw, "left")
    target, value = _SCRIPT.fields(raw, "left", "right")
    if left is not None and left.type == "member_expression":
        target = Node("attr", line_of(raw), text_of(field(left, "property")), _SCRIPT.fields(left, "object"))
    return Node("assign", line_of(raw), text_of(field(raw, "operator")) or "=", [target, value])


def _call(raw: Raw) -> Node:
    line = line_of(raw)
    callee, args = field(raw, "function"), field(raw, "arguments")
    kids = _SCRIPT.below(args) if args is not None and args.type == "arguments" else []
    if callee is not None and callee.type == "member_expression":
        (owner,) = _SCRIPT.fields(callee, "object")
        return _method(line, owner, _name(callee, "property"), kids)
    return Node("call", line, "", [_SCRIPT.maybe(callee, line), *kids])


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
    args = field(raw, "arguments")
    kids = _SCRIPT.below(args) if args is not None else []
    return Node("call", line_of(raw), "new", [*_SCRIPT.fields(raw, "constructor"), *kids])


def _binary(raw: Raw) -> Node:
    label = text_of(field(raw, "operator"))
    kids = _SCRIPT.fields(raw, "left", "right")
    if label in ("&&", "||", "??"):
        return Node("bool", line_of(raw), "and" if label == "&&" else "or", kids)
    if label in _COMPARING:
        return Node("cmp", line_of(raw), label.replace("===", "==").replace("!==", "!="), kids)
    return Node("bin", line_of(raw), label, kids)


def _unary(raw: Raw) -> Node:
    label = text_of(field(raw, "operator"))
    kind = "bool" if label == "!" else "del" if label == "delete" else "un"
    return Node(kind, line_of(raw), "not" if label == "!" else label, _SCRIPT.fields(raw, "argument"))


def _update(raw: Raw) -> Node:
    operator, line = "+=" if "++" in text_of(raw) else "-=", line_of(raw)
    return Node("assign", line, operator, [*_SCRIPT.fields(raw, "argument"), Node("num", line, "1")])


def _object(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type in ("shorthand_property_identifier", "shorthand_property_identifier_pattern"):
            line, name = line_of(child), text_of(child)
            kids.append(Node("pair", line, name, [Node("name", line, name)]))
        elif child.type not in _SCRIPT.skipped:
            kids.append(lower(child))
    return Node("dict", line_of(raw), "", kids)


def _pair(raw: Raw) -> Node:
    value, label = field(raw, "value"), text_of(field(raw, "key")).strip("\"'`")
    inner = value if value is not None and value.type in _FUNCTIONS and _has_block(value) else _wrapped_generator(value)
    kid = _function(inner, label) if inner is not None else _SCRIPT.maybe(value, line_of(raw))
    return Node("pair", line_of(raw), label, [kid])


def _declaration(raw: Raw) -> Node:
    kids = [_declarator(c) for c in raw.named_children if c.type == "variable_declarator"]
    return kids[0] if len(kids) == 1 else Node("block", line_of(raw), "", kids)


def _declarator(raw: Raw) -> Node:
    name, value = field(raw, "name"), field(raw, "value")
    if value is not None and name is not None and name.type == "identifier":
        inner = value if value.type in _FUNCTIONS else _wrapped_generator(value)
        if inner is not None:
            return _function(inner, text_of(name))
    return Node("assign", line_of(raw), "=", _SCRIPT.fields(raw, "name", "value"), _note(raw))


def _wrapped_generator(value: Raw | None) -> Raw | None:
    """Return the generator inside `const run = wrap("run")(function* (x) { … })`, lowered as the function `run`."""
    args = field(value, "arguments") if value is not None and value.type == "call_expression" else None
    if args is None or args.type != "arguments":
        return None
    return next((c for c in args.named_children if c.type == "generator_function"), None)


def _pattern(raw: Raw) -> Node:
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type in ("shorthand_property_identifier_pattern", "identifier"):
            kids.append(Node("name", line_of(child), text_of(child)))
        elif child.type in ("pair_pattern", "object_assignment_pattern"):
            kids += _SCRIPT.fields(child, "value" if child.type == "pair_pattern" else "left")
        elif child.type not in _SCRIPT.skipped:
            kids.append(lower(child))
    return Node("list", line_of(raw), "tuple", kids)


def _if(raw: Raw) -> Node:
    test, then = _SCRIPT.fields(raw, "condition", "consequence")
    other = field(raw, "alternative")
    otherwise = _as_block(lower(other)) if other is not None else Node("block", line_of(raw))
    return Node("if", line_of(raw), "", [test, _as_block(then), otherwise])


def _as_block(branch: Node) -> Node:
    """Return a branch without braces, such as `if (short) return text;`, as a block with one statement."""
    return branch if branch.kind in ("block", "if") else Node("block", branch.line, "", [branch])


def _for(raw: Raw) -> Node:
    """Lower `for (start; test; step)` to a `while` whose block contains the start, the body and the step. Its text is
    `up` or `down`."""
    start, test, step, body = _SCRIPT.fields(raw, "initializer", "condition", "increment", "body")
    way = "down" if step.kind == "assign" and step.text == "-=" else "up"
    return Node("while", line_of(raw), way, [test, Node("block", line_of(raw), "", [start, body, step])])


def _try(raw: Raw) -> Node:
    kids = _SCRIPT.fields(raw, "body")
    handler, final = field(raw, "handler"), field(raw, "finalizer")
    if handler is not None:
        kids.append(Node("handler", line_of(handler), "", _SCRIPT.fields(handler, "body")))
    return Node("try", line_of(raw), "", kids + (_SCRIPT.fields(final, "body") if final is not None else []))


def _switch(raw: Raw) -> Node:
    (value,) = _SCRIPT.fields(raw, "value")
    body = field(raw, "body")
    branches: list[Node] = []
    for case in body.named_children if body is not None else []:
        line = line_of(case)
        block = Node("block", line, "", [lower(b) for b in case.children_by_field_name("body")])
        test = Node("cmp", line, "==", [value, *_SCRIPT.fields(case, "value")])
        branches.append(Node("if", line, "", [test, block, Node("block", line)]))
    return Node("block", line_of(raw), "switch", branches)


def _has_block(raw: Raw) -> bool:
    body = field(raw, "body")
    return body is not None and body.type == "statement_block"


def _function(raw: Raw, name: str) -> Node:
    body = field(raw, "body")
    if body is None:
        block = Node("block", line_of(raw))
    elif body.type == "statement_block":
        block = lower(body)
    else:
        block = Node("block", line_of(body), "", [Node("return", line_of(body), "", [lower(body)])])
    node = Node("func", line_of(raw), name, [block])
    node.head = Head(name, _params(raw), _note(raw, "return_type"), [], raw.end_point[0] + 1)
    return node


def _params(raw: Raw) -> list[Param]:
    single = field(raw, "parameter")
    if single is not None:
        return [Param(text_of(single))]
    params: list[Param] = []
    parameters = field(raw, "parameters")
    for child in parameters.named_children if parameters is not None else []:
        if child.type in _SCRIPT.skipped:
            continue
        pattern = field(child, "pattern") or field(child, "left") or child
        if pattern.type == "object_pattern":
            params.extend(Param(k.text) for k in _pattern(pattern).kids if k.kind == "name")
        else:
            params.append(Param(text_of(pattern).lstrip("."), _note(child), text_of(field(child, "value"))[:120]))
    return params


def _lower_declaration(raw: Raw) -> Node:
    return _function(raw, _name(raw, "name"))


def _yield(raw: Raw) -> Node:
    """Lower `yield` to a return. `const x = yield* f()` uses the result and is lowered like `await f()`."""
    kids = _SCRIPT.below(raw)
    used = raw.parent is not None and raw.parent.type != "expression_statement"
    if kids and (used or any(c.type == "*" for c in raw.children)):
        return kids[0]
    return Node("return", line_of(raw), "yield", kids)


def _inline(raw: Raw) -> Node:
    """Lower a function expression to a lambda, so that its body counts as part of the enclosing function."""
    params, label = _params(raw), "block" if _has_block(raw) else "expression"
    return Node("lambda", line_of(raw), label, _SCRIPT.fields(raw, "body"), params[0].name if params else "")


def _class(raw: Raw) -> Node:
    body = field(raw, "body")
    kids = [base for c in raw.named_children if c.type == "class_heritage" for base in _heritage(c)]
    kids.append(_class_body(body) if body is not None else Node("block", line_of(raw)))
    return Node("class", line_of(raw), text_of(field(raw, "name")), kids, str(raw.end_point[0] + 1))


def _heritage(raw: Raw) -> list[Node]:
    bases: list[Node] = []
    for clause in raw.named_children:
        inner = clause.named_children if clause.type in ("extends_clause", "implements_clause") else [clause]
        bases.extend(Node("name", line_of(b), text_of(b).split("<")[0]) for b in inner if b.type != "type_arguments")
    return bases


def _class_body(raw: Raw) -> Node:
    left_out = {*_SCRIPT.skipped, "method_signature", "abstract_method_signature"}
    kids: list[Node] = []
    for child in raw.named_children:
        if child.type in ("public_field_definition", "field_definition"):
            kids.append(_class_field(child))
        elif child.type not in left_out:
            kids.append(lower(child))
    return Node("block", line_of(raw), "", kids)


def _class_field(raw: Raw) -> Node:
    value, label = field(raw, "value"), _name(raw, "name") or _name(raw, "property")
    if value is not None and value.type in _FUNCTIONS:
        return _function(value, label)
    line = line_of(raw)
    return Node("assign", line, "=", [Node("name", line, label), _SCRIPT.maybe(value, line)], _note(raw))


def _import(raw: Raw) -> Node:
    names = texts(c for c in raw.named_children if c.type in ("import_clause", "export_clause"))
    if raw.type == "export_statement" and not names:
        names = ["*"]
    return Node("import", line_of(raw), text_of(field(raw, "source")).strip("\"'"), [], ",".join(names))


def _export(raw: Raw) -> Node:
    if field(raw, "source") is not None:
        return _import(raw)
    inner = [c for c in raw.named_children if c.type not in _SCRIPT.skipped and c.type != "export_clause"]
    return lower(inner[0]) if inner else Node("other", line_of(raw), "export")


_SCRIPT.handlers = {
    "this": _SCRIPT.leaf("name", "self"), "number": _SCRIPT.leaf("num"), "string": _string,
    "template_string": _template, "member_expression": _member, "call_expression": _call, "new_expression": _new,
    "subscript_expression": _SCRIPT.build("index", "object", "index"), "binary_expression": _binary,
    "unary_expression": _unary, "update_expression": _update, "array": _SCRIPT.listed("list", "list"),
    "object": _object, "pair": _pair, "if_statement": _if, "for_statement": _for, "try_statement": _try,
    "ternary_expression": _SCRIPT.build("cond", "condition", "consequence", "alternative"),
    "for_in_statement": _SCRIPT.build("for", "left", "right", "body"), "switch_statement": _switch,
    "return_statement": _SCRIPT.listed("return"), "yield_expression": _yield,
    "throw_statement": _SCRIPT.listed("raise"), "break_statement": _SCRIPT.listed("jump", "break"),
    "continue_statement": _SCRIPT.listed("jump", "continue"), "import_statement": _import, "export_statement": _export,
}  # fmt: skip
_SCRIPT.handle(_SCRIPT.listed("block"), "program statement_block")
_SCRIPT.handle(_SCRIPT.leaf("name"), "identifier property_identifier type_identifier shorthand_property_identifier")
_SCRIPT.handle(_SCRIPT.leaf("const"), "true false null undefined regex")
_SCRIPT.handle(spread(_SCRIPT), "spread_element rest_pattern")
_SCRIPT.handle(_pattern, "object_pattern array_pattern")
_SCRIPT.handle(_assignment, "assignment_expression augmented_assignment_expression")
_SCRIPT.handle(_declaration, "lexical_declaration variable_declaration")
_SCRIPT.handle(_SCRIPT.build("while", "condition", "body"), "while_statement do_statement")
_SCRIPT.handle(_lower_declaration, "function_declaration generator_function_declaration method_definition")
_SCRIPT.handle(_inline, "arrow_function function_expression")
_SCRIPT.handle(_class, "class_declaration abstract_class_declaration class")
