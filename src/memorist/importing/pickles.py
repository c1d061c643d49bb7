"""Loads the pickles of a local Qdrant store without running code from them.

A pickle can call any function it names. This restricted unpickler allows only the names of Qdrant's point classes,
which it maps to an inert class, and the names of a few built-in containers. Any other name is refused.
"""

from __future__ import annotations

import io
import pickle

from ..values import JsonObject

MAX_PICKLE_BYTES = 16 * 1024 * 1024


class Point:
    """Replaces Qdrant's classes; it only holds the fields of the pickled object."""

    def __init__(self, *arguments: object) -> None:
        self.fields: JsonObject = {}

    def __setstate__(self, state: object) -> None:
        saved = state[0] if isinstance(state, tuple) and state else state
        fields = saved.get("__dict__", saved) if isinstance(saved, dict) else {}
        self.fields = fields if isinstance(fields, dict) else {}


ALLOWED: dict[tuple[str, str], object] = {
    ("qdrant_client.http.models.models", "PointStruct"): Point,
    ("qdrant_client.http.models.models", "SparseVector"): Point,
    ("builtins", "set"): set,
    ("builtins", "dict"): dict,
    ("builtins", "list"): list,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        try:
            return ALLOWED[module, name]
        except KeyError:
            raise ValueError("its pickle names something that is not a point") from None

    def persistent_load(self, pid: object) -> object:
        raise ValueError("its pickle refers to an object outside of it")


def point(data: object) -> JsonObject:
    """Return the payload of a pickled point. Raises ValueError for anything else."""
    if not isinstance(data, bytes) or len(data) > MAX_PICKLE_BYTES:
        raise ValueError("it is not a pickled point, or too large")
    try:
        value = _Unpickler(io.BytesIO(data)).load()
    except ValueError:
        raise
    except Exception as cause:  # a damaged pickle can raise almost any exception
        raise ValueError("its pickle is damaged") from cause
    if not isinstance(value, Point) or not isinstance(value.fields.get("payload"), dict):
        raise ValueError("it is not a point with a payload")
    return {"id": value.fields.get("id"), **value.fields["payload"]}
