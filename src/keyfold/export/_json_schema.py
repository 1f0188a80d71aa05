"""Entities as JSON Schema: the JSON that they are serialised to, and where the table stores it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue

from keyfold.export._attributes import list_entities
from keyfold.export._exported import ExportedDocument, ExportGap
from keyfold.export._resource_names import to_camel
from keyfold.model import Table
from keyfold.model._index_choices import text_of
from keyfold.model._schemas import EntitySchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = "#/$defs/"


@dataclass(frozen=True, slots=True)
class EntityDefinition:
    """An entity's definition in a schema: its name there, and the name of each field in its JSON."""

    name: str
    table: Table
    schema: EntitySchema
    properties: dict[str, str]


@dataclass(frozen=True, slots=True)
class EntityDefinitions:
    """The definitions of entities and of whatever they contain, and the types that have none."""

    definitions: dict[str, dict[str, Any]]
    entities: tuple[EntityDefinition, ...]
    gaps: tuple[ExportGap, ...]


def export_jsonschema(*tables: Table) -> ExportedDocument:
    """Return a JSON Schema (2020-12) of the tables' entities; raises DeclarationInvalid.

    It describes what `model_dump_json(by_alias=True)` returns. Each entity has its keys under
    `x-dynamodb`, and each of its stored fields its attribute under `x-dynamodb-attribute`.
    """
    found = define_entities(*tables)
    for each in found.entities:
        _annotate(found.definitions[each.name], each)
    document = {
        "$schema": DIALECT,
        "title": ", ".join(table.name for table in tables),
        "anyOf": [{"$ref": f"{_REFERENCE}{each.name}"} for each in found.entities],
        "$defs": found.definitions,
    }
    return ExportedDocument(document, found.gaps)


def define_entities(*tables: Table) -> EntityDefinitions:
    """Return the definitions of the tables' entities; raises DeclarationInvalid."""
    for table in tables:
        table.check()
    listed = [*list_entities(tables)]
    generator = WrittenSchemaGenerator()
    mode: JsonSchemaMode = "serialization"
    models: list[tuple[type[BaseModel], JsonSchemaMode, Any]] = [
        (s.entity, mode, s.entity.__pydantic_core_schema__) for _, s in listed
    ]
    references, definitions = generator.generate_definitions(models)
    names = {
        references[schema.entity, mode]["$ref"].removeprefix(_REFERENCE): _name(
            table, schema, listed
        )
        for table, schema in listed
    }
    others = [str(name) for name in definitions if name not in names]
    if len({*others, *names.values()}) < len(definitions):
        names = {name: name for name in names}
    entities = tuple(
        EntityDefinition(name, table, schema, _name_properties(schema.entity))
        for name, (table, schema) in zip(names.values(), listed, strict=True)
    )
    gaps = [ExportGap(each, "it has no form in JSON Schema") for each in generator.unknown]
    renamed = {names.get(str(name), str(name)): each for name, each in definitions.items()}
    return EntityDefinitions(_rename(renamed, names), entities, tuple(gaps))


def _name(table: Table, schema: EntitySchema, listed: Sequence[tuple[Table, EntitySchema]]) -> str:
    """Return the name of an entity: with that of its table if others have the same."""
    is_shared = sum(other.name == schema.name for _, other in listed) > 1
    return to_camel(table.name) + schema.name if is_shared else schema.name


def _rename(node: Any, names: Mapping[str, str]) -> Any:
    """Return a schema whose references to definitions have other names."""
    if isinstance(node, list):
        return [_rename(each, names) for each in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    found = {key: _rename(each, names) for key, each in cast(dict[str, Any], node).items()}
    reference = found.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix(_REFERENCE)
        found["$ref"] = _REFERENCE + names.get(name, name)
    return found


class WrittenSchemaGenerator(GenerateJsonSchema):
    """Defines the JSON that is written: with all fields, and anything for types without a form."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("by_alias", True)
        super().__init__(**options)
        self.unknown: list[str] = []
        self._ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        """Return the schema of any value; record the type."""
        kind = schema.get("cls")
        named = getattr(kind, "__name__", error_info)
        if named not in self.unknown:
            self.unknown.append(named)
        return {}

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: FBT001 - pydantic's signature
        """Return whether the field is always written, which those with a default are too."""
        if field["type"] == "model-field":
            return not field.get("serialization_exclude", False)
        return super().field_is_required(field, total)


def _name_properties(entity: type[BaseModel]) -> dict[str, str]:
    """Return the names of an entity's fields in its JSON, without those that are not in it."""
    return {
        name: field.serialization_alias or field.alias or name
        for name, field in entity.__pydantic_fields__.items()
        if field.exclude is not True
    }


def _annotate(definition: dict[str, Any], entity: EntityDefinition) -> None:
    schema = entity.schema
    indexes = {
        name: {part.attribute: text_of(part) for part in parts}
        for name, parts in schema.index_keys.items()
    }
    definition["x-dynamodb"] = {
        "table": entity.table.name,
        "key": {part.attribute: text_of(part) for part in schema.keys},
        **({"indexes": indexes} if indexes else {}),
    }
    properties = definition.get("properties", {})
    stored = {field.name: field.stored for field in schema.codec.by_stored.values()}
    stored |= {name: attribute for name, (attribute, _) in schema.computed.items()}
    for name, attribute in stored.items():
        found = properties.get(entity.properties.get(name, name))
        if found is not None:
            found["x-dynamodb-attribute"] = attribute
