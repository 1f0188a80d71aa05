"""The sections about entities: their keys and relations, and the attributes of each."""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.export.documents._attribute_facts import AttributeFacts
from keyfold.export.documents._blocks import (
    Block,
    Code,
    DocumentSection,
    Grid,
    Paragraph,
    Prose,
    read_prose,
)
from keyfold.export.documents._mermaid import draw_entities
from keyfold.export.documents._relations import find_relations
from keyfold.export.documents._shown_values import name_types, show_value
from keyfold.model import Table
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema

_MOST_CHARACTERS = 60

Attributes = Mapping[str, tuple[AttributeFacts, ...]]


def describe_entities(table: Table, attributes: Attributes) -> DocumentSection:
    """Return the section about the keys of entities, and how the entities relate."""
    columns = ("entity", *table.key.names, "shard", "holds")
    rows: list[tuple[Prose, ...]] = []
    for schema in table.entities.values():
        keys = [show_template(part) for part in schema.keys]
        about = _describe(schema)
        if schema is table.fallback:
            about = f"{about} It has the items that are of no other entity."
        shard = () if schema.shard is None else (Code(schema.shard),)
        rows.append(((Code(schema.name),), *keys, shard, read_prose(about)))
    relations = find_relations(table)
    return DocumentSection(
        "Entities",
        (
            Paragraph(("Parts in braces are fields of the entity.",)),
            Grid(columns, tuple(rows)).without_empty_columns(),
            draw_entities(attributes, relations),
        ),
    )


def show_template(part: KeyPart) -> Prose:
    """Return how a key attribute is made: by its template, or from the field that it stores."""
    if part.template is not None:
        return (Code(part.template.text),)
    assert part.held_by is not None  # a key part has a template or a field
    return (Code(f"{{{part.held_by.name}}}"),)


def _describe(schema: EntitySchema) -> str:
    """Return the first paragraph of an entity's own docstring."""
    own = vars(schema.entity).get("__doc__") or ""
    return own.strip().split("\n\n")[0]


def describe_attributes(attributes: Attributes) -> DocumentSection:
    """Return the section about the attributes of each entity, with example values."""
    sections = tuple(
        DocumentSection(name, (_list_attributes(facts),)) for name, facts in attributes.items()
    )
    return DocumentSection("Attributes", (), sections)


def _list_attributes(facts: tuple[AttributeFacts, ...]) -> Block:
    rows: list[tuple[Prose, ...]] = []
    for each in facts:
        example = each.example
        rows.append(
            (
                (Code(each.name),),
                (name_types(each.kinds),),
                _describe_source(each),
                _join_notes(each.notes),
                () if example is None else (Code(show_value(example, most=_MOST_CHARACTERS)),),
            )
        )
    return Grid(
        ("attribute", "type", "field", "notes", "example"), tuple(rows)
    ).without_empty_columns()


def _describe_source(facts: AttributeFacts) -> Prose:
    if facts.template is not None:
        return (Code(facts.template),)
    if facts.field is None:
        return ()
    return (Code(f"{facts.field}: {facts.python}"),)


def _join_notes(notes: tuple[Prose, ...]) -> Prose:
    parts: list[str | Code] = []
    for note in notes:
        if parts:
            parts.append("; ")
        parts += note
    return tuple(parts)
