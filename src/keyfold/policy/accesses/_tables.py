"""The accesses of operations on whole tables, by the parameters that name the tables."""

from __future__ import annotations

import re
from typing import Any

from keyfold.api import OPERATIONS
from keyfold.policy._access import Access

_ARN = re.compile(r"arn:[^:]*:dynamodb:[^:]*:[^:]*:table/([^/]+)(?:/(.+))?", re.DOTALL)


def read_tables(operation: str, request: dict[str, Any]) -> list[Access]:
    """Return the accesses of an operation on whole tables, by the parameters that name them."""
    named = [
        text
        for resource in OPERATIONS[operation].resources
        if (text := _read_resource(request, resource)) is not None
    ]
    index_name = request.get("IndexName")
    accesses: list[Access] = []
    for text in dict.fromkeys(named):
        found = _ARN.fullmatch(text)
        # Text other than a table's ARN is taken as a table name; the engine refuses invalid ones.
        table, part = (text, None) if found is None else (found[1], found[2])
        accesses.append(Access(operation, table, index_name, part=part))
    return accesses or [Access(operation, None)]


def _read_resource(request: dict[str, Any], resource: str) -> str | None:
    """Return the name or ARN that a parameter gives; `a.b` is the member `b` of `a`."""
    given: Any = request
    for name in resource.split("."):
        given = given.get(name)
        if given is None:
            return None
    # An iterator begins with the ARN of its stream.
    return given.rsplit("|", 2)[0] if resource == "ShardIterator" else given
