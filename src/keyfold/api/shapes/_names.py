"""Table names. Since 2024, requests about existing tables may give an ARN instead."""

from __future__ import annotations

import re
from typing import Any

from keyfold.api.shapes._constraints import failures_error, find_failures
from keyfold.api.shapes._model import shape
from keyfold.errors import ValidationException

# The service's pattern, except that any region and any account number are accepted: this stage
# does not decide which account owns the table.
ARN = re.compile(r"arn:[a-z0-9-]+:dynamodb:[a-z0-9-]*:[0-9]*:table/([a-zA-Z0-9_.-]{3,255})")

INVALID_ARN = (
    "Valid ARN format is 'arn:<awsPartition>:<vendor>:<region>:<subscriber>:resourceType/resourceName', "
    "where Resource name must have length less than or equal to 255, Resource name must have length "
    "greater than or equal to 3, Resource name must satisfyregular expression pattern: [a-zA-Z0-9_.-]+"
)


def plain_name(name_or_arn: str) -> str:
    """Return the table name in `name_or_arn`.

    >>> plain_name("arn:aws:dynamodb:eu-west-1:123456789012:table/Music")
    'Music'

    Raises ValidationException for an ARN that is not that of a table.
    """
    if not name_or_arn.startswith("arn:"):
        return name_or_arn
    if found := ARN.fullmatch(name_or_arn):
        return found[1]
    raise ValidationException(INVALID_ARN)


def table_name(request: dict[str, Any]) -> str:
    """Return the name of the table in a checked request, which may give its ARN."""
    name: str = request["TableName"]
    return plain_name(name) if name.startswith("arn:") else name


def find_name_error(name_or_arn: str) -> ValidationException | None:
    """Return the error for an invalid table name or ARN; None if it is valid."""
    if name_or_arn.startswith("arn:"):
        return None if ARN.fullmatch(name_or_arn) else ValidationException(INVALID_ARN)
    return failures_error(find_failures(shape("NameOrArn"), name_or_arn, "tableName"))
