"""Parsing of requests for code that inspects them before the engine does, such as a server's gate.

The engine's operations read their parameters with the same functions, so that an inspection and
the engine cannot interpret a request differently.
"""

from __future__ import annotations

from keyfold.engine.items.parameters import (
    check_expression_use,
    check_old_or_none,
    read_placeholders,
    read_projection,
    read_query,
    read_scan,
    read_update,
    read_update_expressions,
)
from keyfold.engine.items.selection import check_select

__all__ = [
    "check_expression_use",
    "check_old_or_none",
    "check_select",
    "read_placeholders",
    "read_projection",
    "read_query",
    "read_scan",
    "read_update",
    "read_update_expressions",
]
