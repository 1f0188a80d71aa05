"""Tables as the `schema.json` of the AWS DynamoDB MCP server.

Objects under `keyfold` have what that format has no place for, such as the widths of numbers in keys. The
server ignores them; `keyfold import aws-schema` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from itertools import chain
from typing import Any
from uuid import UUID

from keyfold.export._attributes import list_entities, name_attributes, write_template
from keyfold.export._aws_schema_patterns import PatternWriter
from keyfold.export._exported import ExportedDocument, ExportGap
from keyfold.export._resource_names import to_camel
from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model import Index, OnDemand, Provisioned, Table
from keyfold.model._codecs import StoredField
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema
from keyfold.model._value_codecs import ValueCodec

_TYPES = {
    "S": "string",
    "B": "string",
    "BOOL": "boolean",
    "L": "array",
    "SS": "array",
    "NS": "array",
    "BS": "array",
    "M": "object",
}


def export_aws_schema(*tables: Table) -> ExportedDocument:
    """Return the schema that the AWS DynamoDB MCP server makes code of; raises DeclarationInvalid.

    It has entities with key templates and fields, and the access patterns that are one request or
    one transaction. A field has the name of its attribute.
    """
    for table in tables:
        table.check()
    names = _name_entities(tables)
    writer = PatternWriter(names)
    document: dict[str, Any] = {"tables": [_make_table(table, names, writer) for table in tables]}
    if writer.transactions:
        document["cross_table_access_patterns"] = writer.transactions
    gaps = [gap for table in tables for gap in _find_gaps(table)]
    return ExportedDocument(document, (*gaps, *writer.gaps))


def _name_entities(tables: tuple[Table, ...]) -> dict[int, str]:
    """Return the names of entities by the ids of their schemas: unique among all tables."""
    every = [schema.name for _, schema in list_entities(tables)]
    return {
        id(schema): to_camel(table.name) + schema.name
        if every.count(schema.name) > 1
        else schema.name
        for table, schema in list_entities(tables)
    }


def _make_table(table: Table, names: Mapping[int, str], writer: PatternWriter) -> dict[str, Any]:
    patterns = writer.write(table)
    made: dict[str, Any] = {
        "table_config": {"table_name": table.name, **_make_key(table.key.partition, table.key.sort)}
    }
    listed = [_make_index(index, table) for index in table.indexes if not index.local]
    if listed:
        made["gsi_list"] = listed
    made["entities"] = {
        names[id(schema)]: {**_make_entity(schema), "access_patterns": patterns[schema.name]}
        for schema in table.entities.values()
    }
    return made | _under_keyfold(_list_settings(table))


def _make_key(partition: tuple[str, ...], sort: tuple[str, ...]) -> dict[str, Any]:
    key = {"partition_key": _one_or_all(partition)}
    return key | ({"sort_key": _one_or_all(sort)} if sort else {})


def _one_or_all(values: Iterable[str]) -> str | list[str]:
    """Return one value as it is, and several as a list, as multi-attribute keys are written."""
    listed = list(values)
    return listed[0] if len(listed) == 1 else listed


def _make_index(index: Index, table: Table) -> dict[str, Any]:
    projection = index.to_dynamodb()["Projection"]
    made: dict[str, Any] = {
        "name": index.name,
        **_make_key(index.key.partition, index.key.sort),
        "projection": projection["ProjectionType"],
    }
    if "NonKeyAttributes" in projection:
        # The format refuses attributes of no entity, and those that are projected as keys.
        refused = {*_find_unknown(index, table), *table.key.names, *index.key.names}
        named = [each for each in projection["NonKeyAttributes"] if each not in refused]
        made |= {"included_attributes": named} if named else {"projection": "KEYS_ONLY"}
    return made


def _find_unknown(index: Index, table: Table) -> list[str]:
    """Return the projected attributes that no entity in the index declares."""
    known = {
        name
        for schema in table.entities.values()
        if index.name in schema.index_keys
        for name in schema.codec.by_stored
    }
    return [] if isinstance(index.project, str) else [n for n in index.project if n not in known]


def _make_entity(schema: EntitySchema) -> dict[str, Any]:
    names = name_attributes(schema)
    templates = [write_template(part, names, with_widths=False) for part in schema.keys]
    made: dict[str, Any] = {"entity_type": schema.kinds[0]}
    made |= zip(("pk_template", "sk_template"), templates, strict=False)
    mappings = [
        _make_mapping(index, schema.index_alternatives[index.name][0], names)
        for index in schema.table.indexes
        if index.name in schema.index_alternatives and not index.local
    ]
    if mappings:
        made["gsi_mappings"] = mappings
    made["fields"] = [_make_field(field, names) for field in schema.fields.values()]
    return made | _under_keyfold(_list_own_parts(schema, names))


def _make_mapping(
    index: Index, parts: tuple[KeyPart, ...], names: Mapping[str, str]
) -> dict[str, Any]:
    written = [write_template(part, names, with_widths=False) for part in parts]
    count = len(index.key.partition)
    made: dict[str, Any] = {"name": index.name, "pk_template": _one_or_all(written[:count])}
    if written[count:]:
        made["sk_template"] = _one_or_all(written[count:])
    return made


def _make_field(field: StoredField, names: Mapping[str, str]) -> dict[str, Any]:
    kind = _type_of(field.codec, field.annotation)
    made: dict[str, Any] = {
        "name": names[field.name],
        "type": kind,
        "required": field.is_required and not field.accepts_none,
    }
    if kind == "array":
        members = field.codec.members
        made["item_type"] = "string" if members is None else _type_of(members, members.python)
    return made


def _type_of(codec: ValueCodec, annotation: Any) -> str:
    python = find_type(annotation)
    if python is UUID:
        return "uuid"
    kinds = codec.kinds - {"NULL"}
    if len(kinds) != 1:
        return "object"
    [kind] = kinds
    if kind != "N":
        return _TYPES[kind]
    is_whole = isinstance(python, type) and issubclass(python, int | datetime)
    return "integer" if is_whole else "decimal"


# What the format has no place for.


def _under_keyfold(more: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in more.items() if value not in (None, (), [], {})}
    return {"keyfold": kept} if kept else {}


def _list_settings(table: Table) -> dict[str, Any]:
    billing = table.billing
    if isinstance(billing, OnDemand | Provisioned):
        capacities = {name: each.to_dynamodb() for name, each in billing.indexes.items()}
        billing = {**billing.to_dynamodb(), **({"indexes": capacities} if capacities else {})}
    return {
        "ttl": table.ttl,
        "type_attribute": table.type_attribute,
        "stream": table.stream,
        "billing": billing,
        "deletion_protection": table.deletion_protection,
        "tags": None if table.tags is None else dict(table.tags),
        "local_indexes": [_make_index(index, table) for index in table.indexes if index.local],
    }


def _list_own_parts(schema: EntitySchema, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the templates with their widths, and what else an import needs of an entity.

    That is all templates for an index, unique fields, fields that are stored in the key alone, and
    formats that the types do not tell.
    """
    keys = [write_template(part, names) for part in schema.keys]
    indexes = {
        name: [[write_template(part, names) for part in parts] for parts in alternatives]
        for name, alternatives in schema.index_alternatives.items()
    }
    is_local = {index.name for index in schema.table.indexes if index.local}
    more = {
        name: written
        for name, written in indexes.items()
        if len(written) > 1
        or name in is_local
        or any(_is_padded(part, names) for part in schema.index_alternatives[name][0])
    }
    formats = {
        names[name]: form
        for name, field in schema.fields.items()
        if (form := _format_of(field.codec, field.annotation)) is not None
    }
    return {
        "key": keys if any(_is_padded(part, names) for part in schema.keys) else None,
        "indexes": more,
        "unique": [names[name] for name in schema.unique],
        "parts": [names[name] for name in schema.parts],
        "formats": formats,
        "fallback": True if schema is schema.table.fallback else None,
        "extra": True if schema.codec.has_extra else None,
    }


