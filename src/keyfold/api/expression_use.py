"""Which of an operation's parameters are expressions, and what may not stand beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.api import EXPRESSION_PARAMETERS
from keyfold.errors import ValidationException


def check_not_mixed(operation: str, request: Mapping[str, Any]) -> None:
    """Raise ValidationException if a request has expressions beside the parameters they replace.

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
        # These two go together: a filter expression does not mind legacy key conditions.
        legacy.remove("KeyConditions")
    if legacy:
        raise ValidationException(
            "Can not use both expression and non-expression parameters in the same request: "
            f"Non-expression parameters: {{{', '.join(legacy)}}} "
            f"Expression parameters: {{{', '.join(expressions)}}}"
        )


def check_placeholders_wanted(operation: str, request: Mapping[str, Any]) -> None:
    """Raise ValidationException if a request has placeholders but no expression to use them in."""
    parameters = EXPRESSION_PARAMETERS[operation]
    if request.get("ExpressionAttributeNames") is not None and not _given(
        request, parameters.expressions
    ):
        raise ValidationException(
            "ExpressionAttributeNames can only be specified when using expressions"
        )
    absent = parameters.with_values
    if not absent:
        # An operation without such expressions takes no values, and ignores them.
        return
    if request.get("ExpressionAttributeValues") is not None and not _given(request, absent):
        raise ValidationException(
            "ExpressionAttributeValues can only be specified when using expressions: "
            f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} null"
        )


def _given(request: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if request.get(name) is not None]
