"""Lets all calls report the capacity that they consume, whether callers request it or not."""

from __future__ import annotations

from typing import Any

from keyfold.api import names_where

_PARAMETER = "ReturnConsumedCapacity"

_METERED = names_where(lambda each: each.is_metered)


def ask_for_capacity(operation: str, request: Any) -> bool:
    """Let a request report its capacity; return whether to hide it, since the caller did not ask."""
    if (
        operation not in _METERED
        or request.__class__ is not dict
        or request.get(_PARAMETER, "NONE") != "NONE"
    ):
        return False
    request[_PARAMETER] = "TOTAL"
    return True
