"""Parsing of the expressions, or the legacy parameters instead of them, of each operation.

There is one function for each kind of request. Each checks in the service's order: parameters
that exclude each other, then values, then placeholders, then the expressions one by one, then
unused placeholders. No table is needed for that: the engine and policies read requests with the same
functions, so that they cannot interpret a request differently.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from keyfold.api.expression_use import check_not_mixed, check_placeholders_wanted
from keyfold.errors import ValidationException
from keyfold.expressions.conditions import BoundCondition, bind_condition
from keyfold.expressions.fast_conditions import bind_fast_condition
from keyfold.expressions.key_conditions import KeyCondition, bind_key_condition
from keyfold.expressions.legacy import (
    bind_attribute_updates,
    bind_attributes_to_get,
    bind_expected,
    bind_filter,
    bind_key_conditions,
)
from keyfold.expressions.paths import Projection
from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.projections import bind_projection
from keyfold.expressions.updates import UpdatePlan, bind_update
from keyfold.values import Item, normalise_item

# The types that a flag of a request may have on the fast path, which comes before the check of types.
FLAG_TYPES = (bool, type(None))


def check_expression_use(operation: str, request: dict[str, Any]) -> None:
    """Raise ValidationException for legacy parameters together with expressions.

    Also raise it for placeholders without an expression.
    """
    check_not_mixed(operation, request)
    check_placeholders_wanted(operation, request)


def read_placeholders(request: dict[str, Any]) -> Placeholders:
    """Return the attribute names and values that a request's expressions may use."""
    return Placeholders(
        request.get("ExpressionAttributeNames"), request.get("ExpressionAttributeValues")
    )


def check_old_or_none(request: dict[str, Any]) -> None:
    """Raise ValidationException for a ReturnValues that only UpdateItem supports."""
    if request.get("ReturnValues") not in (None, "NONE", "ALL_OLD"):
        raise ValidationException("ReturnValues can only be ALL_OLD or NONE")


