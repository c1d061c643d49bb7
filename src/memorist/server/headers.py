"""Returns the headers of a request as one dict, built once, because Starlette searches all of them for each name."""

from __future__ import annotations

from starlette.types import Scope


def headers_of(scope: Scope) -> dict[str, str]:
    """Return values by lower-case name. If a name is repeated, the first value counts, as in Starlette."""
    headers: dict[str, str] | None = scope.get("memorist.headers")
    if headers is None:
        # In reverse, so that the first of several values is the last to be written to the dict.
        pairs = reversed(scope["headers"])
        headers = scope["memorist.headers"] = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
    return headers
