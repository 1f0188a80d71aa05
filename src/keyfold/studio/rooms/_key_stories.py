"""What keys look like: templates with the types of their parts, examples, and how they sort."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from keyfold.analysis import SampleData, find_sample
from keyfold.keys import Ulid, read_fields
from keyfold.keys._annotations import find_type
from keyfold.model import Index, Table
from keyfold.model._index_choices import text_of
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema
from keyfold.model._type_names import name_type
from keyfold.studio._shown_keys import show_key, show_template
from keyfold.studio._workspace import StudioTable, Workspace
from keyfold.studio.rooms._remembering import remember_for
from keyfold.values import Item


def find_examples(workspace: Workspace, subject: StudioTable) -> SampleData:
    """Return the example items of a table, declared or generated: never items of the database."""
    return remember_for(workspace, subject, "examples", lambda: find_sample(subject.table))


def show_keys(
    schema: EntitySchema, parts: Sequence[KeyPart], roles: Sequence[str], item: Item | None
) -> list[dict[str, Any]]:
    """Return key attributes for the browser: template, types of its parts, and an example."""
    return [
        {
            "attribute": part.attribute,
            "role": role,
            "kind": part.kind,
            "template": show_template(part),
            "text": text_of(part),
            "types": {name: _name_field_type(schema, name) for name in part.fields},
            "example": _show_example(part, item),
        }
        for part, role in zip(parts, roles, strict=True)
    ]


def _name_field_type(schema: EntitySchema, name: str) -> str:
    return name_type(find_type(schema.fields[name].annotation))


def _show_example(part: KeyPart, item: Item | None) -> dict[str, Any] | None:
    if item is None or part.attribute not in item:
        return None
    return show_key(part, part.attribute, item[part.attribute])


def name_roles(partition: Sequence[str], sort: Sequence[str]) -> list[str]:
    """Return what each attribute of a key is: the partition key's, or the sort key's."""
    return ["partition"] * len(partition) + ["sort"] * len(sort)


def show_table_keys(
    table: Table, schema: EntitySchema, examples: Mapping[str, Sequence[Item]]
) -> list[dict[str, Any]]:
    """Return the key attributes of an entity in the table."""
    roles = name_roles(table.key.partition, table.key.sort)[: len(schema.keys)]
    item = next(iter(examples.get(schema.name, ())), None)
    return show_keys(schema, schema.keys, roles, item)


def show_index_keys(
    schema: EntitySchema, index: Index, examples: Mapping[str, Sequence[Item]]
) -> list[dict[str, Any]]:
    """Return the key attributes of an entity in an index; empty if it does not declare them."""
    parts = schema.index_keys.get(index.name, ())
    if not parts:
        return []
    names = index.key.names
    items = [each for each in examples.get(schema.name, ()) if all(name in each for name in names)]
    roles = name_roles(index.key.partition, index.key.sort)
    return show_keys(schema, parts, roles, next(iter(items), None))


def tell_order(table: Table, schema: EntitySchema) -> Iterator[str]:
    """Yield sentences about how the entity's items sort; names are in backticks."""
    if schema.sort is None:
        return
    part = schema.sort
    specs: dict[str, str] = {}
    if part.template is not None:
        fields = read_fields(part.template.text, owner=part.template.owner)
        specs = {each.name: each.spec for each in fields}
    for name in part.fields:
        yield from _tell_part(schema, name, specs.get(name, ""))
    for other in table.entities.values():
        added = _find_addition(schema, other)
        if added:
            yield f"{other.name} adds `{added}` to the key of its {schema.name}, and sorts right behind it."


def _tell_part(schema: EntitySchema, name: str, spec: str) -> Iterator[str]:
    kind = find_type(schema.fields[name].annotation)
    if not isinstance(kind, type):
        return
    if issubclass(kind, Ulid):
        made = f"`{kind.head}` and a ULID" if kind.head else "a ULID"
        subject = "" if kind is Ulid else f"`{kind.__name__}` is {made}"
        yield f"{subject or f'`{name}` is {made}'}, so items sort by the time they were made."
    elif issubclass(kind, date):
        yield f"`{name}` is a time, so items sort by it."
    elif issubclass(kind, int) and spec.startswith("0"):
        yield f"`{name}` is padded to {int(spec)} digits, so text sorts as the numbers do."


def _find_addition(schema: EntitySchema, other: EntitySchema) -> str | None:
    """Return what another entity of the same partitions adds to the sort key of this one."""
    if other is schema or schema.sort is None or other.sort is None:
        return None
    mine, theirs = text_of(schema.sort), text_of(other.sort)
    same = text_of(schema.partition) == text_of(other.partition)
    if not same or not schema.sort.fields or not theirs.startswith(mine):
        return None
    return theirs.removeprefix(mine) or None
