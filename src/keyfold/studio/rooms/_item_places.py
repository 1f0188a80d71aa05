"""Where an item lies: in the table, and in which indexes, with the reason for each."""

from __future__ import annotations

from typing import Any

from keyfold.model import Index, Table
from keyfold.model._schemas import EntitySchema
from keyfold.studio._actions import StudioCall
from keyfold.studio._shown_keys import show_key
from keyfold.studio._shown_values import show_stored
from keyfold.studio.rooms._membership import find_membership
from keyfold.studio.rooms._pattern_lines import DiagramLine, explain_patterns, list_lines
from keyfold.values import AttributeValue, Item

_NAMED_PATTERNS = 4
_BOTH = 2


def show_places(
    call: StudioCall, schema: EntitySchema | None, item: Item, hidden: frozenset[str]
) -> list[dict[str, Any]]:
    """Return the table and all indexes: whether the item is in each, and why.

    `state` is in, out (a key attribute is not set), never (the entity has no such field) or unknown
    (an attribute is hidden from the principal). Names in sentences are in backticks.
    """
    table = call.table
    lines = find_lines(call)
    places: list[dict[str, Any]] = [
        {
            "index": None,
            "key": table.key.names,
            "state": "in",
            "sentence": _say_partition(table, schema, item),
            "conditions": [],
            "patterns": _list_patterns(table, lines, schema, None),
        }
    ]
    for index in table.indexes:
        place = _show_place(table, index, schema, item, hidden)
        place["patterns"] = _list_patterns(table, lines, schema, index.name)
        places.append(place)
    return places


def find_lines(call: StudioCall) -> list[DiagramLine]:
    """Return what all patterns of a table do with its entities."""
    table = call.table
    return call.workspace.remember(
        ("items", "lines", table.name),
        lambda: [line for each in explain_patterns(table) for line in list_lines(table, each)],
    )


def list_writers(call: StudioCall, schema: EntitySchema | None) -> list[dict[str, str]]:
    """Return the patterns that write an entity."""
    if schema is None:
        return []
    names = [
        each.pattern
        for each in find_lines(call)
        if each.deed == "writes" and each.entity == schema.name
    ]
    return _name_patterns(call.table, names)


def _list_patterns(
    table: Table, lines: list[DiagramLine], schema: EntitySchema | None, index: str | None
) -> list[dict[str, str]]:
    """Return the patterns that read an entity there."""
    names = [
        each.pattern
        for each in lines
        if each.deed == "reads"
        and each.index == index
        and each.entity in (None, None if schema is None else schema.name)
    ]
    return _name_patterns(table, names)


def _name_patterns(table: Table, names: list[str]) -> list[dict[str, str]]:
    titles = {each.__name__: each.name for each in table.patterns.values()}
    listed = [*dict.fromkeys(names)][:_NAMED_PATTERNS]
    return [{"name": name, "title": titles[name]} for name in listed]


def _show_place(
    table: Table, index: Index, schema: EntitySchema | None, item: Item, hidden: frozenset[str]
) -> dict[str, Any]:
    names = index.key.names
    is_unknown = not hidden.isdisjoint(names)
    is_in = all(_is_key_value(item.get(name)) for name in names)
    member = None if schema is None else find_membership(table, schema, index)
    is_whole = {*names} <= {*table.key.names}
    state, sentence, conditions = "in", "", list[dict[str, Any]]()
    if is_unknown:
        state = "unknown"
        sentence = "Whether it is here depends on a field that is hidden from this role."
    elif is_in and is_whole:
        sentence = f"Every item is here{_say_projection(index)}."
    elif is_in:
        sentence = f"Here, because {_say_set(index)}{_say_projection(index)}."
        conditions = _list_conditions(schema, index, item)
    elif member is not None and member.belongs == "never":
        state, sentence = "never", member.sentence
    else:
        state = "out"
        article = "" if schema is None else f"{_article(schema.name)} {schema.name}"
        sentence = f"Not here: {article or 'an item'} is in it when {_say_all(index)} set."
        conditions = _list_conditions(schema, index, item)
    return {
        "index": index.name,
        "key": names,
        "state": state,
        "sentence": sentence,
        "conditions": conditions,
        "project": index.project if isinstance(index.project, str) else [*index.project],
    }


def _list_conditions(schema: EntitySchema | None, index: Index, item: Item) -> list[dict[str, Any]]:
    """Return whether each key attribute of an index is set, and what it is made of."""
    parts = (
        {}
        if schema is None
        else {part.attribute: part for part in schema.index_keys.get(index.name, ())}
    )
    conditions: list[dict[str, Any]] = []
    for name in index.key.names:
        value, part = item.get(name), parts.get(name)
        template = None if part is None or part.template is None else part.template.text
        conditions.append(
            {
                "attribute": name,
                "set": _is_key_value(value),
                "value": None if value is None else show_stored(value),
                "template": template,
            }
        )
    return conditions


def _is_key_value(value: AttributeValue | None) -> bool:
    """Return whether a value can be a key: text, a number or bytes, and not empty."""
    if value is None:
        return False
    ((kind, data),) = value.items()
    return kind in ("S", "N", "B") and bool(data)


def _say_partition(table: Table, schema: EntitySchema | None, item: Item) -> str:
    """Return which partition an item is in: `orders of ada`."""
    part = None if schema is None else schema.partition
    shown = show_key(part, table.key.partition[0], item[table.key.partition[0]])
    values = [piece["text"] for piece in shown["pieces"] if "part" in piece]
    if schema is None or not values:
        return f"in partition `{shown['text']}`"
    return f"{schema.shard or schema.name} of {', '.join(values)}"


def _say_projection(index: Index) -> str:
    match index.project:
        case "all":
            return ""
        case "keys":
            return ", with its keys only"
        case names:
            return f", with its keys and {', '.join(f'`{name}`' for name in names)} only"


def _say_set(index: Index) -> str:
    names = [f"`{name}`" for name in index.key.names]
    if len(names) == 1:
        return f"{names[0]} is set"
    return f"{', '.join(names[:-1])} and {names[-1]} are set"


def _say_all(index: Index) -> str:
    count = len(index.key.names)
    if count == 1:
        return f"`{index.key.names[0]}` is"
    return "both are" if count == _BOTH else f"all {count} are"


def _article(name: str) -> str:
    return "an" if name[:1].upper() in "AEIOU" else "a"
