"""Codecs of fields with a `field_serializer`: they are stored as what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import (
    CoreConfig,
    CoreSchema,
    PydanticSerializationError,
    SchemaSerializer,
    SchemaValidator,
    core_schema,
)

from keyfold.errors import ValueInvalid
from keyfold.model._any_values import encode_any
from keyfold.model._core_schemas import (
    Definitions,
    Node,
    find_model_fields,
    join_definitions,
    split_definitions,
)
from keyfold.model._own_codecs import find_own_codec
from keyfold.model._scalars import show
from keyfold.model._serialised_codecs import (
    check_round_trip,
    find_return_kinds,
    observe_kinds,
    serialises,
)
from keyfold.model._value_codecs import ValueCodec, take_placeholders
from keyfold.values import AttributeValue


def find_field_codec(owner: type[Any], name: str, info: FieldInfo) -> ValueCodec | None:
    """Return the codec of a field with a field_serializer that is used in Python mode.

    Returns None if the field has none, or has a codec of its own. Raises TypeRefused if what the
    serializer returns is not read back as the value.
    """
    decorators = getattr(owner, "__pydantic_decorators__", None)
    if decorators is None or not decorators.field_serializers:
        return None
    if find_own_codec(info.metadata) is not None:
        return None
    whole, definitions = split_definitions(owner.__pydantic_core_schema__)
    schema: Node = find_model_fields(whole, definitions)[name]["schema"]
    if not schema.get("serialization", {}).get("is_field_serializer") or not serialises(schema):
        return None
    validate = _make_validate(name, schema, definitions, whole.get("config"))
    codec = ValueCodec(
        take_placeholders(_make_encode(owner, name, schema, definitions)),
        kinds=find_return_kinds(schema["serialization"]),
    )
    check_round_trip("field_serializer", codec, info.annotation, validate)
    return replace(codec, kinds=observe_kinds(codec, info.annotation))


def _make_encode(
    owner: type[Any], name: str, schema: Node, definitions: Definitions
) -> Callable[[Any], AttributeValue]:
    serialise = _make_serializer(owner, name, schema, definitions).to_python

    def encode(value: Any) -> AttributeValue:
        try:
            plain = serialise(_make_holder(owner, name, value), warnings="error")[name]
        except PydanticSerializationError as error:
            # Conditions and updates have the value alone, so a serializer gets no more than that.
            fact = f"its field_serializer fails ({error})"
            advice = "It may use the value only, not other fields."
            raise ValueInvalid(show(value), fact, advice) from error
        return encode_any(plain)

    return encode


def _make_serializer(
    owner: type[Any], name: str, schema: Node, definitions: Definitions
) -> SchemaSerializer:
    field = cast(CoreSchema, schema)
    if issubclass(owner, BaseModel):
        fields = core_schema.model_fields_schema({name: core_schema.model_field(field)})
        whole = core_schema.model_schema(owner, fields)
    else:
        members = [core_schema.dataclass_field(name, field)]
        arguments = core_schema.dataclass_args_schema(owner.__name__, members)
        whole = core_schema.dataclass_schema(owner, arguments, [name])
    return SchemaSerializer(join_definitions(whole, definitions))


def _make_holder(owner: type[Any], name: str, value: Any) -> Any:
    """Return an instance that has this field only."""
    made = object.__new__(owner)
    if issubclass(owner, BaseModel):
        object.__setattr__(made, "__dict__", {name: value})
        object.__setattr__(made, "__pydantic_fields_set__", {name})
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
    else:
        object.__setattr__(made, name, value)
    return made


def _make_validate(
    name: str, schema: Node, definitions: Definitions, config: CoreConfig | None
) -> Callable[[Any], Any]:
    field = core_schema.model_field(cast(CoreSchema, schema))
    whole = join_definitions(core_schema.model_fields_schema({name: field}), definitions)
    validator = SchemaValidator(whole, config)

    def validate(value: Any) -> Any:
        values, _, _ = validator.validate_python(
            {name: value}, strict=False, by_alias=False, by_name=True
        )
        return values[name]

    return validate
