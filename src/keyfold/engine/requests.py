"""What requests say, for those who look at them before the engine does, such as a server's gate.

These are the functions that the operations themselves read their parameters with, so that nobody
can be told one thing by a request and the engine another.
"""

from __future__ import annotations

from keyfold.engine._parameters import (
    check_expression_use,
    check_old_or_none,
    read_placeholders,
    read_projection,
    read_query,
    read_scan,
    read_update,
    read_update_expressions,
)
from keyfold.engine._selection import check_select

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
