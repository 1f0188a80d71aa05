"""Resource policies: kept with their table, and given back word for word. Nobody is held to them."""

from __future__ import annotations

import json
import re
from typing import Any, cast

from keyfold.engine._catalog import require_body
from keyfold.engine._descriptions import to_table_description
from keyfold.engine._services import Services
from keyfold.engine._table_extras import PolicyBody
from keyfold.engine._tables import TableBody
from keyfold.engine._wording import INVALID
from keyfold.engine.shapes import plain_name
from keyfold.engine.storage import Reader
from keyfold.errors import (
    LimitExceededException,
    PolicyNotFoundException,
    ResourceNotFoundException,
    ValidationException,
)

MAX_POLICY_BYTES = 20 * 1024
# What is expected where there is to be no policy yet.
NO_POLICY = "NO_POLICY"

_STREAM_ARN = re.compile(r"(?P<table>arn:[^/]+:table/[^/]+)/(?P<stream>stream/.+)")


def find_resource(services: Services, reader: Reader, arn: str) -> tuple[TableBody, str]:
    """Return the table that an ARN leads to, and what of it is meant: itself, or a stream."""
    stream = _STREAM_ARN.fullmatch(arn)
    if not arn.startswith("arn:"):
        raise ValidationException(f"ARNs must start with 'arn:': {arn}")
    table_arn = arn if stream is None else stream["table"]
    try:
        body = require_body(reader, plain_name(table_arn))
    except ValidationException:
        message = f"Invalid ResourceArn provided as input {arn}"
        raise ValidationException(f"{INVALID}{message}") from None
    if stream is None:
        return body, ""
    if to_table_description(services, body).get("LatestStreamArn") != arn:
        raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
    return body, stream["stream"]


def new_policy(services: Services, document: str, before: PolicyBody | None) -> PolicyBody:
    """Return a policy to keep; the same document has the same revision.

    Raises ValidationException for one that no service could follow.
    """
    _check_document(document)
    if before is not None and before["document"] == document:
        return before
    revision = int(services.clock() * 1000)
    if before is not None:
        revision = max(revision, int(before["revision"]) + 1)
    return PolicyBody(document=document, revision=str(revision))


def check_revision(policy: PolicyBody | None, expected: str | None) -> None:
    """Raise unless a policy has the revision that the caller expects, if any."""
    if expected is None:
        return
    current = NO_POLICY if policy is None else policy["revision"]
    if current != expected:
        raise policy_not_found()


def policy_not_found() -> PolicyNotFoundException:
    """Return the error for a policy that is not there, or not of the revision asked for."""
    return PolicyNotFoundException("Resource-based policy not found for the provided ResourceArn")


def _check_document(document: str) -> None:
    size = len(document.encode())
    if size > MAX_POLICY_BYTES:
        raise LimitExceededException(
            f"Resource-based policy size of {size} bytes exceeds the limit "
            f"of {MAX_POLICY_BYTES} bytes"
        )
    try:
        policy: Any = json.loads(document)
    except ValueError:
        raise _invalid("Policy is not valid JSON") from None
    if not isinstance(policy, dict) or "Statement" not in policy:
        raise _invalid("Policy has no Statement")
    for statement in _listed(cast("dict[str, Any]", policy)["Statement"]):
        if not isinstance(statement, dict):
            raise _invalid("Statement is not an object")
        _check_statement(cast("dict[str, Any]", statement))


def _listed(value: Any) -> list[Any]:
    """Return what may be one thing or a list of them as a list."""
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _check_statement(statement: dict[str, Any]) -> None:
    if statement.get("Effect") not in ("Allow", "Deny"):
        raise _invalid("Effect must be Allow or Deny")
    for name in ("Principal", "Action", "Resource"):
        if name not in statement and f"Not{name}" not in statement:
            raise _invalid(f"Statement has no {name}")
    actions = _listed(statement.get("Action", statement.get("NotAction")))
    wrong = [each for each in actions if not isinstance(each, str) or not _is_action(each)]
    if wrong:
        shown = ", ".join(json.dumps(each) for each in wrong)
        raise _invalid(f"The following action names are invalid: {shown}")


def _is_action(name: str) -> bool:
    return name == "*" or name.lower().startswith("dynamodb:")


def _invalid(detail: str) -> ValidationException:
    return ValidationException(f"{INVALID}Invalid policy document: {detail}")
