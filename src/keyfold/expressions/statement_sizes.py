"""The size of an update expression, which UpdateItem limits like that of an item.

UpdateItem counts what a statement writes, and something for each of its clauses, instead of the item
that results: the key and other attributes of the item are not counted, the operands of functions are.
The numbers were measured on AWS; see the cases of UpdateItem for their source.
"""

from __future__ import annotations

from typing import assert_never

from keyfold.expressions.placeholders import Placeholders
from keyfold.expressions.trees import (
    Action,
    AddTo,
    Arithmetic,
    DeferredValue,
    DeleteFrom,
    FunctionCall,
    Path,
    Remove,
    SetTo,
    Source,
    Steps,
    ValuePlaceholder,
)
from keyfold.values import MAX_ITEM_BYTES, text_size_bytes, value_size_bytes

_STATEMENT_BYTES = 3
# Clauses that write a value, and those that remove one.
_WRITE_BYTES = 19
_REMOVE_BYTES = 1
# Paths: as an operand, for each of its elements, and for each element of a target after the first.
_OPERAND_BYTES = 1
_ELEMENT_BYTES = 14
_INNER_BYTES = 4
_OPERATOR_BYTES = {"+": 34, "-": 37, "if_not_exists": 39, "list_append": 37}
# No character of an expression stands for more than this and all of the names and values.
_CHARACTER_BYTES = 64


def may_be_too_large(text: str, placeholders: Placeholders) -> bool:
    """Return False if an update expression is certainly below the limit, by its length alone."""
    most = len(text) * (placeholders.size_bytes + _CHARACTER_BYTES)
    return most + _STATEMENT_BYTES > MAX_ITEM_BYTES


def statement_size_bytes(actions: tuple[Action, ...], placeholders: Placeholders) -> int:
    """Return the size of an update expression.

    >>> from keyfold.expressions.parser import parse_update
    >>> placeholders = Placeholders(None, {":v": {"S": "ten bytes!"}})
    >>> statement_size_bytes(parse_update("SET a = :v REMOVE b"), placeholders)
    35
    """
    return _STATEMENT_BYTES + sum(_clause_bytes(action, placeholders) for action in actions)


def _clause_bytes(action: Action, placeholders: Placeholders) -> int:
    target = _target_bytes(placeholders.resolve(action.path))
    match action:
        case SetTo(_, source) | AddTo(_, source):
            return _WRITE_BYTES + target + _source_bytes(source, placeholders)
        case Remove() | DeleteFrom():
            return _REMOVE_BYTES + target
        case _:
            assert_never(action)


def _target_bytes(steps: Steps) -> int:
    return sum(map(_step_bytes, steps)) + _INNER_BYTES * (len(steps) - 1)


def _step_bytes(step: str | int) -> int:
    return text_size_bytes(step) if isinstance(step, str) else len(str(step))


def _source_bytes(source: Source, placeholders: Placeholders) -> int:
    match source:
        case ValuePlaceholder(name):
            return value_size_bytes(placeholders.value(name))
        case Path():
            steps = placeholders.resolve(source)
            return _OPERAND_BYTES + sum(_ELEMENT_BYTES + _step_bytes(step) for step in steps)
        case Arithmetic(operator, left, right):
            operands = (left, right)
            return _OPERATOR_BYTES[operator] + sum(
                _source_bytes(each, placeholders) for each in operands
            )
        case FunctionCall(function, operands):
            return _OPERATOR_BYTES[function] + sum(
                _source_bytes(each, placeholders) for each in operands
            )
        case dict():
            return value_size_bytes(source)
        case DeferredValue():
            raise AssertionError("the printer has resolved deferred values")
        case _:
            assert_never(source)
