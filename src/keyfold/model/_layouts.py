"""From a table's declaration to what a policy knows of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from keyfold.errors import KeyfoldError
from keyfold.keys import KeyTemplate, read_fields
from keyfold.keys._annotations import find_type
from keyfold.model._keys import Index, Shard, TableLike
from keyfold.model._schemas import EntitySchema, KeyPart
from keyfold.policy import (
    Area,
    IndexEntry,
    IndexLayout,
    Layout,
    Role,
    find_role_problems,
)
from keyfold.policy._layouts import pattern_of_parts


class DeclaredTable(TableLike, Protocol):
    """A table with all that was declared for it."""

    @property
    def entities(self) -> Mapping[str, EntitySchema]:
        """Its entities."""
        ...

    @property
    def fallback(self) -> EntitySchema | None:
        """The entity of items that are no other's."""
        ...

    @property
    def shards(self) -> Mapping[str, Shard]:
        """Its shards."""
        ...


def layout_of(table: DeclaredTable) -> Layout:
    """Return how a table is laid out, in areas that roles have rights in."""
    areas: dict[str, Area] = {}
    for shard in table.shards.values():
        members = [each for each in table.entities.values() if each.shard == shard.name]
        templates = _templates_of(members) or (_plain_template(table, shard),)
        areas[shard.name] = _make_area(table, shard.name, members, templates, is_shard=True)
    for schema in table.entities.values():
        if schema.shard is None:
            # A fallback is what no other is, whatever its own key looks like.
            templates = () if schema is table.fallback else _templates_of([schema])
            areas[schema.name] = _make_area(table, schema.name, [schema], templates)
    return Layout(
        table.name,
        table.key.names,
        areas,
        {index.name: _lay_out_index(table, index) for index in table.indexes},
        frozenset(schema.name for schema in table.entities.values() if schema.unique),
    )


def find_policy_problems(table: DeclaredTable, roles: Iterable[Role]) -> list[str]:
    """Return what is wrong with the roles of a table, and with its shards where it has any."""
    listed = list(roles)
    if not listed:
        return []
    problems = [
        f"{table.name}: {name!r} is a shard, and an entity outside every shard. Rename one."
        for name in table.shards
        if name in table.entities and table.entities[name].shard is None
    ]
    try:
        layout = layout_of(table)
    except KeyfoldError as error:
        return [*problems, str(error).removesuffix(f" [{error.code}]")]
    problems += layout.find_problems()
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
    entities = tuple(schema.name for schema in members)
    unique = {each.fields[field].stored for each in members for field in each.unique}
    return Area(
        name,
        templates,
        entities,
        frozenset(attributes),
        is_shard,
        _find_copies(members),
        frozenset(unique),
    )


def _find_copies(members: list[EntitySchema]) -> dict[str, frozenset[str]]:
    """Return the key attributes that show what another attribute holds, by that one's name."""
    copies: dict[str, frozenset[str]] = {}
    for schema in members:
        parts = [*schema.keys, *(each for index in schema.index_keys.values() for each in index)]
        for part in parts:
            for name in part.fields:
                field = schema.fields[name]
                if not field.is_part and field.stored != part.attribute:
                    known = copies.get(field.stored, frozenset[str]())
                    copies[field.stored] = known | {part.attribute}
    return copies


def _plain_template(table: TableLike, shard: Shard) -> KeyTemplate:
    """Return the template of a shard without entities, which would say of what types its parts are."""
    owner = f"{table.name}.{shard.name}"
    types = {name: str for name, _ in read_fields(shard.template, owner=owner)}
    return KeyTemplate.from_types(shard.template, types, owner)


def _templates_of(members: list[EntitySchema]) -> tuple[KeyTemplate, ...]:
    """Return the partition templates of entities: one for each that reads its parts differently."""
    found: dict[object, KeyTemplate] = {}
    for schema in members:
        template = _template_of(schema.partition)
        if template is not None:
            found.setdefault((template.text, pattern_of_parts(template)), template)
    return tuple(found.values())


def _template_of(part: KeyPart) -> KeyTemplate | None:
    """Return what the values of a key attribute look like; None if they may be anything."""
    if part.template is not None or part.held_by is None:
        return part.template
    field = part.held_by
    kind = find_type(field.annotation)
    # Other types may be stored as another text than a template would render.
    if not isinstance(kind, type) or not issubclass(kind, str):
        return None
    return KeyTemplate.from_types(f"{{{field.name}}}", {field.name: field.annotation}, field.name)


def _lay_out_index(table: DeclaredTable, index: Index) -> IndexLayout:
    entries: list[IndexEntry] = []
    for schema in table.entities.values():
        parts = schema.index_keys.get(index.name)
        if parts is not None:
            templates = tuple(map(_template_of, parts[: len(index.key.partition)]))
        elif schema.codec.has_extra:
            # It may hold anything under the names that it does not declare.
            known = {part.attribute: part for part in schema.keys}
            templates = tuple(
                _template_of(known[name]) if name in known else None for name in index.key.partition
            )
        else:
            continue
        entries.append(IndexEntry(schema.name, schema.shard or schema.name, templates))
    key = index.key
    return IndexLayout(index.name, key.partition, index.local, tuple(entries), key.sort)
