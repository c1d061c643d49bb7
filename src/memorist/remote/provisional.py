"""Builds the results of writes inside a batch before the commit. They are built from the arguments and have no
version."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args, get_origin

import msgspec

from ..engine.threads.receipts import MessageReceipt
from ..messages.message import as_message
from ..ports import ttl_micros
from ..protocol.operations import Operation, answer_of
from ..values import JsonMapping, JsonObject

if TYPE_CHECKING:
    from .core import RemoteCore


def provisional(operation: Operation, arguments: JsonMapping, core: RemoteCore) -> object:
    """Return the result of a write as far as its arguments determine it, or None."""
    if operation.name == "threads.append":
        messages = [as_message(message) for message in arguments.get("messages", ())]
        return [MessageReceipt(message, False, False, "pending") for message in messages]
    if operation.name == "documents.add" and not isinstance(arguments.get("text"), str):
        return None  # only the server reads a file's text
    kind = answer_of(operation)
    if get_origin(kind) is list:
        return None
    options = [option for option in get_args(kind) if option is not type(None)] or [kind]
    if isinstance(options[0], type) and issubclass(options[0], msgspec.Struct):
        return _make_record(options[0], arguments, core)
    return None


def _make_record(kind: type[msgspec.Struct], arguments: JsonMapping, core: RemoteCore) -> object:
    at = core.at()
    defaults = {"org": core.org, "created_at": at, "updated_at": at, "actor": core.scope.actor, **_flat(arguments)}
    fields = {field.name: defaults[field.name] for field in msgspec.structs.fields(kind) if field.name in defaults}
    # An explicit None means the default namespace, as if the argument had been left out.
    if fields.get("ns", "") is None:
        del fields["ns"]
    if "ns" not in fields and core.scope.user is not None and "ns" in kind.__struct_fields__:
        fields["ns"] = core.scope.own()
    if "ns" in fields:
        fields["ns"] = str(fields["ns"])
    missing = [field.name for field in msgspec.structs.fields(kind) if field.required and field.name not in fields]
    # Only the server knows the rest, such as an id that it assigns. A made-up value would be worse than none.
    return None if missing else kind(**fields)


def _flat(arguments: JsonMapping) -> JsonObject:
    """Return the arguments by name, including the fields of a checkpoint or document."""
    out: JsonObject = {}
    for name, value in arguments.items():
        if name in ("checkpoint", "doc"):
            out |= msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else dict(value)
        elif name == "fields":
            out |= value
        elif name == "ttl" and value is not None:
            ttl_micros(value)
        elif name != "self" and value is not None:
            out[name] = tuple(value) if name == "key" and isinstance(value, list) else value
    return out
