"""Checking a request: one quick look at every request, a slow one at those that fail it.

The quick look only ever says "certainly right". It is made of C functions where it can be, and
whatever surprises it (a type it cannot handle, a member it does not know, text outside ASCII)
sends the request to the slow one, which alone decides and words the error.
"""

from __future__ import annotations

from typing import Any

from keyfold.api.operations import names_where
from keyfold.api.shapes import _java
from keyfold.api.shapes._constraints import failures_error, find_failures, map_keys_failure
from keyfold.api.shapes._fast_tests import fast_tests
from keyfold.api.shapes._model import Shape, input_shape, shape
from keyfold.api.shapes._names import find_name_error
from keyfold.api.shapes._types import walk_types
from keyfold.errors import UnknownOperationException, ValidationException

# Operations on tables look at the table's name before anything else of the request; operations
# on items look at it last. So DescribeTable says of "" that it is shorter than 3 and breaks the
# pattern; PutItem only that it is shorter than 1, beside whatever else is wrong.
_NAME_CHECKED_FIRST = names_where(lambda each: each.subject == "tables" and "TableName" in each.resources)
_TAG_OPERATIONS = names_where(lambda each: each.subject == "tags")


def check(operation: str, request: dict[str, Any]) -> None:
    """Pass a request whose JSON types and constraints are right.

    Members given as None count as absent, unknown ones are ignored, and attribute values are
    not looked into.

    Raises SerializationException for a value of a wrong type, ValidationException for values
    that break constraints, UnknownOperationException.
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

    The service finds these before anything else, so this is to be asked once a request has
    been found wrong in another way.
    """
    walk_types(_input_of(operation), request)


def known_part(operation: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return a checked request as the service sees it: known members that are not null."""
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
        return ValidationException("The requestItems parameter is required for BatchGetItem")
    if error := failures_error(find_failures(spec, request)):
        return error
    if operation == "BatchWriteItem":
        return _find_batch_error(request["RequestItems"])
    return find_name_error(name) if name is not None else None


def _find_batch_error(tables: dict[str, Any]) -> ValidationException | None:
    # Unlike every other operation, BatchWriteItem reports these only when nothing else is wrong.
    if not tables:
        return ValidationException("The requestItems parameter is required for BatchWriteItem")
    failure = map_keys_failure(
        shape("BatchWriteItemRequestMap"), shape("NameOrArn"), tables, "requestItems"
    )
    return failures_error([failure]) if failure else None
