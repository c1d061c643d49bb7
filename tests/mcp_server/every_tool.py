"""One call of every tool, in an order in which each has something to work on."""

from __future__ import annotations

import json
from typing import Any

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
ACME = {"name": "Acme", "entityType": "company", "observations": []}
WORKS = {"from": "Ada", "to": "Acme", "relationType": "works at"}


def calls(own: str) -> list[tuple[str, dict[str, Any]]]:
    """Tools and their arguments, for a caller whose own namespace this is."""
    return [
        ("remember", {"text": "The launch is in May.", "facts": {"city": "Porto"}}),
        ("recall", {"query": "launch"}),
        ("profile", {}),
        ("update", {"id": "city", "to": "Lisbon"}),
        ("why", {"id": f"{own}/city"}),
        ("history", {"id": "city"}),
        ("undo", {"id": "city"}),
        ("review", {}),
        ("tidy", {}),
        ("build_context", {"input": "Hello"}),
        ("save_checkpoint", {"task_id": f"task of {own}", "step": 1}),
        ("resume_task", {"task_id": f"task of {own}"}),
        ("forget", {"id": f"thread:remembered:{own}"}),
        ("create_entities", {"entities": [ADA, ACME]}),
        ("create_relations", {"relations": [WORKS]}),
        ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["sails"]}]}),
        ("read_graph", {}),
        ("search_nodes", {"query": "tea"}),
        ("open_nodes", {"names": ["Ada"]}),
        ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["sails"]}]}),
        ("delete_relations", {"relations": [WORKS]}),
        ("delete_entities", {"entityNames": ["Acme"]}),
    ]


def typed(arguments: dict[str, Any]) -> list[str]:
    """Arguments as the Inspector's command line takes them."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in arguments.items()}
    return [part for name, value in texts.items() for part in ("--tool-arg", f"{name}={value}")]
