"""Conditions of vector searches: equality of attributes with values, joined by AND."""

from __future__ import annotations

from keyfold.expressions.binder import Binder, bind_comparison
from keyfold.expressions.conditions import check_operator_count
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.parser import parse_condition
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.trees import And, Comparison, Condition, show_path
from keyfold.values import AttributeValue

PARAMETER = "SearchConditionExpression"


def bind_search_condition(text: str, placeholders: Placeholders) -> dict[str, AttributeValue]:
    """Parse a SearchConditionExpression and bind it to the request's names and values.

    >>> bind_search_condition("kind = :k", Placeholders(None, {":k": {"S": "book"}}))
    {'kind': {'S': 'book'}}

    Raises ValidationException.
    """
    wanted: dict[str, AttributeValue] = {}
    try:
        parsed = parse_condition(text)
        check_operator_count(parsed.operator_count)
        _collect(parsed.condition, Binder(placeholders), wanted)
    except ExpressionFault as fault:
        raise fault.to_service_error(PARAMETER) from None
    return wanted


def _collect(node: Condition, binder: Binder, wanted: dict[str, AttributeValue]) -> None:
    if isinstance(node, And):
        for condition in node.conditions:
            _collect(condition, binder, wanted)
        return
    if not isinstance(node, Comparison) or node.comparator != "=":
        raise ExpressionFault(f"Invalid comparator used in {PARAMETER}")
    one, other = bind_comparison(node, binder)
    if isinstance(one, dict):
        one, other = other, one
    if not isinstance(one, tuple) or not isinstance(other, dict):
        raise ExpressionFault("An attribute must be compared with a value")
    name, *inner = map(str, one)
    if inner:
        raise ExpressionFault(f"Nested attributes are not supported; path: {show_path(one)}")
    if name in wanted:
        raise ExpressionFault(f"More than one condition on an attribute; attribute: {name}")
    wanted[name] = other
