"""Attribute values as JSON for the browser: exact, and bounded in size."""

from __future__ import annotations

import base64
from typing import Any

from keyfold.model._secrets import MASKED, is_secret
from keyfold.values import AttributeValue

# Beyond this, a list of items shows the beginning of a value only.
SHORT_BYTES = 2_000
# Beyond this, a view of one item does so, too.
LONG_BYTES = 64_000
_START = 200
_MEMBERS = 100


def show_stored(value: AttributeValue, *, most: int = SHORT_BYTES) -> dict[str, Any]:
    """Return a value in DynamoDB's JSON; numbers stay texts, and binary is in base 64.

    A value with more than `most` bytes becomes `{"cut": {"kind": "S", "bytes": 9000, "start": "…"}}`. For
    a list, a map or a set, `bytes` is about right, and `members` is their number.

    >>> show_stored({"N": "1.10"}), show_stored({"S": "x" * 9_000}, most=100)["cut"]["bytes"]
    ({'N': '1.10'}, 9000)
    """
    size = _measure(value, most)
    ((kind, data),) = value.items()
    if size <= most:
        return {kind: _show_data(kind, data)}
    cut: dict[str, Any] = {"kind": kind, "bytes": size}
    match kind:
        case "S" | "N":
            cut["start"] = MASKED if is_secret(data) else str(data)[:_START]
        case "B":
            cut["start"] = _show_data(kind, data)[:_START]
        case _:
            cut["members"] = len(data)
            cut["bytes"] = _measure(value, None)
    return {"cut": cut}


def _show_data(kind: str, data: Any) -> Any:
    if is_secret(data):
        return MASKED
    match kind:
        case "B":
            return base64.b64encode(data).decode() if isinstance(data, bytes) else data
        case "BS" | "SS" | "NS":
            return sorted(_show_data(kind[0], each) for each in data)
        case "L":
            return [_show_member(each) for each in data]
        case "M":
            return {name: _show_member(each) for name, each in data.items()}
        case _:
            return data


def _show_member(value: AttributeValue) -> dict[str, Any]:
    ((kind, data),) = value.items()
    return {kind: _show_data(kind, data)}


def _measure(value: AttributeValue, most: int | None) -> int:
    """Return about how many bytes a value has; stops counting beyond `most`."""
    total = 0
    waiting: list[Any] = [value]
    while waiting and (most is None or total <= most):
        ((kind, data),) = waiting.pop().items()
        match kind:
            case "L":
                waiting += data
                total += 3
            case "M":
                waiting += data.values()
                total += 3 + sum(map(len, data))
            case "SS" | "NS" | "BS":
                total += sum(map(len, data))
            case "S" | "N" | "B":
                total += len(data)
            case _:
                total += 1
    return total
