"""The expression language: one tree representation, and the code that parses, prints and runs it.

- `trees` has the node classes of conditions, updates, projections and key conditions.
- `lexer` and `parser` turn text into trees; the parsed trees are cached by text.
- `printer` turns trees into text, for requests and for people.
- `placeholders` and `binder` resolve operands against a request's names and values.
- `conditions`, `updates`, `projections`, `key_conditions` and `search_conditions` compile bound
  trees into closures, because they run for every item of a page; `fast_conditions` is the fast
  path for the most common conditions, and takes about a microsecond.
- `legacy` translates the parameters that predate expressions into the same trees.
- `repetition` decides whether an update is idempotent.
- `partiql` parses PartiQL statements; the engine translates them into the same trees.

To add a condition function, add its name to `trees`, a check of its operands to `binder`, and a
closure to `conditions`; type checkers report the places where it is missing.

This package exports what is needed to build and print trees. Import the rest from its module, so
that a program loads only what it uses.
"""

from __future__ import annotations

from keyfold.expressions.printer import Printer, ReadablePrinter, RequestPrinter, readable_value
from keyfold.expressions.repetition import is_repeatable
from keyfold.expressions.trees import (
    Action,
    AddTo,
    And,
    Arithmetic,
    Between,
    Comparator,
    Comparison,
    Condition,
    DeferredValue,
    DeleteFrom,
    FunctionCall,
    FunctionName,
    In,
    Not,
    Operand,
    Or,
    Path,
    Remove,
    SetTo,
    Source,
    Steps,
    Value,
    ValuePlaceholder,
    holds_for_absent_item,
    join_all,
    paths_in,
)

__all__ = [
    "Action",
    "AddTo",
    "And",
    "Arithmetic",
    "Between",
    "Comparator",
    "Comparison",
    "Condition",
    "DeferredValue",
    "DeleteFrom",
    "FunctionCall",
    "FunctionName",
    "In",
    "Not",
    "Operand",
    "Or",
    "Path",
    "Printer",
    "ReadablePrinter",
    "Remove",
    "RequestPrinter",
    "SetTo",
    "Source",
    "Steps",
    "Value",
    "ValuePlaceholder",
    "holds_for_absent_item",
    "is_repeatable",
    "join_all",
    "paths_in",
    "readable_value",
]
