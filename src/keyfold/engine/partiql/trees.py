"""Statements as trees: what a parser makes of the text alone.

`at` is where a node stands, for messages that say so. Named tuples, as the trees of expressions
are, since they take less time to define.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from keyfold.engine.expressions.trees import Steps


class Reference(NamedTuple):
    """An attribute, or a path into one."""

    steps: Steps
    at: str


class Text(NamedTuple):
    """A literal in single quotes."""

    value: str
    at: str


class Number(NamedTuple):
    """A literal number as it is written, its sign included."""

    value: str
    at: str


class Constant(NamedTuple):
    """TRUE, FALSE, NULL or MISSING."""

    value: Literal["true", "false", "null", "missing"]
    at: str


class Ion(NamedTuple):
    """A literal in backticks, which DynamoDB has no use for."""

    value: str
    at: str


class PositionalParameter(NamedTuple):
    """A question mark: the parameter at this place, from 0."""

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
    """A function with its operands; its name in small letters."""

    name: str
    operands: tuple[Expression, ...]
    at: str


class BinaryOperation(NamedTuple):
    """Two operands and what stands between them."""

    operator: str
    left: Expression
    right: Expression
    at: str


class UnaryOperation(NamedTuple):
    """`NOT`, `+` or `-` before an operand that is no literal number."""

    operator: str
    operand: Expression
    at: str


class Between(NamedTuple):
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
    """Something that parses and that DynamoDB then refuses, in these words."""

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
    | Between
    | IsType
    | Logical
    | Unsupported
    | Star
)


# What the service's messages call these nodes; the others go by their class names.
_SERVICE_NAMES: dict[type, str] = {
    PositionalParameter: "Parameter",
    BinaryOperation: "Infix",
    UnaryOperation: "Prefix",
}


def service_name(node: object) -> str:
    """Return the name that the service's messages use for a kind of node."""
    return _SERVICE_NAMES.get(type(node), type(node).__name__)


class StatementSource(NamedTuple):
    """What a statement is about: a table, or an index of it."""

    table: str
    index_name: str | None


class Ordering(NamedTuple):
    """One key of ORDER BY."""

    key: Expression
    is_descending: bool


class SelectStatement(NamedTuple):
    """`SELECT columns FROM source WHERE … ORDER BY …`; no columns are all."""

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
    """A statement, with what is known of it before its table is."""

    statement: Statement
    parameter_count: int
    fault: str | None
    """What DynamoDB does not do though it parses; reported once the table is found."""
