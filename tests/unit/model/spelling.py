"""Expressions with names and values in place of their placeholders."""

from __future__ import annotations

import re
from typing import Any

_PLACEHOLDER = re.compile(r"[#:][0-9]+")


def spell(request: dict[str, Any], expression: str) -> str:
    """Return an expression of a request with its placeholders replaced by names and values."""
    names: dict[str, str] = request.get("ExpressionAttributeNames", {})
    values: dict[str, Any] = request.get("ExpressionAttributeValues", {})

    def replace(found: re.Match[str]) -> str:
        if found[0] in names:
            return names[found[0]]
        ((kind, data),) = values[found[0]].items()
        return str(data) if kind in ("S", "N") else f"{kind}:{data}"

    return _PLACEHOLDER.sub(replace, request[expression])
