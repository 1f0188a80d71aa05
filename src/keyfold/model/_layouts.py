"""Table layouts for policies, derived from a table's declaration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from keyfold.errors import KeyfoldError
from keyfold.keys import KeyTemplate, read_fields
from keyfold.keys._annotations import find_type
from keyfold.model._key_parts import KeyPart
from keyfold.model._keys import Index, Shard, TableLike
from keyfold.model._scalars import encode_uuid
from keyfold.model._schemas import EntitySchema
from keyfold.policy import (
    Area,
    IndexEntry,
    IndexLayout,
    Layout,
    Role,
    find_role_problems,
)
from keyfold.policy._layouts import pattern_of_parts
from keyfold.policy._overlaps import find_overlaps


class DeclaredTable(TableLike, Protocol):
    """A table with its entities and shards."""

    @property
    def entities(self) -> Mapping[str, EntitySchema]:
        """Its entities, by name."""
        ...

    @property
    def fallback(self) -> EntitySchema | None:
        """The entity of items that match no other entity."""
        ...

    @property
    def shards(self) -> Mapping[str, Shard]:
        """Its shards, by name."""
        ...


def layout_of(table: DeclaredTable) -> Layout:
    """Return the layout of a table: the areas that roles can have rights to, and its indexes."""
    areas: dict[str, Area] = {}
    for shard in table.shards.values():
        members = [each for each in table.entities.values() if each.shard == shard.name]
        templates = _templates_of(members) or (_plain_template(table, shard),)
        areas[shard.name] = _make_area(table, shard.name, members, templates, is_shard=True)
    for schema in table.entities.values():
        if schema.shard is None:
            # The fallback has the items that match no other entity, whatever its own templates.
            templates = () if schema is table.fallback else _templates_of([schema])
            areas[schema.name] = _make_area(table, schema.name, [schema], templates)
    return Layout(
        table.name,
        table.key.names,
        areas,
        {index.name: _index_layout(table, index) for index in table.indexes},
        {
            schema.name: frozenset(field.guard for field in schema.unique.values())
            for schema in table.entities.values()
            if schema.unique
        },
    )


def find_policy_problems(table: DeclaredTable, roles: Iterable[Role]) -> list[str]:
    """Return the problems of a table's roles, and of its shards; none for a table without roles."""
    listed = list(roles)
    if not listed:
        return []
    problems = [
        f"{table.name}: {name!r} is both a shard and an entity outside any shard. Rename one."
        for name in table.shards
        if name in table.entities and table.entities[name].shard is None
    ]
    try:
        layout = layout_of(table)
    except KeyfoldError as error:
        return [*problems, str(error).removesuffix(f" [{error.code}]")]
    problems += find_overlaps(layout, listed)
    for role in listed:
        problems += find_role_problems(layout, role)
    return problems


def _make_area(
    table: TableLike,
    name: str,
    members: list[EntitySchema],
    templates: tuple[KeyTemplate, ...],
    *,
    is_shard: bool = False,
) -> Area:
    attributes = {*table.key.names}
    for schema in members:
        attributes |= schema.codec.by_stored.keys() | schema.own_attributes
        attributes |= {name for field in schema.codec.renamed for name in field.former}
    renamed = [field for schema in members for field in schema.codec.renamed]
    entities = tuple(schema.name for schema in members)
    unique = {
        name for each in members for field in each.unique.values() for name in field.attributes
    }
    return Area(
        name,
        templates,
        entities,
        frozenset(attributes),
        is_shard,
        _find_copies(members),
        frozenset(unique),
        tuple({frozenset({field.stored, *field.former}): None for field in renamed}),
        _sort_templates_of(members),
    )


def _find_copies(members: list[EntitySchema]) -> dict[str, frozenset[str]]:
    """Return, for each attribute, the key attributes that contain a copy of its value."""
    copies: dict[str, frozenset[str]] = {}
    for schema in members:
        alternatives = [each for index in schema.index_alternatives.values() for each in index]
        parts = [*schema.keys, *(part for each in alternatives for part in each)]
        for part in parts:
            for name in part.fields:
                field = schema.fields[name]
                if not field.is_part and field.stored != part.attribute:
                    known = copies.get(field.stored, frozenset[str]())
                    copies[field.stored] = known | {part.attribute}
    return copies


def _plain_template(table: TableLike, shard: Shard) -> KeyTemplate:
    """Return the template of a shard without entities, whose parts are all treated as text."""
    owner = f"{table.name}.{shard.name}"
    types = {name: str for name, _ in read_fields(shard.template, owner=owner)}
    return KeyTemplate.from_types(shard.template, types, owner)


def _templates_of(members: list[EntitySchema]) -> tuple[KeyTemplate, ...]:
    """Return the partition templates of entities, without those that parse parts identically."""
    found: dict[object, KeyTemplate] = {}
    for schema in members:
        template = _template_of(schema.partition)
        if template is not None:
            found.setdefault((template.text, pattern_of_parts(template)), template)
    return tuple(found.values())


def _sort_templates_of(members: list[EntitySchema]) -> tuple[KeyTemplate, ...]:
    """Return the templates of sort keys; none if an entity may have any sort key."""
    found: dict[object, KeyTemplate] = {}
    for schema in members:
        template = None if schema.sort is None else _template_of(schema.sort)
        if template is None:
            return ()
        found.setdefault((template.text, pattern_of_parts(template)), template)
    return tuple(found.values())


def _template_of(part: KeyPart) -> KeyTemplate | None:
    """Return the template of a key attribute's values; None if they may be anything."""
    if part.template is not None or part.held_by is None:
        return part.template
    field = part.held_by
    kind = find_type(field.annotation)
    # The stored text of other types may differ from the text that a template renders.
    is_text = isinstance(kind, type) and issubclass(kind, str)
    if not is_text and field.codec.encode is not encode_uuid:
        return None
    return KeyTemplate.from_types(f"{{{field.name}}}", {field.name: field.annotation}, field.name)


def _index_layout(table: DeclaredTable, index: Index) -> IndexLayout:
    entries: list[IndexEntry] = []
    for schema in table.entities.values():
        alternatives = schema.index_alternatives.get(index.name)
        if alternatives is not None:
            count = len(index.key.partition)
            found = [tuple(map(_template_of, each[:count])) for each in alternatives]
        elif schema.codec.has_extra:
            # Free-form attributes may have the names of the index key, with any value.
            known = {part.attribute: part for part in schema.keys}
            found = [
                tuple(
                    _template_of(known[name]) if name in known else None
                    for name in index.key.partition
                )
            ]
        else:
            continue
        area = schema.shard or schema.name
        made = [IndexEntry(schema.name, area, each) for each in found]
        # Templates that differ in the sort key alone are one entry.
        entries += {each.texts: each for each in made}.values()
    key = index.key
    return IndexLayout(index.name, key.partition, index.local, tuple(entries), key.sort)
