"""Codecs that use pydantic's serialisation: of types without a codec of ours, and of custom ones.

A value is stored as what pydantic serialises it to in Python mode, or in JSON mode if that is still
an object. It is read back by pydantic's validation, which every item goes through. So a type can be
stored if its core schema has a serialisation, or is made of types that have a plain form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import (
    PydanticSerializationError,
    SchemaSerializer,
    to_json,
)

from keyfold.model._any_values import decode_any, encode_any
from keyfold.model._core_schemas import Definitions, Node, split_definitions
from keyfold.model._samples import samples_of
from keyfold.model._type_names import name_type
from keyfold.model._value_codecs import TypeRefused, ValueCodec, take_placeholders
from keyfold.values import AttributeValue

_CUSTOM = "__get_pydantic_core_schema__"
_PLAIN = frozenset({str, int, float, bool, bytes, list, tuple, dict, set, frozenset})
_ADVICE = "Add a field_serializer, or declare it with attr(codec=Codec(…))"
_ALLOW_ALL = ConfigDict(arbitrary_types_allowed=True)

# DynamoDB types by the type of a core schema, and by that of a JSON schema.
_KINDS_BY_CORE = {
    "str": "S", "url": "S", "multi-host-url": "S", "complex": "S", "fraction": "S", "json": "S",
    "int": "N", "float": "N", "decimal": "N",
    "bytes": "B", "bool": "BOOL", "list": "L", "tuple": "L", "dict": "M",
}  # fmt: skip
_KINDS_BY_JSON = {
    "string": "S", "integer": "N", "number": "N", "boolean": "BOOL", "array": "L", "object": "M",
}  # fmt: skip

# Core schemas of values that pydantic cannot serialise, or not read back.
_OPAQUE = frozenset(
    {"is-instance", "is-subclass", "callable", "generator", "function-plain", "arguments", "call"}
)


def make_adapter(annotation: Any) -> TypeAdapter[Any]:
    """Return a TypeAdapter that also takes classes that pydantic does not know."""
    try:
        return TypeAdapter(annotation, config=_ALLOW_ALL)
    except PydanticUserError:
        # Models and dataclasses have their own configuration.
        return TypeAdapter(annotation)


def is_custom(metadata: Sequence[Any]) -> bool:
    """Return whether metadata may change how pydantic serialises a type."""
    return any(hasattr(each, _CUSTOM) for each in metadata)


def find_custom_codec(annotation: Any) -> ValueCodec | None:
    """Return the codec of an annotation with a serializer, or of Json; None if it has neither."""
    adapter = make_adapter(annotation)
    schema, definitions = split_definitions(adapter.core_schema)
    for layer in _layers(schema, definitions):
        if layer["type"] == "json":
            return _json_codec(adapter)
        if serialises(layer):
            codec = serialised_codec(adapter, schema, definitions)
            check_round_trip("serializer", codec, annotation, adapter.validate_python)
            return replace(codec, kinds=observe_kinds(codec, annotation))
    return None


def check_round_trip(
    subject: str, codec: ValueCodec, annotation: Any, validate: Callable[[Any], Any]
) -> None:
    """Raise TypeRefused if what a serializer returns for a sample is not read back as the sample.

    Types without samples are not checked.
    """
    for sample in samples_of(annotation):
        try:
            value = validate(sample)
            stored = codec.encode(value)
        except Exception:  # noqa: BLE001, S112 - a user's function may not take the sample
            continue
        plain = (codec.decode or decode_any)(stored)
        try:
            is_same = validate(plain) == value
        except ValidationError:
            is_same = False
        if not is_same:
            raise TypeRefused(
                f"its {subject} makes {plain!r} of {value!r}, which is not read back as such. "
                "Return what the field accepts, accept it with a validator in mode 'before', or "
                "use the serializer for JSON only (when_used='json')"
            )


def observe_kinds(codec: ValueCodec, annotation: Any) -> frozenset[str]:
    """Return the DynamoDB types that samples are stored as, or else what the codec says."""
    seen: set[str] = set()
    for each in samples_of(annotation):
        try:
            seen.update(codec.encode(each))
        except Exception:  # noqa: BLE001, S112 - the serializer may not take the sample
            continue
    return frozenset(seen) or codec.kinds


def serialises(layer: Node) -> bool:
    """Return whether a core schema has a function that serialises it in Python mode."""
    found: Node = layer.get("serialization", {})
    is_function = found.get("type") in ("function-plain", "function-wrap")
    return is_function and found.get("when_used", "always") in ("always", "unless-none")


def _layers(schema: Node, definitions: Definitions) -> Iterator[Node]:
    """Yield a core schema and what it wraps: below defaults, None and validators."""
    while True:
        yield schema
        match schema["type"]:
            case "definition-ref":
                schema = definitions[schema["schema_ref"]]
            case "lax-or-strict":
                schema = schema["lax_schema"]
            case "json-or-python":
                schema = schema["json_schema"]
            case "chain":
                schema = schema["steps"][0]
            case "default" | "nullable" | "custom-error" | "definitions":
                schema = schema["schema"]
            case kind if kind.startswith("function-") and "schema" in schema:
                schema = schema["schema"]
            case _:
                return


def other_codec(annotation: Any) -> ValueCodec:
    """Return the codec of a type that has none of ours; raises TypeRefused."""
    adapter = make_adapter(annotation)
    schema, definitions = split_definitions(adapter.core_schema)
    layers = [*_layers(schema, definitions)]
    if layers[-1]["type"] == "json":
        return _json_codec(adapter)
    is_known = any("serialization" in each for each in layers)
    if layers[-1]["type"] in _OPAQUE and not is_known:
        name = name_type(annotation)
        raise TypeRefused(f"pydantic cannot serialise {name}, so it cannot be stored. {_ADVICE}")
    return serialised_codec(adapter, schema, definitions, annotation)


def serialised_codec(
    adapter: TypeAdapter[Any],
    schema: Node,
    definitions: Definitions,
    annotation: Any = None,
) -> ValueCodec:
    """Return a codec that stores what pydantic serialises."""
    serialise = _make_serialise(adapter.serializer, adapter.validate_python)

    def decode(value: AttributeValue) -> Any:
        plain = decode_any(value)
        try:
            return adapter.validate_json(to_json(plain))
        except ValidationError:
            return plain

    return ValueCodec(
        take_placeholders(lambda value: encode_any(serialise(value))),
        decode if _needs_json(schema, definitions) else None,
        find_kinds(adapter, schema, definitions),
        python=annotation if isinstance(annotation, type) else None,
    )


def _make_serialise(
    serializer: SchemaSerializer, validate: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    def serialise(value: Any) -> Any:
        plain = serializer.to_python(value, warnings="error")
        if plain.__class__ in _PLAIN:
            return plain
        return serializer.to_python(value, mode="json", warnings="error")

    def serialise_any(value: Any) -> Any:
        try:
            return serialise(value)
        except PydanticSerializationError:
            # Perhaps the text of a value, as in a condition.
            return serialise(validate(value))

    return serialise_any


def _needs_json(schema: Node, definitions: Definitions) -> bool:
    """Return whether pydantic reads back the serialised form only in JSON."""
    return any(
        layer["type"] == "json-or-python" and layer["python_schema"]["type"] == "is-instance"
        for layer in _layers(schema, definitions)
    )


def _json_codec(adapter: TypeAdapter[Any]) -> ValueCodec:
    """Return the codec of pydantic's Json type, which is stored as JSON text."""

    def encode(value: Any) -> AttributeValue:
        return {"S": adapter.dump_python(value, round_trip=True, warnings="error")}

    return ValueCodec(take_placeholders(encode), kinds=frozenset({"S"}))


def find_kinds(adapter: TypeAdapter[Any], schema: Node, definitions: Definitions) -> frozenset[str]:
    """Return the DynamoDB types of what pydantic serialises; empty if they are unknown."""
    layers = [*_layers(schema, definitions)]
    found: list[Node] = [each["serialization"] for each in layers if "serialization" in each]
    kinds = find_return_kinds(found[0] if found else {"return_schema": layers[-1]})
    if kinds:
        return kinds
    try:
        shape = adapter.json_schema(mode="serialization")
    except (PydanticUserError, ValueError):
        return frozenset()
    kind = _KINDS_BY_JSON.get(str(shape.get("type")))
    return frozenset() if kind is None else frozenset({kind})


def find_return_kinds(serialization: Node) -> frozenset[str]:
    """Return the DynamoDB types of what a serializer returns, by its annotation."""
    core = "str" if serialization.get("type") == "to-string" else None
    core = core or serialization.get("return_schema", {}).get("type")
    return frozenset({_KINDS_BY_CORE[core]}) if core in _KINDS_BY_CORE else frozenset()
