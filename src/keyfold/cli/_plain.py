"""Conversion of results to JSON, with the exact digits of numbers."""

from __future__ import annotations

from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, cast

import orjson
from pydantic import BaseModel

from keyfold.model import Page, RawItem, Ref


def to_plain(value: Any) -> Any:
    """Return a Python value as a JSON value that orjson can write."""
    match value:
        case BaseModel():
            return {name: to_plain(each) for name, each in value}
        case Decimal():
            return orjson.Fragment(str(value))
        case Enum():
            return to_plain(value.value)
        case bool() | int() | float() | None:
            return value
        case str():
            return str(value)
        case bytes():
            return b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case RawItem():
            return {
                "table": value.table,
                "key": to_plain(value.key),
                "entity": value.entity,
                "reason": value.reason,
            }
        case Ref():
            return to_plain(cast(Ref[Any], value).parts)
        case Mapping():
            pairs = cast(Mapping[Any, Any], value).items()
            return {str(name): to_plain(each) for name, each in pairs}
        case set() | frozenset():
            return [to_plain(each) for each in _sort(cast(Any, value))]
        case list() | tuple() | deque() | Page():
            return [to_plain(each) for each in cast(Any, value)]
        case _ if is_dataclass(value):
            return {each.name: to_plain(getattr(value, each.name)) for each in fields(value)}
        case _:
            return str(value)


def _sort(members: set[Any]) -> list[Any]:
    try:
        return sorted(members)
    except TypeError:  # of several types, or of a type without an order
        return sorted(members, key=repr)


def attribute_to_plain(value: dict[str, Any]) -> Any:
    """Return a DynamoDB attribute value as a plain JSON value, without its type."""
    ((kind, data),) = value.items()
    match kind:
        case "L":
            return [attribute_to_plain(each) for each in data]
        case "M":
            return {name: attribute_to_plain(each) for name, each in data.items()}
        case "N":
            # The exact digits, as DynamoDB returns them: a float would lose some.
            return orjson.Fragment(data)
        case "NS":
            return [orjson.Fragment(each) for each in data]
        case "B":
            return b64encode(data).decode()
        case "BS":
            return [b64encode(each).decode() for each in data]
        case "NULL":
            return None
        case _:
            return data


def to_json_text(value: Any, *, indent: bool = True) -> str:
    """Return the result of `to_plain` as JSON text."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else 0).decode()


def to_cell(value: Any) -> str:
    """Return a value as the text of a table cell."""
    plain = to_plain(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else to_json_text(plain, indent=False)
