"""Whether the condition of a write rules out replacing an item, or creating one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from keyfold.api import TableKeyNames
from keyfold.expressions.parser import CACHED_EXPRESSIONS, parse_condition
from keyfold.expressions.trees import And, Condition, FunctionCall, Path
from keyfold.policy._rights import Right


def find_existence(request: dict[str, Any], keys: TableKeyNames) -> Right | None:
    """Return the right that a write needs, if its condition decides between creating and replacing.

    None if the condition allows both, so that the write may create as well as replace. Every item
    has the attributes of the key, so a condition on their existence is one on the item's.
    """
    text = request.get("ConditionExpression")
    if text is None:
        return _find_in_expected(request, keys)
    return _find_in_condition(text, spellings_of(keys[:2], request))


def spellings_of(attributes: Iterable[str | None], request: dict[str, Any]) -> tuple[str, ...]:
    """Return the attributes themselves, and the placeholders that stand for them in expressions."""
    known = [name for name in attributes if name is not None]
    names: dict[str, str] = request.get("ExpressionAttributeNames") or {}
    return (*known, *(placeholder for placeholder, name in names.items() if name in known))


@lru_cache(CACHED_EXPRESSIONS)
def _find_in_condition(text: str, keys: tuple[str, ...]) -> Right | None:
    functions: set[str] = set()
    for term in _terms(parse_condition(text).condition):
        match term:
            case FunctionCall(
                "attribute_exists" | "attribute_not_exists", (Path(steps=(str(step),)),)
            ) if step in keys:
                functions.add(term.function)
            case _:
                pass
    return _right_of(functions)


def _find_in_expected(request: dict[str, Any], keys: TableKeyNames) -> Right | None:
    expected: dict[str, Any] = request.get("Expected") or {}
    if not expected or request.get("ConditionalOperator") == "OR":
        return None
    functions: set[str] = set()
    for name, given in expected.items():
        if name in (keys.partition, keys.sort):
            operator = given.get("ComparisonOperator")
            if given.get("Exists") is False or operator == "NULL":
                functions.add("attribute_not_exists")
            elif operator == "NOT_NULL":
                functions.add("attribute_exists")
    return _right_of(functions)


def _right_of(functions: set[str]) -> Right | None:
    if "attribute_not_exists" in functions:
        return Right.CREATE
    return Right.UPDATE if functions else None


def _terms(condition: Condition) -> Iterable[Condition]:
    if not isinstance(condition, And):
        return (condition,)
    return [term for part in condition.conditions for term in _terms(part)]
