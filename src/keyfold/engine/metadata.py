"""Parsing of the engine's metadata records: JSON objects that may have been damaged."""

from __future__ import annotations

from typing import Any, cast

import orjson

from keyfold.engine.tables.table import Unreadable


def parse_record(kind: str, name: str, record: bytes, fields: frozenset[str]) -> dict[str, Any]:
    """Return a parsed record; raise Unreadable unless it is an object with these fields."""
    try:
        body = orjson.loads(record)
    except (TypeError, ValueError) as error:
        raise Unreadable(f"the record of {kind} {name}") from error
    if not isinstance(body, dict) or not cast("dict[str, Any]", body).keys() >= fields:
        raise Unreadable(f"the record of {kind} {name}")
    return cast("dict[str, Any]", body)
