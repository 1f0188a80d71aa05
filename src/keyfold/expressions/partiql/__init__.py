"""The syntax of PartiQL statements, as ExecuteStatement and its batch and transaction variants take them.

A statement is parsed into a tree (`lexer`, `expressions`, `parser`), and its parameters into
attribute values (`values`). What it reads or writes is the engine's business.
"""

from __future__ import annotations

from keyfold.expressions.partiql.statements import Prepared, parse_with, prepare
from keyfold.expressions.partiql.trees import (
    DeleteStatement,
    Exists,
    InsertStatement,
    SelectStatement,
    UpdateStatement,
)
from keyfold.expressions.partiql.values import read_parameters

__all__ = [
    "DeleteStatement",
    "Exists",
    "InsertStatement",
    "Prepared",
    "SelectStatement",
    "UpdateStatement",
    "parse_with",
    "prepare",
    "read_parameters",
]
