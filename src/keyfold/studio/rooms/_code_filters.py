"""Which items a read returns that were not asked for, and how code can tell them apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

from keyfold.expressions.parser import parse_condition
from keyfold.expressions.trees import And, Comparison, FunctionCall, ValuePlaceholder
from keyfold.keys import KeyTemplate
from keyfold.model import Query, Scan, Table
from keyfold.model._key_parts import KeyPart
from keyfold.model._schemas import EntitySchema

# How a placeholder for a value of what was found begins.
FOUND = "{found"


def may_lie_in(schema: EntitySchema, source: Query[Any] | Scan[Any], body: dict[str, Any]) -> bool:
    """Return whether items of an entity may be among those that a read returns."""
    parts = schema.keys if source.index is None else schema.index_keys.get(source.index.name)
    if parts is None:
        return False
    if isinstance(source, Scan):
        return True
    by_name = {part.attribute: part for part in parts}
    condition = parse_condition(body["KeyConditionExpression"]).condition
    names = body.get("ExpressionAttributeNames", {})
    values = body.get("ExpressionAttributeValues", {})
    for each in condition.conditions if isinstance(condition, And) else (condition,):
        match each:
            case Comparison("=", left, ValuePlaceholder(name)):
                if not _may_equal(by_name.get(_name_of(left, names)), values[name]):
                    return False
            case FunctionCall("begins_with", (path, ValuePlaceholder(name))):
                if not _may_begin(by_name.get(_name_of(path, names)), values[name]):
                    return False
            case _:
                # A range of keys: others may lie in it.
                pass
    return True


def find_fixed(body: dict[str, Any]) -> frozenset[str]:
    """Return the attributes that have one value in all items that a query returns."""
    if "KeyConditionExpression" not in body:
        return frozenset()
    condition = parse_condition(body["KeyConditionExpression"]).condition
    names = body.get("ExpressionAttributeNames", {})
    parts = condition.conditions if isinstance(condition, And) else (condition,)
    return frozenset(
        _name_of(each.left, names)
        for each in parts
        if isinstance(each, Comparison) and each.comparator == "="
    )


def _name_of(path: Any, names: dict[str, str]) -> str:
    name = str(path)
    return names.get(name, name)


def _may_equal(part: KeyPart | None, value: dict[str, Any]) -> bool:
    if part is None:
        return False
    text = value.get("S")
    if text is None:
        return True
    if FOUND in text:
        return part.template is None or _may_look_like(part.template, text)
    if part.template is not None:
        return bool(part.template.matches(text))
    annotation = None if part.held_by is None else part.held_by.annotation
    options = [each for each in _list_literals(annotation) if each is not None]
    return not options or text in options


def _may_look_like(template: KeyTemplate, text: str) -> bool:
    """Return whether a template may render a text with placeholders, by the literals of both."""
    first, *rest = text.split(FOUND)
    literals = [first, *(each.partition("}")[2] for each in rest)]
    own = [*(each.before for each in template.parts), template.tail]
    is_comparable = len(own) == len(literals) and bool(own[0]) and bool(literals[0])
    return own == literals or not is_comparable


def _list_literals(annotation: Any) -> Iterator[Any]:
    """Yield the values of a type that has some alone, such as `Literal["order"] | None`."""
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
        return
    for each in get_args(annotation):
        yield from _list_literals(each)


def _may_begin(part: KeyPart | None, value: dict[str, Any]) -> bool:
    if part is None:
        return False
    text = value.get("S")
    if text is None or part.template is None or FOUND in text:
        return True
    head = part.template.prefix({}).text
    return head.startswith(text) or text.startswith(head)


def tell_apart(
    table: Table, schemas: Sequence[EntitySchema], fixed: frozenset[str]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, tuple[str, ...]] | None]:
    """Return what the keys of entities look like, by attribute, or the values of the type attribute.

    Attributes that are `fixed` by the read tell nothing.
    """
    typed = [each.type_attribute for each in schemas]
    if all(each is not None for each in typed):
        pairs = [each for each in typed if each is not None]
        return (), (pairs[0][0], tuple(kind for _, kind in pairs))
    patterns: list[tuple[str, str]] = []
    for place, name in enumerate(table.key.names):
        parts = [each.keys[place] for each in schemas]
        options = dict.fromkeys(_write_pattern(each) for each in parts if each.template)
        if name not in fixed and all(each.template is not None for each in parts):
            patterns.append((name, "|".join(options)))
    return tuple(patterns), None


def _write_pattern(part: KeyPart) -> str:
    """Return the regular expression of a key's texts."""
    assert part.template is not None  # of the callers
    pieces = [f"{re.escape(each.before)}(?:{each.format.pattern})" for each in part.template.parts]
    # `re.escape` is careful about signs that mean something in verbose expressions only.
    return ("".join(pieces) + re.escape(part.template.tail)).replace("\\#", "#")
