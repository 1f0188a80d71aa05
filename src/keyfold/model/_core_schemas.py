"""Reads pydantic's core schemas: the trees that its validators are compiled from.

They are pydantic-core's public data format. What is read of them here is their structure: the
fields of a model, the members of a container, its constraints and the validators around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import CoreSchema, core_schema

Node = Mapping[str, Any]
Definitions = Mapping[str, Node]

NOTHING: Definitions = MappingProxyType({})
ANY: Node = MappingProxyType({"type": "any"})

_NUMBER_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "max_digits", "decimal_places")
_CONSTRAINTS = frozenset({*_NUMBER_BOUNDS, "min_length", "max_length"})
_WIDER_NUMBERS = frozenset({("int", "decimal"), ("int", "float"), ("decimal", "float")})
_IGNORED = frozenset({"metadata", "serialization", "ref"})


def core_schema_of(model: type[Any]) -> tuple[Node, Definitions]:
    """Return the core schema of a model, and the definitions that it refers to, by reference."""
    if not model.__pydantic_complete__:
        model.model_rebuild()
    return split_definitions(model.__pydantic_core_schema__)


def split_definitions(schema: Any) -> tuple[Node, Definitions]:
    """Return a core schema, and the definitions that it refers to, by reference."""
    if schema["type"] != "definitions":
        return schema, NOTHING
    return schema["schema"], {each["ref"]: each for each in schema["definitions"]}


def join_definitions(schema: Node, definitions: Definitions) -> CoreSchema:
    """Return a core schema with the definitions that it refers to."""
    whole = cast(CoreSchema, dict(schema))
    if not definitions:
        return whole
    listed = [cast(CoreSchema, dict(each)) for each in definitions.values()]
    return core_schema.definitions_schema(whole, listed)


def find_model_fields(schema: Node, definitions: Definitions) -> Mapping[str, Node]:
    """Return the schemas of the fields of a model or dataclass by name; empty if it has none."""
    node = _find_fields_node(schema, definitions)
    if node is None:
        return {}
    if node["type"] == "dataclass-args":
        return {each["name"]: each for each in node["fields"]}
    return node["fields"]


def _find_fields_node(schema: Node, definitions: Definitions) -> Node | None:
    while schema["type"] not in ("model-fields", "dataclass-args"):
        if schema["type"] == "definition-ref":
            schema = definitions[schema["schema_ref"]]
        elif "schema" in schema:
            schema = schema["schema"]
        else:
            return None
    return schema


@dataclass(frozen=True, slots=True)
class UnwrappedSchema:
    """A core schema without the layers around its type.

    `functions` are the validators among the layers, apart from those of the model itself;
    `constraints` are those of the type and of the layers.
    """

    core: Node
    constraints: Node
    functions: tuple[Any, ...]


def unwrap(schema: Node, definitions: Definitions) -> UnwrappedSchema:
    """Return what is inside defaults, None, references and validators."""
    functions: list[Any] = []
    constraints: dict[str, Any] = {}
    while True:
        kind = schema["type"]
        if kind.startswith("function-"):
            function = schema["function"]["function"]
            found = _read_constraints(function)
            if found is None:
                functions.append(function)
            constraints |= found or {}
        inner = _inside(kind, schema, definitions)
        if inner is None:
            break
        schema = inner
    if kind == "model":
        own = _model_validators(schema["cls"])
        functions = [each for each in functions if each not in own]
    constraints |= {name: schema[name] for name in _CONSTRAINTS & schema.keys()}
    return UnwrappedSchema(schema, constraints, tuple(functions))


def _inside(kind: str, schema: Node, definitions: Definitions) -> Node | None:
    match kind:
        case "definition-ref":
            return definitions[schema["schema_ref"]]
        case "lax-or-strict":
            return schema["lax_schema"]
        case "json-or-python":
            # Of the two, this one shows the structure of sequences.
            return schema["json_schema"]
        case "model" if not schema.get("root_model"):
            return None
        case "default" | "nullable" | "model":
            return schema["schema"]
        case _ if kind.startswith("function-"):
            return schema.get("schema")
        case _:
            return None


def _read_constraints(function: Any) -> dict[str, Any] | None:
    """Return the constraints that one of pydantic's own validators checks; None for other functions."""
    if not isinstance(function, partial) or not function.func.__module__.startswith("pydantic."):
        return None
    keywords: dict[str, Any] = function.keywords
    return keywords if keywords and keywords.keys() <= _CONSTRAINTS else None


def _model_validators(model: type[BaseModel]) -> list[Any]:
    decorators = model.__pydantic_decorators__
    return [each.func for each in decorators.model_validators.values()]


def is_same(one: Any, other: Any) -> bool:
    """Return whether two core schemas accept the same values; defaults make no difference."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        left, right = _significant(cast(Node, one)), _significant(cast(Node, other))
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        members, others = cast(Sequence[Any], one), cast(Sequence[Any], other)
        return len(members) == len(others) and all(map(is_same, members, others))
    return bool(one is other or one == other)


def covers(core: Node, other: Node) -> bool:
    """Return whether a type accepts all values of another, apart from their constraints."""
    kind, other_kind = core["type"], other["type"]
    if kind == "any" or (other_kind, kind) in _WIDER_NUMBERS:
        return True
    return all(
        is_same(value, other.get(name))
        for name, value in core.items()
        if name not in _CONSTRAINTS | _IGNORED | {"strict"}
    )


def _significant(schema: Node) -> Node:
    while schema.get("type") == "default":
        schema = schema["schema"]
    return {name: value for name, value in schema.items() if name not in _IGNORED}


def keep_fields(schema: Node, definitions: Definitions, kept: frozenset[str]) -> Node | None:
    """Return a model's schema in which all fields but `kept` accept any value, and have no alias.

    The model's own validators stay. Returns None for a model whose fields cannot be replaced.
    """
    if schema["type"] == "definition-ref":
        schema = definitions[schema["schema_ref"]]
    if schema["type"] == "model-fields":
        fields = {
            name: {
                **{key: each for key, each in field.items() if key != "validation_alias"},
                "schema": field["schema"] if name in kept else dict(ANY),
            }
            for name, field in schema["fields"].items()
        }
        return {**schema, "fields": fields}
    if "schema" not in schema or schema.get("custom_init"):
        return None
    inner = keep_fields(schema["schema"], definitions, kept)
    # Without its reference, which the unchanged schema has among the definitions.
    outer = {name: value for name, value in schema.items() if name != "ref"}
    return None if inner is None else {**outer, "schema": inner}
