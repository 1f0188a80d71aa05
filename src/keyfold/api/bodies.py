"""The bodies of requests, as they are sent."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.errors import SerializationException


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
