"""The bodies of requests and of errors, as they are sent."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.errors import SerializationException, ServiceError


def parse_body(body: bytes) -> Any:
    """Return the JSON of a body; raises SerializationException.

    >>> parse_body(b'{"TableName": "Music"}')
    {'TableName': 'Music'}

    Everything that reads a request reads this one result, so that duplicate members, for example,
    mean the same to a policy and to the engine.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise SerializationException from None


def render_error(error: ServiceError) -> bytes:
    """Return the body of the response that the service sends for an error."""
    body: dict[str, Any] = {"__type": error.qualified_type}
    if error.message:
        body[error.message_name] = error.message
    return orjson.dumps(body | error.fields)
