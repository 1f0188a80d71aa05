"""Checks that requests do not mix expressions with legacy parameters or unneeded placeholders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.api import EXPRESSION_PARAMETERS
from keyfold.errors import ValidationException


def check_not_mixed(operation: str, request: Mapping[str, Any]) -> None:
    """Raise ValidationException if a request mixes expressions with legacy parameters.

    >>> try:
    ...     check_not_mixed("GetItem", {"AttributesToGet": ["a"], "ProjectionExpression": "a"})
    ... except ValidationException as error:
    ...     print(error.message.partition(": ")[2])
    Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}
    """
    parameters = EXPRESSION_PARAMETERS[operation]
    expressions = _given(request, parameters.expressions)
    if not expressions:
        return
    legacy = _given(request, parameters.legacy)
    if "KeyConditions" in legacy and "KeyConditionExpression" not in expressions:
        # Legacy key conditions conflict only with KeyConditionExpression, not with the others.
        legacy.remove("KeyConditions")
    if legacy:
        raise ValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(legacy)}}} "
            f"Expression parameters: {{{', '.join(expressions)}}}"
        )


def check_placeholders_wanted(operation: str, request: Mapping[str, Any]) -> None:
    """Raise ValidationException if a request has placeholders but no expressions for them."""
    parameters = EXPRESSION_PARAMETERS[operation]
    if request.get("ExpressionAttributeNames") is not None and not _given(
        request, parameters.expressions
    ):
        raise ValidationException(
            "ExpressionAttributeNames can only be specified when using expressions"
        )
    absent = parameters.with_values
    if not absent:
        # An operation without expressions that take values ignores ExpressionAttributeValues.
        return
    if request.get("ExpressionAttributeValues") is not None and not _given(request, absent):
        fact = "ExpressionAttributeValues can only be specified when using expressions"
        are_null = f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} null"
        raise ValidationException(f"{fact}: {are_null}", current_message=fact)


def _given(request: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if request.get(name) is not None]