def check_select(request: dict[str, Any]) -> None:
    """Raise ValidationException if Select contradicts the other parameters."""
    select = request.get("Select")
    index_given = request.get("IndexName") is not None
    given = [
        name
        for name in ("AttributesToGet", "ProjectionExpression")
        if request.get(name) is not None
    ]
    if select == "ALL_PROJECTED_ATTRIBUTES" and not index_given:
        raise _select_error(
            "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
        )
    if select == "SPECIFIC_ATTRIBUTES" and not given:
        raise _select_error(
            "Must specify the AttributesToGet or ProjectionExpression "
            "when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if given and select not in (None, "SPECIFIC_ATTRIBUTES"):
        what = "only the Count" if select == "COUNT" else select
        raise _select_error(f"Cannot specify the {given[0]} when choosing to get {what}")


def _select_error(message: str) -> ValidationException:
    return ValidationException(message, validation="enveloped")


def read_condition(request: dict[str, Any]) -> BoundCondition | None:
    """Return the condition of a put, a delete or a condition check, or None."""
    text = request.get("ConditionExpression")
    if text is None:
        return _read_expected(request)
    names, values = (request.get(f"ExpressionAttribute{kind}") for kind in ("Names", "Values"))
    holds = bind_fast_condition(text, names, values)
    if holds is not None:
        return BoundCondition(holds, ())
    return read_condition_paths(request)


def read_condition_paths(request: dict[str, Any]) -> BoundCondition | None:
    """Return the condition of a write with the paths in it, which the fast path leaves out."""
    text = request.get("ConditionExpression")
    if text is None:
        return _read_expected(request)
    placeholders = read_placeholders(request)
    condition = bind_condition(text, placeholders, kind="ConditionExpression")
    placeholders.check_all_used()
    return condition


def _read_expected(request: dict[str, Any]) -> BoundCondition | None:
    expected, operator = request.get("Expected"), request.get("ConditionalOperator")
    if expected is None and operator is None:
        return None
    return bind_expected(expected or {}, operator)


def read_update(
    request: dict[str, Any],
) -> tuple[Item, UpdatePlan | None, BoundCondition | None]:
    """Return the key, the changes and the condition of UpdateItem."""
    check_expression_use("UpdateItem", request)
    key, _ = normalise_item(request["Key"])
    updates = request.get("AttributeUpdates")
    plan = None if updates is None else bind_attribute_updates(updates)
    if request.get("UpdateExpression") is None and request.get("ConditionExpression") is None:
        return key, plan, _read_expected(request)
    plan, condition = read_update_expressions(request)
    return key, plan, condition


def read_update_expressions(
    request: dict[str, Any],
) -> tuple[UpdatePlan | None, BoundCondition | None]:
    """Return the changes and the condition of an update that is given by expressions."""
    placeholders = read_placeholders(request)
    update, text = request.get("UpdateExpression"), request.get("ConditionExpression")
    plan = None if update is None else bind_update(update, placeholders)
    condition = (
        None if text is None else bind_condition(text, placeholders, kind="ConditionExpression")
    )
    placeholders.check_all_used()
    return plan, condition


def read_projection(request: dict[str, Any]) -> Projection | None:
    """Return the projection of a read by key, or None for all attributes."""
    text = request.get("ProjectionExpression")
    if text is None:
        names = request.get("AttributesToGet")
        return None if names is None else bind_attributes_to_get(names)
    # A projection uses no values; the service ignores them here.
    placeholders = Placeholders(request.get("ExpressionAttributeNames"), None)
    projection = bind_projection(text, placeholders)
    placeholders.check_all_used()
    return projection


class ReadParameters(NamedTuple):
    """The filter and the projection of a Query or Scan."""

    filter: BoundCondition | None
    filter_kind: Literal["FilterExpression", "QueryFilter"]
    projection: Projection | None


def read_query(request: dict[str, Any]) -> tuple[KeyCondition, ReadParameters]:
    """Return the key condition of a Query, and its filter and projection."""
    check_expression_use("Query", request)
    text: str | None = request.get("KeyConditionExpression")
    conditions: dict[str, Any] = request.get("KeyConditions") or {}
    if text is None and request.get("KeyConditions") is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter "
            "must be specified in the request."
        )
    if not _has_expressions(request, "KeyConditionExpression"):
        parameters = _read_legacy(request, "QueryFilter")
        return bind_key_conditions(conditions), parameters
    placeholders = read_placeholders(request)
    bound = None if text is None else bind_key_condition(text, placeholders)
    filter_, projection = _bind_filter_and_projection(request, placeholders)
    placeholders.check_all_used()
    key_condition = bind_key_conditions(conditions) if bound is None else bound.to_key_condition()
    return key_condition, ReadParameters(filter_, "FilterExpression", projection)


def read_scan(request: dict[str, Any]) -> ReadParameters:
    """Return the filter and the projection of a Scan."""
    check_expression_use("Scan", request)
    if not _has_expressions(request):
        return _read_legacy(request, "ScanFilter")
    placeholders = read_placeholders(request)
    filter_, projection = _bind_filter_and_projection(request, placeholders)
    placeholders.check_all_used()
    return ReadParameters(filter_, "FilterExpression", projection)


def _has_expressions(request: dict[str, Any], *others: str) -> bool:
    names = ("FilterExpression", "ProjectionExpression", *others)
    return any(request.get(name) is not None for name in names)


def _bind_filter_and_projection(
    request: dict[str, Any], placeholders: Placeholders
) -> tuple[BoundCondition | None, Projection | None]:
    text, wanted = request.get("FilterExpression"), request.get("ProjectionExpression")
    filter_ = None if text is None else bind_condition(text, placeholders, kind="FilterExpression")
    projection = None if wanted is None else bind_projection(wanted, placeholders)
    return filter_, projection


def _read_legacy(
    request: dict[str, Any], parameter: Literal["QueryFilter", "ScanFilter"]
) -> ReadParameters:
    conditions, operator = request.get(parameter), request.get("ConditionalOperator")
    filter_ = None
    if conditions is not None or operator is not None:
        filter_ = bind_filter(conditions or {}, operator)
    names = request.get("AttributesToGet")
    projection = None if names is None else bind_attributes_to_get(names)
    return ReadParameters(filter_, "QueryFilter", projection)
