"""Stored values as documents show them; secrets are masked."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from keyfold.model._secrets import MASKED, is_secret
from keyfold.values import AttributeValue

TYPE_NAMES = {
    "S": "String",
    "N": "Number",
    "B": "Binary",
    "BOOL": "Boolean",
    "L": "List",
    "M": "Map",
    "SS": "String Set",
    "NS": "Number Set",
    "BS": "Binary Set",
    "NULL": "Null",
}


def name_types(kinds: frozenset[str]) -> str:
    """Return DynamoDB's names of attribute types.

    >>> name_types(frozenset({"N"})), name_types(frozenset({"S", "M"})), name_types(frozenset())
    ('Number', 'Map or String', 'any')
    """
    return " or ".join(sorted(TYPE_NAMES[kind] for kind in kinds)) or "any"


def show_value(value: AttributeValue, *, most: int | None = None) -> str:
    """Return a value as text, of at most so many characters: text as it is, others as JSON.

    >>> show_value({"S": "RATE#USD#EUR"}), show_value({"BOOL": False})
    ('RATE#USD#EUR', 'false')
    >>> show_value({"M": {"name": {"S": "Milk"}}}, most=12)
    '{"name": "M…'
    """
    ((kind, data),) = value.items()
    text = str(data) if kind == "S" and not is_secret(data) else _write_json(kind, data)
    if most is not None and len(text) > most:
        return f"{text[: most - 1]}…"
    return text


def _write_json(kind: str, data: Any) -> str:
    """Return a value as JSON, with all digits of its numbers."""
    if is_secret(data):
        return MASKED
    match kind:
        case "N":
            return str(data)
        case "B":
            text = base64.b64encode(data).decode() if isinstance(data, bytes) else str(data)
            return json.dumps(text)
        case "L":
            return f"[{', '.join(map(_write_member, data))}]"
        case "M":
            named = (f"{_quote(name)}: {_write_member(each)}" for name, each in data.items())
            return f"{{{', '.join(named)}}}"
        case "SS" | "NS" | "BS":
            return f"{{{', '.join(sorted(_write_json(kind[0], each) for each in data))}}}"
        case "NULL":
            return "null"
        case _:
            return _quote(data)


def _write_member(value: Mapping[str, Any]) -> str:
    ((kind, data),) = value.items()
    return _write_json(kind, data)


def _quote(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
