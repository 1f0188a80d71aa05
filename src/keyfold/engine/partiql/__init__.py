"""PartiQL statements, as ExecuteStatement and its batch and transaction variants take them.

A statement is parsed into a tree (`lexer`, `expressions`, `parser`). Its conditions and changes
are translated into the trees of `keyfold.expressions` (`values`, `translation`), which makes it a
read or a write like any other (`access`, `reading`, `writing`). Nothing is evaluated here.
"""

from __future__ import annotations

from keyfold.engine.partiql.reading import (
    ExistsCheck,
    SingleRead,
    plan_check,
    plan_single_read,
    read_page_of,
)
from keyfold.engine.partiql.statements import Prepared, parse_with, prepare
from keyfold.engine.partiql.trees import (
    DeleteStatement,
    Exists,
    InsertStatement,
    SelectStatement,
    UpdateStatement,
)
from keyfold.engine.partiql.values import read_parameters
from keyfold.engine.partiql.writing import DUPLICATE, WritePlan, plan_write

__all__ = [
    "DUPLICATE",
    "DeleteStatement",
    "Exists",
    "ExistsCheck",
    "InsertStatement",
    "Prepared",
    "SelectStatement",
    "SingleRead",
    "UpdateStatement",
    "WritePlan",
    "parse_with",
    "plan_check",
    "plan_single_read",
    "plan_write",
    "prepare",
    "read_page_of",
    "read_parameters",
]
