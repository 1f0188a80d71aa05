"""Syntax trees of statements.

`at` is the position of a node, for messages that name it. Nodes are named tuples, like those of
expressions, because they take less time to define than dataclasses.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from keyfold.expressions.trees import Steps


class Reference(NamedTuple):
    """An attribute, or a path into one."""

    steps: Steps
    at: str


class Text(NamedTuple):
    """A string literal, in single quotes."""

    value: str
    at: str


class Number(NamedTuple):
    """A number literal as it is written, including its sign."""

    value: str
    at: str


class Constant(NamedTuple):
    """TRUE, FALSE, NULL or MISSING."""

    value: Literal["true", "false", "null", "missing"]
    at: str


class Ion(NamedTuple):
    """An Ion literal, in backticks, which DynamoDB does not support."""

    value: str
    at: str


class PositionalParameter(NamedTuple):
    """A question mark; `place` is the zero-based position of its parameter."""

    place: int
    at: str


class Sequence(NamedTuple):
    """A list `[…]` or `(…, …)`, or a bag `<<…>>`."""

    kind: Literal["list", "bag"]
    members: tuple[Expression, ...]
    at: str


class Struct(NamedTuple):
    """`{'name': value, …}`."""

    pairs: tuple[tuple[Expression, Expression], ...]
    at: str


class Function(NamedTuple):
    """A function with its operands; the name is in lower case."""

    name: str
    operands: tuple[Expression, ...]
    at: str


class BinaryOperation(NamedTuple):
    """Two operands and the operator between them."""

    operator: str
    left: Expression
    right: Expression
    at: str


class UnaryOperation(NamedTuple):
    """`NOT`, `+` or `-` before an operand that is not a number literal."""

    operator: str
    operand: Expression
    at: str


class BetweenOperation(NamedTuple):
    """`value BETWEEN low AND high`."""

    value: Expression
    low: Expression
    high: Expression
    at: str


class IsType(NamedTuple):
    """`operand IS type`."""

    operand: Expression
    type: str
    at: str


class Logical(NamedTuple):
    """Two or more conditions joined by AND, or by OR."""

    operator: Literal["and", "or"]
    conditions: tuple[Expression, ...]
    at: str


class Unsupported(NamedTuple):
    """An expression that parses but that DynamoDB does not support; `message` is its error."""

    message: str
    at: str


class Star(NamedTuple):
    """The `*` of a projection or of COUNT(*)."""

    at: str


Expression = (
    Reference
    | Text
    | Number
    | Constant
    | Ion
    | PositionalParameter
    | Sequence
    | Struct
    | Function
    | BinaryOperation
    | UnaryOperation
    | BetweenOperation
    | IsType
    | Logical
    | Unsupported
    | Star
)


# The names of these nodes in the service's messages; for the others it is the class name.
_SERVICE_NAMES: dict[type, str] = {
    PositionalParameter: "Parameter",
    BinaryOperation: "Infix",
    UnaryOperation: "Prefix",
}


def service_name(node: object) -> str:
    """Return the name that the service's messages use for a kind of node."""
    return _SERVICE_NAMES.get(type(node), type(node).__name__)


class StatementSource(NamedTuple):
    """The table that a statement reads or writes, or an index of it."""

    table: str
    index_name: str | None


class Ordering(NamedTuple):
    """One key of ORDER BY."""

    key: Expression
    is_descending: bool


class SelectStatement(NamedTuple):
    """`SELECT columns FROM source WHERE … ORDER BY …`; `columns` is None for all."""

    source: StatementSource
    columns: tuple[Expression, ...] | None
    where: Expression | None
    order: tuple[Ordering, ...]


class InsertStatement(NamedTuple):
    """`INSERT INTO table VALUE {…}`."""

    source: StatementSource
    item: Expression


class Assignment(NamedTuple):
    """`SET path = value`."""

    target: Reference
    value: Expression


class Removal(NamedTuple):
    """`REMOVE path`."""

    target: Reference


class Returning(NamedTuple):
    """`RETURNING extent age *`."""

    extent: Literal["ALL", "MODIFIED"]
    age: Literal["OLD", "NEW"]


class UpdateStatement(NamedTuple):
    """`UPDATE table SET … REMOVE … WHERE … RETURNING …`, or the same with FROM first."""

    source: StatementSource
    changes: tuple[Assignment | Removal, ...]
    where: Expression | None
    returning: Returning | None


class DeleteStatement(NamedTuple):
    """`DELETE FROM table WHERE … RETURNING …`."""

    source: StatementSource
    where: Expression | None
    returning: Returning | None


class Exists(NamedTuple):
    """`EXISTS(SELECT …)`, the condition of a transaction."""

    select: SelectStatement


Statement = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement | Exists


class Parsed(NamedTuple):
    """A statement as parsed, before its table is looked up."""

    statement: Statement
    parameter_count: int
    fault: str | None
    """The message for an unsupported feature, which is reported once the table is found."""