def _format_of(codec: ValueCodec, annotation: Any) -> str | None:
    """Return how a field is stored, if its type in the format does not say that: `ulid O#`."""
    python = find_type(annotation)
    kinds = codec.kinds - {"NULL"}
    if isinstance(python, type) and issubclass(python, Ulid):
        return f"ulid {python.head}".strip()
    if isinstance(python, type) and issubclass(python, date):
        named = "datetime" if issubclass(python, datetime) else "date"
        return "unix time" if "N" in kinds else named
    if kinds == frozenset({"B"}):
        return "bytes"
    if len(kinds) != 1:
        return "any"
    return "set" if kinds <= {"SS", "NS", "BS"} else None


def _is_padded(part: KeyPart, names: Mapping[str, str]) -> bool:
    return write_template(part, names) != write_template(part, names, with_widths=False)


def _find_gaps(table: Table) -> Iterator[ExportGap]:
    for name, value in _list_settings(table).items():
        if value not in (None, [], {}):
            shown = [each["name"] for each in value] if name == "local_indexes" else value
            fact = f"{name}, which is {shown!r}, is only under 'keyfold'"
            yield ExportGap(table.name, fact)
    for index in table.indexes:
        for name in _find_unknown(index, table):
            fact = f"it projects {name!r}, which no entity declares, and which is left out"
            yield ExportGap(f"{table.name}.{index.name}", fact)
    for schema in table.entities.values():
        yield from _find_entity_gaps(schema)


def _find_entity_gaps(schema: EntitySchema) -> Iterator[ExportGap]:
    names = name_attributes(schema)
    own = _list_own_parts(schema, names)
    padded = dict.fromkeys(
        each
        for parts in (schema.keys, *chain.from_iterable(schema.index_alternatives.values()))
        for each in (write_template(part, names) for part in parts if _is_padded(part, names))
    )
    if padded:
        fact = f"the width in {', '.join(padded)} is only under 'keyfold'"
        yield ExportGap(schema.name, fact)
    for name, written in own["indexes"].items():
        if len(written) > 1:
            shown = " or ".join(", ".join(each) for each in written)
            fact = f"it has several keys in {name}, {shown}; all but the first are only under 'keyfold'"
            yield ExportGap(schema.name, fact)
    if schema.unique:
        yield ExportGap(
            schema.name, f"the format cannot say that {', '.join(schema.unique)} is unique"
        )
    for name in schema.computed:
        yield ExportGap(f"{schema.name}.{name}", "it is computed, which the format cannot say")
    if schema.codec.has_extra:
        yield ExportGap(schema.name, "its items may have attributes that it does not declare")
    for field in schema.fields.values():
        kinds = field.codec.kinds - {"NULL"}
        if len(kinds) != 1 or kinds <= {"B", "SS", "NS", "BS"}:
            stored = " or ".join(sorted(kinds)) or "a value of any type"
            made = _type_of(field.codec, field.annotation)
            fact = f"it is stored as {stored}, and the format has no such type; it is {made!r}"
            yield ExportGap(f"{schema.name}.{field.name}", fact)
