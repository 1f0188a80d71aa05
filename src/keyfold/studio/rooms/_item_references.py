"""References: where the keys and fields of an item lead to.

- Children are items of its partition whose sort keys begin with its own; parents are the opposite.
- A field leads to an entity whose key has a part of the same typed id, or of the same name and type, if
  the item has the other parts of that key. Whether there is such an item is looked up, all at once.
- If a key cannot be made, or there is no such item, a filter may still find it.
- Others refer to an item by its id; filters by their partition, or by an index, find them.

A reference in JSON: `entity`, `field` (what leads there), `kind` (child, parent, item or search), `label`,
and `at` (a primary key) or `where` and `only` (a filter); children have `count` and `more`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args
from uuid import UUID

from keyfold.errors import AccessDenied
from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model import Table
from keyfold.model._codecs import StoredField
from keyfold.model._schemas import EntitySchema
from keyfold.studio._shown_keys import show_key_text
from keyfold.studio.rooms._bands import show_position
from keyfold.studio.rooms._item_filters import read_field
from keyfold.studio.rooms._item_lookups import render_template
from keyfold.studio.rooms._item_reading import BandRange, BandReader
from keyfold.values import Item

_MAX_REFERENCES = 16
_MAX_MEMBERS = 4
_MAX_CHILDREN = 50


def list_references(
    reader: BandReader, schema: EntitySchema | None, item: Item
) -> list[dict[str, Any]]:
    """Return where an item leads to."""
    if schema is None:
        return []
    table = reader.table
    texts = _read_texts(schema, item)
    references = [*_list_children(reader, schema, item, texts)]
    direct: dict[str, tuple[Item, dict[str, Any]]] = {}
    own = repr({name: item[name] for name in table.key.names})
    for made in (*_list_parents(table, schema, texts), *_list_targets(table, schema, item, texts)):
        key, reference = made
        if key is None:
            references.append(reference)
        elif repr(key) != own:
            direct.setdefault(repr(key), (key, reference))
    references += _check_direct(reader, [*direct.values()][:_MAX_REFERENCES])
    references += _list_referring(table, schema, texts)
    seen: set[str] = set()
    found = [
        each
        for each in references
        if (name := repr((each["entity"], each.get("at"), each.get("where")))) not in seen
        and not seen.add(name)
    ]
    return found[:_MAX_REFERENCES]


def _read_texts(schema: EntitySchema, item: Item) -> dict[str, str]:
    """Return the fields of an item that are a text or a number, as texts."""
    found: dict[str, str] = {}
    for name in schema.fields:
        value = read_field(schema, item, name)
        if value is not None and ({"S", "N"} & value.keys()):
            found[name] = show_key_text(value)
    return found


# Children and parents, by sort keys.


def _is_child(parent: EntitySchema, child: EntitySchema) -> bool:
    """Return whether the sort keys of an entity begin with those of another, in its partition."""
    if parent is child or parent.partition.template is None or child.partition.template is None:
        return False
    if parent.partition.template.text != child.partition.template.text:
        return False
    outer = None if parent.sort is None else parent.sort.template
    inner = None if child.sort is None else child.sort.template
    return (
        outer is not None
        and inner is not None
        and bool(outer.parts)
        and inner.text != outer.text
        and inner.text.startswith(outer.text)
    )


def _list_children(
    reader: BandReader, schema: EntitySchema, item: Item, texts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    table = reader.table
    children = [each for each in table.entities.values() if _is_child(schema, each)]
    if not children:
        return
    sort = table.key.sort[0]
    start = show_key_text(item[sort])
    wanted = BandRange({name: item[name] for name in table.key.partition}, ("begins_with", start))
    try:
        read = reader.query(wanted, limit=_MAX_CHILDREN)
    except AccessDenied:
        return
    for child in children:
        found = [each for each in read.items if child.fits(each)]
        if not found:
            continue
        ends = [show_key_text(each[sort]).removeprefix(start) for each in (found[0], found[-1])]
        names = [name for part in schema.keys for name in part.fields]
        yield {
            "entity": child.name,
            "field": None,
            "kind": "child",
            "count": len(found),
            "more": read.last is not None,
            "label": " to ".join(dict.fromkeys(ends)),
            "at": show_position({name: found[0][name] for name in table.key.names}),
            "where": _write_filter({name: texts[name] for name in names if name in texts}),
            "only": child.name,
        }


def _list_parents(
    table: Table, schema: EntitySchema, texts: Mapping[str, str]
) -> Iterator[tuple[Item | None, dict[str, Any]]]:
    for parent in table.entities.values():
        if _is_child(parent, schema):
            key = _make_key(parent, texts)
            if key is not None:
                yield key, _refer(parent, None, "parent", key)


# Fields that are a part of another entity's key.


def _list_targets(
    table: Table, schema: EntitySchema, item: Item, texts: Mapping[str, str]
) -> Iterator[tuple[Item | None, dict[str, Any]]]:
    # Typed ids first: `order` leads to an order, not the `user` of its key.
    for field in sorted(schema.fields.values(), key=lambda each: find_typed_id(each) is None):
        values = _read_members(schema, field, item)
        for target in table.entities.values():
            for part in sorted(target.key_fields):
                if not _leads_to(field, target.fields[part]):
                    continue
                for value in values:
                    made = _make_reference(table, schema, field, target, part, value, texts)
                    if made is not None:
                        yield made


def _make_reference(
    table: Table,
    schema: EntitySchema,
    field: StoredField,
    target: EntitySchema,
    part: str,
    value: str,
    texts: Mapping[str, str],
) -> tuple[Item | None, dict[str, Any]] | None:
    given = {name: texts[name] for name in target.key_fields if name in texts} | {part: value}
    key = _make_key(target, given)
    if key is not None:
        if target is schema and field.name in schema.key_fields:
            return None
        reference = _refer(target, field.name, "item", key)
        if _can_search(table, target, part):
            reference["where"] = value
        return key, reference
    if find_typed_id(field) is not None and _can_search(table, target, part):
        return None, _search(target, field.name, value, value)
    return None


def _read_members(schema: EntitySchema, field: StoredField, item: Item) -> list[str]:
    """Return the value of a field; of a set, a list or a map, the first members or names."""
    value = read_field(schema, item, field.name)
    if value is None:
        return []
    ((kind, data),) = value.items()
    match kind:
        case "S" | "N":
            return [str(data)]
        case "SS":
            return sorted(data)[:_MAX_MEMBERS]
        case "M":
            return sorted(data)[:_MAX_MEMBERS]
        case "L":
            return [str(each["S"]) for each in data[:_MAX_MEMBERS] if "S" in each]
        case _:
            return []


def _leads_to(field: StoredField, part: StoredField) -> bool:
    """Return whether a field can have the value of a part: the same typed id, or name and type."""
    typed = find_typed_id(field)
    if typed is not None and typed is find_type(part.annotation):
        return True
    if typed is not None:
        return False
    is_named = field.name in (part.name, f"{part.name}s")
    return is_named and _find_scalar(field) is find_type(part.annotation)


def find_typed_id(field: StoredField) -> type[Ulid] | None:
    """Return the type of the ids that a field has, also as members or names; None if it has none."""
    kind = _find_scalar(field)
    return kind if isinstance(kind, type) and issubclass(kind, Ulid) else None


def _find_scalar(field: StoredField) -> Any:
    """Return the type of a field's value, or of the first kind of its members."""
    kind = find_type(field.annotation)
    while arguments := get_args(kind):
        if not isinstance(arguments[0], type) and not get_args(arguments[0]):
            return kind
        kind = find_type(arguments[0])
    return kind


