"""The expression language: one tree, and everything that reads or writes it.

- `trees` has the classes that conditions, updates, projections and key conditions are made of.
- `lexer` and `parser` make trees from text; each text is parsed once and kept.
- `printer` makes text from trees, for requests and for people.
- `placeholders` and `binder` resolve operands against a request's names and values.
- `conditions`, `updates`, `projections`, `key_conditions` and `search_conditions` compile bound
  trees into closures, since they run for every item of a page; `fast_conditions` does the same
  for the commonest conditions in a microsecond.
- `legacy` translates the parameters that came before expressions into the same trees.
- `repetition` says whether an update may be run twice.

A new condition function is a name in `trees`, a check of its operands in `binder`, and a
closure in `conditions`; type checkers point at the places that lack it.

This package exports what is needed to build and print trees. The rest is imported from its
module, so that a program pays only for what it uses.
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
