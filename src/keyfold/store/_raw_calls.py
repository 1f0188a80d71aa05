"""Raw calls of DynamoDB's API, for what requests do not cover, with the store's retries."""

from __future__ import annotations

from typing import Any

from keyfold.api import find_operation
from keyfold.api.statements import only_selects
from keyfold.errors import (
    ConditionalCheckFailedException,
    InternalServerError,
    KeyfoldError,
    OutcomeUnknown,
)
from keyfold.store._plans import Plan, Response
from keyfold.store._retries import Attempts, is_transient, reason_of
from keyfold.store._settings import StoreSettings


def plan_raw_call(
    settings: StoreSettings, operation: str, request: dict[str, Any]
) -> Plan[Response]:
    """Make a call as it is, and retry it after transient errors.

    Raises AccessDenied in the store of a principal, the service's own errors, Unavailable when
    retries are exhausted, and OutcomeUnknown for a write that may have been carried out.
    """
    call = settings.admit_raw(operation, request)
    attempts = Attempts(operation, settings.jitter, request=request)
    # Whether an earlier attempt may have been carried out.
    may_be_done = False
    while True:
        try:
            return (yield call._replace(attempt=attempts.number))
        except KeyfoldError as error:
            is_lost = isinstance(error, InternalServerError) and not _is_read(operation, request)
            may_be_done = may_be_done or is_lost
            if may_be_done and (
                (is_lost and not _is_repeatable(operation, request))
                or isinstance(error, ConditionalCheckFailedException)
                or (attempts.are_exhausted and is_transient(error))
            ):
                subject = f"raw {operation}"
                raise OutcomeUnknown(subject, operation, reason_of(error), error) from error
            pause = attempts.fail(error)
        yield pause


def _is_read(operation: str, request: dict[str, Any]) -> bool:
    row = find_operation(operation)
    if row.has_statements:
        return only_selects(request)
    return row.is_read


def _is_repeatable(operation: str, request: dict[str, Any]) -> bool:
    """Return whether a write is certainly idempotent, without parsing its expressions."""
    row = find_operation(operation)
    if row.takes_token:
        return "ClientRequestToken" in request
    return row.repeatable == "yes"