def _make_key(schema: EntitySchema, given: Mapping[str, str]) -> Item | None:
    """Return the primary key of an entity from texts; None if one is missing, or does not fit."""
    key: Item = {}
    for part in schema.keys:
        if any(name not in given for name in part.fields):
            return None
        if part.template is None:
            key[part.attribute] = {part.kind: given[part.fields[0]]}
            continue
        text = render_template(part.template, given)
        if text is None:
            return None
        key[part.attribute] = {"S": text}
    return key


def _can_search(table: Table, target: EntitySchema, part: str) -> bool:
    """Return whether a text alone finds an entity by this part: by its partition, or by an index."""
    if target.partition.fields == (part,):
        return True
    return any(
        len(index.key.partition) == 1 and keys[0].fields == (part,)
        for index in table.indexes
        for keys in target.index_alternatives.get(index.name, ())
    )


def _check_direct(
    reader: BandReader, made: list[tuple[Item, dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    """Yield the references whose items there are; others as searches, if these can find something."""
    names = reader.table.key.names
    try:
        there = reader.get_several([key for key, _ in made], names)
    except AccessDenied:
        # A role may not read some of them; following the reference says which.
        yield from (reference for _, reference in made)
        return
    known = [{name: each[name] for name in names} for each in there]
    for key, reference in made:
        where = reference.pop("where", None)
        if key in known:
            yield reference
        elif where is not None and reference["kind"] == "item":
            schema = reader.table.entities[reference["entity"]]
            if find_typed_id(schema.fields[_last_part(schema)]) is not None:
                yield _search(schema, reference["field"], where, where)


# Items that have this one's id in a field.


def _last_part(schema: EntitySchema) -> str:
    """Return the last field of the key, by which items are told apart."""
    return next(part.fields[-1] for part in reversed(schema.keys) if part.fields)


def _list_referring(
    table: Table, schema: EntitySchema, texts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    if not schema.key_fields:
        return
    identity = _last_part(schema)
    part, value = schema.fields[identity], texts.get(identity)
    kind = find_type(part.annotation)
    if value is None or not (isinstance(kind, type) and issubclass(kind, Ulid | UUID)):
        return
    for other in table.entities.values():
        if other is schema or _is_child(schema, other):
            continue
        for field in other.fields.values():
            is_single = find_type(field.annotation) is kind
            if is_single and _leads_to(field, part) and field.name not in other.partition.fields:
                given = _find_finding(table, other, field.name, value, texts)
                if given is not None:
                    yield _search(other, field.name, _write_filter(given), f"with this {identity}")


def _find_finding(
    table: Table, other: EntitySchema, name: str, value: str, texts: Mapping[str, str]
) -> dict[str, str] | None:
    """Return a filter that finds items by a field without a scan; None if there is none."""
    if other.partition.fields and all(each in texts for each in other.partition.fields):
        return {**{each: texts[each] for each in other.partition.fields}, name: value}
    for index in table.indexes:
        for keys in other.index_alternatives.get(index.name, ()):
            count = len(index.key.partition)
            if {each for part in keys[:count] for each in part.fields} == {name}:
                return {name: value}
    return None


def _refer(schema: EntitySchema, field: str | None, kind: str, key: Item) -> dict[str, Any]:
    label = " · ".join(dict.fromkeys(map(show_key_text, key.values())))
    return {
        "entity": schema.name,
        "field": field,
        "kind": kind,
        "label": label,
        "at": show_position(key),
    }


def _search(schema: EntitySchema, field: str | None, where: str, label: str) -> dict[str, Any]:
    return {
        "entity": schema.name,
        "field": field,
        "kind": "search",
        "label": label,
        "where": where,
        "only": schema.name,
    }


def _write_filter(given: Mapping[str, str]) -> str:
    """Return a filter for fields that are equal to texts, as people type it."""
    return " and ".join(f"{name} = {_quote(value)}" for name, value in given.items())


def _quote(text: str) -> str:
    needs = " and " in text or text != text.strip() or text.startswith('"')
    return f'"{text}"' if needs else text
