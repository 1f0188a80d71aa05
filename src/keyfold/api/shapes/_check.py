"""Checks requests: a fast check of every request, and a full check of those that fail it.

The fast check passes only requests that are certainly valid. It consists of C functions where
possible. Anything it does not handle (an unexpected type, an unknown member, non-ASCII text) sends
the request to the full check, which makes the decision and is the only one that raises errors.
"""

from __future__ import annotations

from typing import Any

from keyfold.api.operations import OPERATIONS, names_where
from keyfold.api.shapes import _java
from keyfold.api.shapes._constraints import (
    failures_error,
    find_failures,
    map_keys_failure,
    terse_message,
)
from keyfold.api.shapes._fast_tests import fast_tests
from keyfold.api.shapes._model import Shape, input_shape, shape
from keyfold.api.shapes._names import find_name_error
from keyfold.api.shapes._types import walk_types
from keyfold.errors import UnknownOperationException, ValidationException

# Operations on tables check the table's name before the rest of the request; operations on items
# check it last. So DescribeTable reports that "" is shorter than 3 and breaks the pattern; PutItem
# reports only that it is shorter than 1, together with all other failures.
_NAME_CHECKED_FIRST = names_where(
    lambda each: each.subject == "tables" and "TableName" in each.resources
)
# As the current validation lists them, with its own name for the last but one.
_RETURN_VALUES_SET = (
    "Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
)
_RETURN_VALUES = ("ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW", "NONE")
_TAG_OPERATIONS = names_where(lambda each: each.subject == "tags")


def check(operation: str, request: dict[str, Any]) -> None:
    """Check the JSON types and constraints of a request.

    Members that are None count as absent, unknown members are ignored, and the contents of
    attribute values are not checked.

    Raises SerializationException for a value of a wrong type, ValidationException for values
    that break constraints, and UnknownOperationException.
    """
    try:
        required, tests = fast_tests[operation]
        for name in required:
            request[name]
        for name, value in request.items():
            if not tests[name](value):
                break
        else:
            return
    except (AttributeError, KeyError, TypeError):
        pass
    _check_in_full(operation, request)


def check_types(operation: str, request: dict[str, Any]) -> None:
    """Raise SerializationException for the first wrong JSON type, attribute values included.

    The service reports these before any other fault, so call this when a request turns out to be
    invalid for another reason.
    """
    walk_types(_input_of(operation), request)


def known_part(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return a checked request without unknown members and members that are null."""
    return _java.known_part(_input_of(operation), request)


def _input_of(operation: str) -> Shape:
    try:
        return input_shape(operation)
    except KeyError:
        raise UnknownOperationException from None


def _check_in_full(operation: str, request: dict[str, Any]) -> None:
    spec = _input_of(operation)
    walk_types(spec, request)
    if error := _find_error(operation, spec, request):
        raise error


def _find_error(operation: str, spec: Shape, request: dict[str, Any]) -> ValidationException | None:
    name = request.get("TableName") if "TableName" in spec.members else None
    if operation in _TAG_OPERATIONS and request.get("ResourceArn") is None:
        return ValidationException("Invalid TableArn")
    if operation in _NAME_CHECKED_FIRST:
        if name is None:
            message = "The parameter 'TableName' is required but was not present in the request"
            return ValidationException(message)
        if error := find_name_error(name):
            return error
    if operation == "BatchGetItem" and request.get("RequestItems") == {}:
        return ValidationException(
            "The requestItems parameter is required for BatchGetItem",
            current_message=terse_message("RequestItems", "Member must have length", 1),
            validation="current",
        )
    if error := failures_error(find_failures(spec, request)):
        error.current_message = _find_current_message(operation, spec, request)
        error.validation = "current"
        return error
    if operation == "BatchWriteItem":
        return _find_batch_error(request["RequestItems"])
    return find_name_error(name) if name is not None else None


def _find_current_message(operation: str, spec: Shape, request: dict[str, Any]) -> str | None:
    """Return the message of the current validation, which stops at the first fault it knows.

    It is known for single writes. A request that lacks a required member gets the former message.
    """
    if OPERATIONS[operation].validation != "enveloped" or any(
        request.get(name) is None for name in spec.required
    ):
        return None
    if request["TableName"] == "":
        return terse_message("TableName", "Member must have length", 1)
    wanted = request.get("ReturnValues")
    if operation == "UpdateItem" and wanted is not None and wanted not in _RETURN_VALUES:
        return f"1 validation error detected: Failed to satisfy constraint: {_RETURN_VALUES_SET}"
    return None


def _find_batch_error(tables: dict[str, Any]) -> ValidationException | None:
    # Unlike all other operations, BatchWriteItem reports these only if there are no other faults.
    if not tables:
        return ValidationException("The requestItems parameter is required for BatchWriteItem")
    failure = map_keys_failure(
        shape("BatchWriteItemRequestMap"), shape("NameOrArn"), tables, "requestItems"
    )
    return failures_error([failure]) if failure else None
