"""What a declaration says about each attribute of an entity's items."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from keyfold.export.documents._blocks import Code, Prose, read_prose
from keyfold.model import Table
from keyfold.model._codecs import StoredField
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema
from keyfold.values import AttributeValue, Item


@dataclass(frozen=True, slots=True)
class AttributeFacts:
    """An attribute of an entity's items.

    `kinds` are its DynamoDB types, empty if any is possible. `template` is the key template that
    makes it, `field` the field that is stored in it, `python` the type of that field. `notes` are
    short texts about it, such as "unique". `example` is a value of it.
    """

    name: str
    kinds: frozenset[str]
    template: str | None = None
    field: str | None = None
    python: str = ""
    notes: tuple[Prose, ...] = ()
    example: AttributeValue | None = None
    is_primary: bool = False
    is_unique: bool = False


def list_attributes_of(
    table: Table, schema: EntitySchema, items: Sequence[Item]
) -> tuple[AttributeFacts, ...]:
    """Return the attributes of an entity's items: keys first, then its fields as declared."""
    found: dict[str, AttributeFacts] = {}
    for each in _list_attributes(table, schema, items):
        found.setdefault(each.name, each)
    return tuple(found.values())


def _list_attributes(
    table: Table, schema: EntitySchema, items: Sequence[Item]
) -> Iterator[AttributeFacts]:
    uses = _list_key_uses(table)

    def make(
        name: str,
        kinds: frozenset[str],
        *,
        part: KeyPart | None = None,
        field: StoredField | None = None,
        notes: Sequence[Prose] = (),
    ) -> AttributeFacts:
        template = None if part is None or part.template is None else part.template.text
        is_unique = field is not None and field.name in schema.unique
        return AttributeFacts(
            name,
            kinds,
            template,
            None if field is None else field.name,
            "" if field is None else show_type(field.annotation),
            (*uses.get(name, ()), *notes),
            next((item[name] for item in items if name in item), None),
            is_primary=name in table.key.names,
            is_unique=is_unique,
        )

    for part in schema.keys:
        field = part.held_by
        notes = () if field is None else tuple(_note(schema, field))
        yield make(part.attribute, frozenset({part.kind}), part=part, field=field, notes=notes)
    for part in schema.index_templates:
        yield make(
            part.attribute, frozenset({part.kind}), part=part, notes=_note_sparse(schema, part)
        )
    if schema.type_attribute is not None:
        name, value = schema.type_attribute
        yield make(name, frozenset({"S"}), notes=(("the entity: ", Code(value)),))
    for field in schema.codec.by_stored.values():
        kinds = field.codec.kinds - {"NULL"}
        yield make(field.stored, kinds, field=field, notes=tuple(_note(schema, field)))
    for name, (attribute, codec) in schema.computed.items():
        yield make(attribute, codec.kinds - {"NULL"}, notes=(("computed: ", Code(name)),))


def _list_key_uses(table: Table) -> dict[str, tuple[Prose, ...]]:
    """Return what keys each attribute belongs to, by its name."""
    uses: dict[str, tuple[Prose, ...]] = {}
    keys = [(table.key, ""), *((index.key, index.name) for index in table.indexes)]
    for key, index in keys:
        for names, role in ((key.partition, "partition key"), (key.sort, "sort key")):
            for name in names:
                note = (f"{role} of ", Code(index)) if index else (role,)
                uses[name] = (*uses.get(name, ()), note)
    return uses


def _note_sparse(schema: EntitySchema, part: KeyPart) -> tuple[Prose, ...]:
    """Return the note about an index key that an item may lack."""
    is_sparse = any(schema.fields[name].accepts_none for name in part.fields)
    return (("may be absent",),) if is_sparse else ()


def _note(schema: EntitySchema, field: StoredField) -> Iterator[Prose]:
    """Yield what else is declared about a field."""
    info = schema.entity.__pydantic_fields__.get(field.name)
    if info is not None and info.description:
        yield read_prose(info.description.strip().rstrip("."))
    if not field.is_always_stored and field.name not in schema.key_fields:
        yield ("may be absent",)
    if field.name in schema.unique:
        yield ("unique",)
    if field is schema.ttl_field:
        yield ("the time at which the item expires",)
    if field is schema.version_field:
        yield ("the version, for optimistic locking",)
    for name in field.former:
        yield ("formerly ", Code(name))


def show_type(annotation: Any) -> str:
    """Return a field's type as a reader knows it.

    >>> show_type(Annotated[str, "three letters"]), show_type(Literal["open", "paid"] | None)
    ('str', "'open' | 'paid' | None")
    >>> show_type(dict[str, list[int]])
    'dict[str, list[int]]'
    """
    origin, options = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return show_type(options[0])
    if origin in (Union, types.UnionType):
        return " | ".join(map(show_type, options))
    if origin is Literal:
        return " | ".join(each.name if isinstance(each, Enum) else repr(each) for each in options)
    if annotation is types.NoneType:
        return "None"
    if annotation is Ellipsis:
        return "..."
    name = getattr(origin or annotation, "__name__", None) or str(annotation)
    return f"{name}[{', '.join(map(show_type, options))}]" if options else name
