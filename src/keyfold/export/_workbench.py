"""Tables as a data model of NoSQL Workbench, version 3.0: facets, indexes and sample data.

A facet is an entity. Its aliases of the key attributes are the key templates, from which `keyfold import
workbench` makes entities again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from keyfold.errors import PatternFailed, PatternUnexplained
from keyfold.export._attributes import list_attributes, name_attributes, write_template
from keyfold.export._exported import ExportedDocument, ExportGap
from keyfold.model import Index, OnDemand, Pattern, Provisioned, Table
from keyfold.model._schemas import EntitySchema
from keyfold.values import Item, normalise_item

# The format has dates, and the same declaration has to give the same file.
_DATE = "Jan 01, 2026, 12:00 AM"
_NO_SOURCE = {"MySql": dict[str, Any]()}


def export_workbench(*tables: Table) -> ExportedDocument:
    """Return a data model for NoSQL Workbench; raises DeclarationInvalid.

    Each entity is a facet, with the items of the table's example entities as its sample data. The
    description of the model lists the access patterns.
    """
    for table in tables:
        table.check()
    names = ", ".join(table.name for table in tables)
    document = {
        "ModelName": names,
        "ModelMetadata": {
            "Author": "",
            "DateCreated": _DATE,
            "DateLastModified": _DATE,
            "Description": "\n\n".join(map(_describe, tables)),
            "AWSService": "Amazon DynamoDB",
            "Version": "3.0",
        },
        "DataModel": [_make_table(table) for table in tables],
    }
    gaps = tuple(gap for table in tables for gap in _find_gaps(table))
    return ExportedDocument(document, gaps)


def _make_table(table: Table) -> dict[str, Any]:
    types = table.key_types()
    kinds = _join_attributes(table)
    made: dict[str, Any] = {
        "TableName": table.name,
        "KeyAttributes": _make_key(table.key.partition, table.key.sort, types),
        "NonKeyAttributes": [
            {"AttributeName": name, "AttributeType": types.get(name, min(each, default="S"))}
            for name, each in kinds.items()
            if name not in table.key.names
        ],
    }
    facets = [_make_facet(schema, items) for schema, items in _list_samples(table)]
    if facets:
        made["TableFacets"] = facets
    indexes = [index for index in table.indexes if _is_expressible(index)]
    if indexes:
        made["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index.name,
                "KeyAttributes": _make_key(index.key.partition, index.key.sort, types),
                "Projection": index.to_dynamodb()["Projection"],
            }
            for index in indexes
        ]
    made["DataAccess"] = _NO_SOURCE
    made["BillingMode"] = "PAY_PER_REQUEST"
    if isinstance(table.billing, Provisioned):
        made["BillingMode"] = "PROVISIONED"
        throughput = {"ProvisionedThroughput": table.billing.to_dynamodb()}
        made["ProvisionedCapacitySettings"] = throughput
    return made


def _make_key(
    partition: tuple[str, ...], sort: tuple[str, ...], types: Mapping[str, str]
) -> dict[str, Any]:
    named = {"PartitionKey": partition[0]} | ({"SortKey": sort[0]} if sort else {})
    return {
        role: {"AttributeName": name, "AttributeType": types[name]} for role, name in named.items()
    }


def _join_attributes(table: Table) -> dict[str, frozenset[str]]:
    """Return the types of each attribute of a table's items, and of the keys of its indexes."""
    found = {name: frozenset({kind}) for name, kind in table.key_types().items()}
    for schema in table.entities.values():
        for name, kinds in list_attributes(schema).items():
            found[name] = found.get(name, frozenset()) | kinds
    return found


def _list_samples(table: Table) -> Iterator[tuple[EntitySchema, list[Item]]]:
    """Yield each entity with the items of its examples."""
    examples = table.example_entities()
    for schema in table.entities.values():
        yield (
            schema,
            [schema.encode(each) for each in examples if type(each) is schema.entity],
        )


def _make_facet(schema: EntitySchema, items: list[Item]) -> dict[str, Any]:
    names = name_attributes(schema)
    aliases = [write_template(part, names) for part in schema.keys]
    roles = ("PartitionKeyAlias", "SortKeyAlias")
    return {
        "FacetName": schema.name,
        "KeyAttributeAlias": dict(zip(roles, aliases, strict=False)),
        "TableData": [normalise_item(item)[0] for item in items],
        "NonKeyAttributes": [*list_attributes(schema)],
        "DataAccess": _NO_SOURCE,
    }


def _is_expressible(index: Index) -> bool:
    return not index.local and len(index.key.partition) == 1 and len(index.key.sort) <= 1


def _describe(table: Table) -> str:
    """Return the description of a table: its access patterns, with their requests."""
    lines = [f"Access patterns of {table.name}:"] if table.patterns else []
    return "\n".join([*lines, *(f"- {_show(each)}" for each in table.patterns.values())])


def _show(pattern: Pattern[..., Any]) -> str:
    try:
        steps = pattern.explain().steps
    except (PatternFailed, PatternUnexplained):
        return pattern.name
    shown = (
        " ".join(filter(None, (each.operation, f"of {each.index}" * bool(each.index), each.key)))
        for each in steps
    )
    return f"{pattern.name}: {'; then '.join(shown)}"


def _find_gaps(table: Table) -> Iterator[ExportGap]:
    for index in table.indexes:
        if index.local:
            fact = "a data model has no local indexes"
            yield ExportGap(f"{table.name}.{index.name}", fact)
        elif not _is_expressible(index):
            names = ", ".join(index.key.names)
            fact = f"an index of a data model has one partition and one sort key, not {names}"
            yield ExportGap(f"{table.name}.{index.name}", fact)
        elif index.name in _list_own_capacity(table):
            fact = "its provisioned capacity is not that of the table"
            yield ExportGap(f"{table.name}.{index.name}", fact)
    settings = {
        "ttl": table.ttl,
        "type_attribute": table.type_attribute,
        "stream": table.stream,
        "maximum on demand": table.billing if isinstance(table.billing, OnDemand) else None,
        "deletion_protection": table.deletion_protection,
        "tags": None if table.tags is None else dict(table.tags),
    }
    for name, value in settings.items():
        if value is not None:
            yield ExportGap(table.name, f"a data model has no {name}, which is {value!r}")
    for name, kinds in _join_attributes(table).items():
        if len(kinds) > 1:
            fact = f"{name!r} may be {', '.join(sorted(kinds))}, and an attribute has one type"
            yield ExportGap(table.name, fact)
    for schema in table.entities.values():
        yield from _find_entity_gaps(schema)


def _list_own_capacity(table: Table) -> list[str]:
    if not isinstance(table.billing, Provisioned):
        return []
    return [
        name
        for name, own in table.billing.indexes.items()
        if own.to_dynamodb() != table.billing.to_dynamodb()
    ]


def _find_entity_gaps(schema: EntitySchema) -> Iterator[ExportGap]:
    if schema.codec.has_extra:
        yield ExportGap(schema.name, "its items may have attributes that it does not declare")
    if schema.unique:
        names = ", ".join(schema.unique)
        yield ExportGap(schema.name, f"a data model does not say that {names} is unique")
    for part in schema.index_templates:
        fact = f"a facet has no template of {part.attribute!r}, which is made by one"
        yield ExportGap(schema.name, fact, "Sample data shows its values.")
