"""The JSON of requests, within the limits of the DynamoDB server."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, cast

from keyfold.api.bodies import parse_body
from keyfold.api.large_bodies import MAX_DEPTH, parse_in_slices
from keyfold.errors import SerializationException


def parse_json(body: bytes) -> Any:
    """Return the JSON of a body; raises SerializationException.

    Also raises it for a body that is nested deeper than 128 levels, or that has more than two million
    objects and arrays: what walks the result may do so by recursion.

    >>> parse_json(b'{"user": "ada"}')
    {'user': 'ada'}
    """
    # A body with fewer brackets than that is not nested deeper.
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return parse_body(body)
    parsed = parse_in_slices(body)
    _check_depth(parsed)
    return parsed


def _check_depth(value: Any) -> None:
    """Raise SerializationException if something is nested too deep. Level by level, not recursively."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner = chain.from_iterable(map(_list_members, level))
        level = list(filter(_is_container, inner))
        if not level:
            return
    raise SerializationException


def _list_members(value: Any) -> Iterable[Any]:
    return cast(dict[str, Any], value).values() if isinstance(value, dict) else value


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list)
