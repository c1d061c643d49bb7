"""What schemathesis has to be told of our media types."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.serializer("application/jsonl")
def json_lines(context: Any, value: Any) -> bytes:
    """Lines as they were generated."""
    return bytes(value) if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
