"""Handles the application's schemas. The model fills in their fields, and the values are returned as the application's
own type.

A schema is a msgspec struct, a dataclass, a TypedDict, a Pydantic model or a JSON Schema. The field `tier` of
`Customer` becomes the fact `customer.tier`. Its values are converted to the field's type, or refused.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from ...errors import InvalidValue, UsageError
from ...values import JsonMapping, JsonObject

SchemaSpec = type | JsonMapping
"""A schema that `Extraction(schemas=[…])` accepts: a type, or a JSON Schema with a title."""
_JSON_TYPES: JsonObject = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


class Field(msgspec.Struct, frozen=True):
    """Represents one field of a schema."""

    name: str
    type: Any
    """This is the Python type that values are converted to."""
    shape: JsonMapping
    """This is its JSON Schema."""
    required: bool
    description: str = ""
    convert: Callable[[Any], Any] | None = None
    """This function converts a value to JSON that fits the field, if its type requires that. It raises ValueError for
    an invalid value."""


class Schema(msgspec.Struct, frozen=True):
    """Holds a schema in the form that the writer uses."""

    name: str
    fields: tuple[Field, ...]
    spec: Any
    description: str = ""

    @property
    def prefix(self) -> str:
        """The keys of its facts begin with this prefix."""
        return f"{snake_case(self.name)}."

    def field(self, key: str) -> Field | None:
        """Return the field that a fact's key names, or None if the key does not belong to this schema."""
        name = key.removeprefix(self.prefix) if key.startswith(self.prefix) else None
        return next((field for field in self.fields if field.name == name), None)

    def is_complete(self, values: Mapping[str, object]) -> bool:
        """Return whether all required fields are present."""
        return all(field.name in values for field in self.fields if field.required)

    def build(self, values: Mapping[str, object]) -> Any:
        """Return an instance with these values, which must be complete."""
        if isinstance(self.spec, Mapping):
            return dict(values)
        if hasattr(self.spec, "model_validate"):
            return self.spec.model_validate(dict(values), by_name=True)
        return msgspec.convert(dict(values), self.spec, strict=False)

    def shown(self) -> str:
        """Return the schema in the form that the prompt shows."""
        lines = [f"{self.name}: {self.description}".rstrip(": ").strip()]
        for field in self.fields:
            meaning = f" ({field.description})" if field.description else ""
            lines.append(f"- key `{self.prefix}{field.name}`: {_shape_words(field.shape)}{meaning}")
        return "\n".join(lines)


def read_schema(spec: SchemaSpec) -> Schema:
    """Return a schema from any of the supported forms. Raises UsageError for anything else."""
    if isinstance(spec, Mapping):
        return _from_json_schema(spec)
    model: object = spec
    if hasattr(model, "model_json_schema") and hasattr(model, "model_validate"):  # Pydantic's, without importing it
        return _from_pydantic(model)
    is_struct = isinstance(spec, type) and (
        issubclass(spec, msgspec.Struct) or dataclasses.is_dataclass(spec) or typing.is_typeddict(spec)
    )
    if not is_struct:
        raise UsageError(
            "a schema is a msgspec.Struct, a dataclass, a TypedDict, a Pydantic model or a JSON Schema with a title"
        )
    (reference,), components = msgspec.json.schema_components([spec], ref_template="{name}")
    document: JsonMapping = components[reference["$ref"]] if "$ref" in reference else reference
    return _from_document(spec.__name__, document, typing.get_type_hints(spec), spec)


def _from_pydantic(model: Any) -> Schema:
    from pydantic import TypeAdapter  # installed, as somebody has a model of it

    schema = _from_document(model.__name__, model.model_json_schema(by_alias=False), {}, model)
    fields = []
    for field in schema.fields:
        declared = model.model_fields[field.name]
        annotation: Any = declared.annotation
        if declared.metadata:
            annotation = Annotated[(annotation, *declared.metadata)]
        adapter = TypeAdapter(annotation)
        fields.append(msgspec.structs.replace(field, convert=_pydantic_converter(adapter)))
    return msgspec.structs.replace(schema, fields=tuple(fields))


def _pydantic_converter(adapter: Any) -> Callable[[object], object]:
    return lambda value: adapter.dump_python(adapter.validate_python(value), mode="json")


def _from_json_schema(spec: JsonMapping) -> Schema:
    name = spec.get("title")
    if not isinstance(name, str) or not isinstance(spec.get("properties"), Mapping):
        raise UsageError("a JSON Schema needs a title and properties")
    types = {field: _JSON_TYPES.get(str(shape.get("type")), Any) for field, shape in spec["properties"].items()}
    return _from_document(name, spec, types, dict(spec))


def _from_document(name: str, document: JsonMapping, types: JsonMapping, spec: object) -> Schema:
    required = set(document.get("required", ()))
    fields = tuple(
        Field(field, types.get(field, Any), shape, field in required, str(shape.get("description", "")))
        for field, shape in document["properties"].items()
    )
    return Schema(name, fields, spec, str(document.get("description", "")))


def convert_value(field: Field, value: object) -> object:
    """Return a value as JSON that fits its field. Raises InvalidValue if that is impossible."""
    if field.convert is not None:
        try:
            value = field.convert(value)
        except ValueError as cause:  # which Pydantic's ValidationError is
            raise InvalidValue(f"not a value of the field {field.name}") from cause
    elif field.type is not Any:
        try:
            converted = msgspec.convert(value, field.type, strict=False)
        except (msgspec.ValidationError, TypeError) as cause:
            raise InvalidValue(f"not a value of the field {field.name}") from cause
        value = msgspec.to_builtins(converted)
    allowed = field.shape.get("enum")
    if allowed is not None and value not in allowed:
        raise InvalidValue(f"not a value of the field {field.name}")
    return value


def snake_case(name: str) -> str:
    """Convert a name such as `CustomerAccount` to `customer_account`."""
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


def _shape_words(shape: JsonMapping) -> str:
    """Return the type of a field in words that a model understands."""
    if "enum" in shape:
        return "one of " + ", ".join(map(str, shape["enum"]))
    choices: Sequence[JsonMapping] = shape.get("anyOf", ())
    if choices:
        return " or ".join(dict.fromkeys(_shape_words(choice) for choice in choices if choice.get("type") != "null"))
    if shape.get("type") == "array":
        return f"a list of {_shape_words(shape.get('items', {}))}"
    return str(shape.get("format") or shape.get("type") or "any value")
