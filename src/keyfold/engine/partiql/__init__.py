"""PartiQL statements as reads and writes of the engine.

`keyfold.expressions.partiql` parses a statement. Its conditions and changes are translated into
the trees of `keyfold.expressions` (`translation`), which makes it a read or a write like any other
(`access`, `reading`, `writing`). Nothing is evaluated here.
"""

from __future__ import annotations

from keyfold.engine.partiql.reading import (
    ExistsCheck,
    SingleRead,
    plan_check,
    plan_single_read,
    read_page_of,
)
from keyfold.engine.partiql.writing import DUPLICATE, WritePlan, plan_write

__all__ = [
    "DUPLICATE",
    "ExistsCheck",
    "SingleRead",
    "WritePlan",
    "plan_check",
    "plan_single_read",
    "plan_write",
    "read_page_of",
]
