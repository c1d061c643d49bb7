"""What clients rely on in the OpenAPI document, in short: operations, what they take, and what they answer.

python -m tests.server.contract writes `contract.json`, and refuses to take anything back that is in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from memorist.server.openapi import document

PLACE = Path(__file__).parent / "contract.json"
Contract = dict[str, dict[str, Any]]


def contract(openapi: dict[str, Any]) -> Contract:
    """Per operation: parameters and body fields, each with whether it is required, and the fields of the answer."""
    schemas = openapi["components"]["schemas"]
    return {
        f"{method.upper()} {path}": {
            "takes": {**_parameters(operation), **_body(operation)},
            "answers": sorted(_answer(operation, schemas)),
        }
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    }


def _parameters(operation: dict[str, Any]) -> dict[str, bool]:
    return {parameter["name"]: bool(parameter.get("required")) for parameter in operation["parameters"]}


def _body(operation: dict[str, Any]) -> dict[str, bool]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = content.get("schema", {})
    return {name: name in schema.get("required", ()) for name in schema.get("properties", {})}


def _answer(operation: dict[str, Any], schemas: dict[str, Any]) -> set[str]:
    content = operation["responses"]["200"]["content"]
    return _fields(content.get("application/json", {}).get("schema", {}), schemas, ())


def _fields(schema: dict[str, Any], schemas: dict[str, Any], visited: tuple[str, ...]) -> set[str]:
    """The names in an answer, those of what it holds behind a dot."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return set() if name in visited else _fields(schemas[name], schemas, (*visited, name))
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if isinstance(schema.get("items"), dict) else ())]
    names = {field for part in inner for field in _fields(part, schemas, visited)}
    for name, value in schema.get("properties", {}).items():
        names |= {name, *(f"{name}.{field}" for field in _fields(value, schemas, visited) if len(visited) < 2)}
    return names


def broken(old: Contract, new: Contract) -> list[str]:
    """What a client that was written for the old one would miss, or would have to send besides."""
    problems = [f"{name} is gone" for name in old if name not in new]
    for name in old.keys() & new.keys():
        was, now = old[name], new[name]
        problems += [f"{name} no longer takes {field}" for field in was["takes"] if field not in now["takes"]]
        problems += [
            f"{name} now requires {field}"
            for field, required in now["takes"].items()
            if required and not was["takes"].get(field)
        ]
        problems += [f"{name} no longer answers {field}" for field in was["answers"] if field not in now["answers"]]
    return sorted(problems)


if __name__ == "__main__":
    current = contract(document())
    lost = broken(json.loads(PLACE.read_text("utf-8")), current) if PLACE.exists() else []
    if lost:
        sys.exit("\n".join(lost))
    PLACE.write_text(json.dumps(current, indent=1, sort_keys=True) + "\n", "utf-8")
