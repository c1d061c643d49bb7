"""The OpenAPI document: committed, valid, and never taking back what clients rely on."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from memorist.server.openapi import document

from .contract import PLACE, broken, contract

ROOT = Path(__file__).parents[2]


def test_the_committed_document_and_reference_are_those_of_the_code() -> None:
    process = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make-openapi", "--check"], capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout.strip()) == (0, "up to date")


def test_the_document_is_valid() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(document()).iter_errors()] == []


def test_every_operation_is_named_once_and_says_what_it_does() -> None:
    operations = [operation for methods in document()["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert [
        operation["operationId"] for operation in operations if not operation["summary"] or not operation["tags"]
    ] == []


def test_a_summary_ends_with_its_sentence() -> None:
    operations = [operation for methods in document()["paths"].values() for operation in methods.values()]
    cut = [
        operation["operationId"]
        for operation in operations
        if f"{operation['summary']}." not in " ".join(operation["description"].split())
    ]
    assert cut == []


def test_v1_only_grows() -> None:
    """What was released stays: add with `python -m tests.server.contract`, which refuses to take anything back."""
    assert broken(json.loads(PLACE.read_text("utf-8")), contract(document())) == []


def test_a_breaking_change_is_seen() -> None:
    old, new = document(), copy.deepcopy(document())
    fact = new["paths"]["/v1/fact"]["put"]
    fact["requestBody"]["content"]["application/json"]["schema"]["required"].append("source")
    fact["parameters"] = [parameter for parameter in fact["parameters"] if parameter["name"] != "If-Match"]
    del new["components"]["schemas"]["Thread"]["properties"]["title"]
    del new["paths"]["/v1/recall"]
    problems = broken(contract(old), contract(new))
    for problem in (
        "POST /v1/recall is gone",
        "PUT /v1/fact now requires source",
        "PUT /v1/fact no longer takes If-Match",
        "GET /v1/thread no longer answers title",
    ):
        assert problem in problems
