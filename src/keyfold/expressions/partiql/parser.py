"""The parser of statements: from text to trees.

Parsed statements are cached. Syntax errors are raised here. An unsupported feature is recorded as
the statement's `fault` instead, because DynamoDB looks up the table before it reports one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from keyfold.errors import ValidationException
from keyfold.expressions.partiql.expressions import ExpressionParser
from keyfold.expressions.partiql.faults import not_well_formed
from keyfold.expressions.partiql.trees import (
    Assignment,
    Constant,
    DeleteStatement,
    Exists,
    Expression,
    InsertStatement,
    IsType,
    Number,
    Ordering,
    Parsed,
    PositionalParameter,
    Reference,
    Removal,
    Returning,
    SelectStatement,
    Sequence,
    Statement,
    StatementSource,
    Struct,
    Text,
    Unsupported,
    UpdateStatement,
    service_name,
)

CACHED_STATEMENTS = 512

_ALIASING = "Aliasing is not supported"
_JOIN_WORDS = ("join", "cross", "inner", "left", "right", "full", "outer")


@lru_cache(maxsize=CACHED_STATEMENTS)
def parse_statement(text: str) -> Parsed:
    """Parse one statement; raises ValidationException.

    >>> parse_statement("DELETE FROM Music WHERE Artist = ?").parameter_count
    1
    """
    return _StatementParser(text).parse()


class _StatementParser(ExpressionParser):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._fault: str | None = None

    def _note(self, fault: str) -> None:
        self._fault = self._fault or fault

    def parse(self) -> Parsed:
        statement = self._parse_statement()
        self.take_sign(";")
        if self.head.kind != "end":
            raise not_well_formed("Unexpected token after expression")
        if isinstance(statement, Unsupported):
            raise ValidationException(statement.message)
        return Parsed(statement, self.parameter_count, self._fault)

    def _parse_statement(self) -> Statement | Unsupported:
        token = self.head
        if token.kind != "keyword":
            return self._parse_bare()
        match token.value:
            case "select":
                self.take()
                return self._parse_select()
            case "insert":
                return self._parse_insert()
            case "update":
                self.take()
                return self._parse_update()
            case "delete":
                self.take()
                if not self.take_keyword("from"):
                    raise not_well_formed("Expected FROM after DELETE")
                return self._parse_delete()
            case "from":
                self.take()
                return self._parse_from_first()
            case "exists" if self.second.value == "(":
                return self._parse_exists()
            case "create" | "drop":
                return self._parse_definition()
            case _:
                return self._parse_bare()

    def _parse_bare(self) -> Unsupported:
        """Parse an expression that is not part of a statement, which DynamoDB does not support."""
        node = self.parse_expression()
        if isinstance(node, Unsupported):
            return node
        kind = _name_of(node)
        return Unsupported(f"Unsupported operation: {kind}", node.at)

    def _parse_definition(self) -> Unsupported:
        verb = self.take()
        kind = self.take()
        if kind.value not in ("table", "index"):
            raise not_well_formed(f"Unexpected token following {verb.value.upper()}")
        while self.head.kind != "end" and not self.is_sign(";"):
            self.take()
        name = verb.value.capitalize() + kind.value.capitalize()
        return Unsupported(f"Unsupported operation: {name}", verb.at)

    def _parse_exists(self) -> Statement | Unsupported:
        if self._word_after_parenthesis() != "select":
            return self._parse_bare()
        self.take()
        self.take()
        self.take()
        select = self._parse_select()
        self.expect_sign(")")
        return Exists(select)

    def _word_after_parenthesis(self) -> str:
        return self._tokens[min(self._place + 2, len(self._tokens) - 1)].value

    def _parse_select(self) -> SelectStatement:
        if self.take_keyword("distinct"):
            self._note("Unsupported token in expression: DISTINCT")
        self.take_keyword("all")
        columns: tuple[Expression, ...] | None = None
        if self.take_keyword("value"):
            self.parse_expression()
            self._note("Select projection doesn't support value or pivot keywords")
        else:
            columns = self._parse_columns()
        if not self.take_keyword("from"):
            raise not_well_formed("Expected FROM after SELECT list")
        source = self._parse_source()
        where = self._parse_where()
        order = self._parse_order()
        self._parse_unsupported_clauses()
        return SelectStatement(source, columns, where, order)

    def _parse_columns(self) -> tuple[Expression, ...] | None:
        columns: list[Expression] = []
        stars = 0
        while True:
            if self.is_operator("*"):
                self.take()
                stars += 1
            else:
                column = self.parse_expression()
                if isinstance(column, Unsupported) and column.message.startswith("Unpivot"):
                    message = "Changing item's hierarchy while reading isn't supported"
                    column = Unsupported(message, column.at)
                columns.append(column)
                self._parse_alias()
            if not self.take_sign(","):
                break
        if stars and len(columns) + stars > 1:
            raise not_well_formed(
                "Other expressions may not be present in the select list "
                "when '*' is used without dot notation."
            )
        return None if stars else tuple(columns)

    def _parse_alias(self) -> None:
        has_as = self.take_keyword("as")
        if self.head.kind in ("identifier", "quoted"):
            self.take()
            self._note(_ALIASING)
        elif has_as:
            raise not_well_formed("Expected identifier for AS-alias")

    def _parse_source(self) -> StatementSource:
        source = self._to_source(self.parse_expression())
        self._parse_alias()
        while self.is_sign(",") or self.is_keyword(*_JOIN_WORDS):
            while self.is_keyword(*_JOIN_WORDS):
                self.take()
            self.take_sign(",")
            self.parse_expression()
            self._parse_alias()
            if self.take_keyword("on"):
                self.parse_expression()
            self._note("Only select from a single table or index is supported.")
        return source

    def _to_source(self, node: Expression) -> StatementSource:
        if not isinstance(node, Reference) or any(isinstance(step, int) for step in node.steps):
            raise ValidationException("Unexpected from source")
        table, *rest = map(str, node.steps)
        if len(rest) > 1:
            raise ValidationException("A path may contain at most 2 components in the FROM clause")
        return StatementSource(table, rest[0] if rest else None)

    def _parse_where(self) -> Expression | None:
        return self.parse_expression() if self.take_keyword("where") else None

    def _parse_order(self) -> tuple[Ordering, ...]:
        if not self.take_keyword("order"):
            return ()
        if not self.take_keyword("by"):
            raise not_well_formed("Expected BY")
        order: list[Ordering] = []
        while True:
            key = self.parse_expression()
            is_descending = self.is_keyword("desc")
            if self.is_keyword("asc", "desc"):
                self.take()
            order.append(Ordering(key, is_descending))
            if not self.take_sign(","):
                return tuple(order)

    def _parse_unsupported_clauses(self) -> None:
        if self.take_keyword("group"):
            self.take_keyword("partial")
            if not self.take_keyword("by"):
                raise not_well_formed("Expected BY")
            self.parse_expression()
            while self.take_sign(","):
                self.parse_expression()
            self._note("Unsupported clause: GROUP BY")
        for word in ("having", "limit"):
            if self.take_keyword(word):
                at = self.parse_expression().at
                self._note(f"Unsupported clause: {word.upper()} at {at}")

    def _parse_insert(self) -> InsertStatement:
        if self.second.value != "into":
            raise not_well_formed("Unexpected keyword")
        self.take()
        self.take()
        table, *inner = self.parse_simple_path().steps
        if inner:
            self._note(
                "FROM clause may only contain a single table name in data manipulation statements"
            )
        source = StatementSource(str(table), None)
        if not self.take_keyword("value"):
            item = self.parse_expression()
            self._note("Unsupported operation: InsertOp")
            return InsertStatement(source, item)
        item = self.parse_expression()
        if self.is_keyword("on"):
            raise not_well_formed("invalid ON CONFLICT syntax")
        if self._parse_returning() is not None:
            self._note("RETURNING is not supported in INSERT")
        return InsertStatement(source, item)

    def _parse_target(self) -> StatementSource:
        """Parse the table of an UPDATE or DELETE, and an alias, which is not supported."""
        target = self.parse_simple_path()
        self._parse_alias()
        return self._to_source(target)

    def _parse_update(self) -> UpdateStatement:
        source = self._parse_target()
        changes = self._parse_changes()
        where = self._parse_where()
        return UpdateStatement(source, changes, where, self._parse_returning())

    def _parse_from_first(self) -> UpdateStatement:
        source = self._parse_source()
        where = self._parse_where()
        changes = self._parse_changes()
        return UpdateStatement(source, changes, where, self._parse_returning())

    def _parse_delete(self) -> DeleteStatement:
        source = self._parse_target()
        where = self._parse_where()
        return DeleteStatement(source, where, self._parse_returning())

    def _parse_changes(self) -> tuple[Assignment | Removal, ...]:
        changes: list[Assignment | Removal] = []
        while True:
            if self.take_keyword("set"):
                changes.append(self._parse_assignment())
                while self.take_sign(","):
                    changes.append(self._parse_assignment())
            elif self.take_keyword("remove"):
                changes.append(Removal(self.parse_simple_path()))
            else:
                break
        if not changes:
            raise not_well_formed("Expected data manipulation")
        return tuple(changes)

    def _parse_assignment(self) -> Assignment:
        target = self.parse_simple_path()
        if not self.is_operator("="):
            raise not_well_formed("Expected '='")
        self.take()
        return Assignment(target, self.parse_expression())

    def _parse_returning(self) -> Returning | None:
        if not self.take_keyword("returning"):
            return None
        returning = self._parse_returned()
        while self.take_sign(","):
            self._parse_returned()
            self._note("Invalid syntax with multiple returning elements in RETURNING clause")
        return returning

    def _parse_returned(self) -> Returning:
        extent, age = self.head, self.second
        if extent.value not in ("all", "modified") or age.value not in ("old", "new"):
            raise not_well_formed(
                "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."
            )
        self.take()
        self.take()
        if self.is_operator("*"):
            self.take()
        else:
            self.parse_expression()
            self._note("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
        extents: dict[str, Literal["ALL", "MODIFIED"]] = {"all": "ALL", "modified": "MODIFIED"}
        ages: dict[str, Literal["OLD", "NEW"]] = {"old": "OLD", "new": "NEW"}
        return Returning(extents[extent.value], ages[age.value])


def _name_of(node: Expression) -> str:
    """Return the service's name for an expression that is not part of a statement."""
    match node:
        case Reference(steps):
            return "VariableReference" if len(steps) == 1 else "Path"
        case Constant() | Number() | Text():
            return "Literal"
        case Sequence():
            return "Seq"
        case IsType() | PositionalParameter() | Struct():
            return service_name(node)
        case _:
            return "NAry"
