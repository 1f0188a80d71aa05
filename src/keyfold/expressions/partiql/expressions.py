"""The grammar of PartiQL's expressions: operands, operators and their precedence.

The whole operator grammar of the language is here, including operators that DynamoDB does not
support: its error for an unsupported operator differs from that for a syntax error.
"""

from __future__ import annotations

from keyfold.errors import ValidationException
from keyfold.expressions.partiql.faults import not_well_formed
from keyfold.expressions.partiql.lexer import Token, read_tokens
from keyfold.expressions.partiql.trees import (
    BetweenOperation,
    BinaryOperation,
    Constant,
    Expression,
    Function,
    Ion,
    IsType,
    Logical,
    Number,
    PositionalParameter,
    Reference,
    Sequence,
    Star,
    Struct,
    Text,
    UnaryOperation,
    Unsupported,
)
from keyfold.expressions.trees import Steps

# Deeper than any item may be nested, and well within Python's recursion limit.
MAX_DEPTH = 90
MAX_LIST_INDEX = 2**31 - 1

_OR, _AND, _NOT, _EQUALITY, _COMPARISON, _SUM, _PRODUCT = 10, 20, 30, 40, 50, 60, 70
_PRECEDENCE = {
    "or": _OR,
    "and": _AND,
    "=": _EQUALITY,
    "<>": _EQUALITY,
    "is": _EQUALITY,
    "in": _EQUALITY,
    "<": _COMPARISON,
    "<=": _COMPARISON,
    ">": _COMPARISON,
    ">=": _COMPARISON,
    "between": _COMPARISON,
    "like": _COMPARISON,
    "+": _SUM,
    "-": _SUM,
    "||": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "%": _PRODUCT,
    "union": 5,
    "except": 5,
    "intersect": 5,
}
_NEGATABLE = frozenset({"in", "between", "like"})
# Keywords that are function names when followed by a parenthesis.
_FUNCTION_KEYWORDS = frozenset(
    """
    exists count avg max min sum substring char_length character_length octet_length bit_length
    upper lower size sexp list bag coalesce nullif trim extract date_add date_diff
    """.split()  # noqa: SIM905 - easier to read than a line for each
)
_TYPES = {
    "missing": "MISSING",
    "null": "NULL",
    "boolean": "BOOLEAN",
    "bool": "BOOLEAN",
    "smallint": "SMALLINT",
    "integer2": "SMALLINT",
    "int2": "SMALLINT",
    "integer4": "INTEGER4",
    "int4": "INTEGER4",
    "integer8": "INTEGER8",
    "int8": "INTEGER8",
    "bigint": "INTEGER8",
    "integer": "INTEGER",
    "int": "INTEGER",
    "float": "FLOAT",
    "real": "REAL",
    "double": "DOUBLE_PRECISION",
    "decimal": "DECIMAL",
    "dec": "DECIMAL",
    "numeric": "NUMERIC",
    "timestamp": "TIMESTAMP",
    "date": "DATE",
    "time": "TIME",
    "character": "CHARACTER",
    "char": "CHARACTER",
    "varchar": "CHARACTER_VARYING",
    "string": "STRING",
    "symbol": "SYMBOL",
    "clob": "CLOB",
    "blob": "BLOB",
    "struct": "STRUCT",
    "tuple": "TUPLE",
    "list": "LIST",
    "sexp": "SEXP",
    "bag": "BAG",
}
_SIGN_NAMES = {
    ")": "RIGHT_PAREN",
    "]": "RIGHT_BRACKET",
    "}": "RIGHT_CURLY",
    ">>": "RIGHT_DOUBLE_ANGLE_BRACKET",
    "(": "LEFT_PAREN",
    ":": "COLON",
}
_CONSTANTS = frozenset({"true", "false", "null", "missing"})


class ExpressionParser:
    """Parses the expressions of one statement from its tokens, left to right."""

    def __init__(self, text: str) -> None:
        self._tokens = read_tokens(text)
        self._place = 0
        self._depth = 0
        self.parameter_count: int = 0

    @property
    def head(self) -> Token:
        """The next token."""
        return self._tokens[self._place]

    @property
    def second(self) -> Token:
        """The token after the next one; the end token if there is none."""
        return self._tokens[min(self._place + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and advance past it, unless it is the end token."""
        token = self.head
        if token.kind != "end":
            self._place += 1
        return token

    def is_keyword(self, *words: str) -> bool:
        """Return whether the next token is one of these keywords."""
        return self.head.kind == "keyword" and self.head.value in words

    def take_keyword(self, word: str) -> bool:
        """Take the next token if it is this keyword; return whether it was."""
        found = self.is_keyword(word)
        if found:
            self.take()
        return found

    def is_sign(self, sign: str) -> bool:
        """Return whether the next token is this punctuation mark."""
        return self.head.kind == "sign" and self.head.value == sign

    def take_sign(self, sign: str) -> bool:
        """Take the next token if it is this punctuation mark; return whether it was."""
        found = self.is_sign(sign)
        if found:
            self.take()
        return found

    def expect_sign(self, sign: str) -> None:
        """Take this punctuation mark; raises ValidationException if the next token is another."""
        if not self.take_sign(sign):
            raise not_well_formed(f"Expected {_SIGN_NAMES[sign]}")

    def is_operator(self, text: str) -> bool:
        """Return whether the next token is this operator."""
        return self.head.kind == "operator" and self.head.value == text

    def parse_expression(self, least: int = 0) -> Expression:
        """Parse an expression whose operators have a higher precedence than `least`."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise not_well_formed()
        left = self._parse_unary()
        chained = 0
        while True:
            operator = self._infix_operator()
            precedence = _PRECEDENCE.get(operator, -1)
            if precedence <= least:
                break
            # A chain of ANDs or of ORs makes one node; other operators nest to the left.
            chained += operator not in ("and", "or")
            if chained > MAX_DEPTH:
                raise not_well_formed()
            left = self._parse_infix(operator, precedence, left)
        self._depth -= 1
        return left

    def _infix_operator(self) -> str:
        """Return the next infix operator, without its NOT; an empty string if there is none."""
        if self.head.kind != "operator":
            return ""
        if self.head.value == "not":
            following = self.second
            is_negated = following.kind == "operator" and following.value in _NEGATABLE
            return following.value if is_negated else ""
        return self.head.value

    def _parse_infix(self, operator: str, precedence: int, left: Expression) -> Expression:
        is_negated = self.is_operator("not")
        if is_negated:
            self.take()
        token = self.take()
        if self.head.kind == "end":
            raise not_well_formed("Missing right-hand side expression of infix operator")
        node: Expression
        match operator:
            case "between":
                low = self.parse_expression(precedence)
                if not self.is_operator("and"):
                    raise not_well_formed("Expected AND after BETWEEN")
                self.take()
                node = BetweenOperation(left, low, self.parse_expression(precedence), token.at)
            case "is":
                if self.is_operator("not"):
                    self.take()
                    is_negated = True
                node = IsType(left, self._parse_type(), token.at)
            case "in" if self.is_sign("("):
                opening = self.take()
                members = self._parse_members(")")
                node = BinaryOperation("in", left, Sequence("list", members, opening.at), token.at)
            case "and" | "or":
                right = self.parse_expression(precedence)
                before = (left,)
                if isinstance(left, Logical) and left.operator == operator:
                    before = left.conditions
                node = Logical(operator, (*before, right), token.at)
            case _:
                node = BinaryOperation(operator, left, self.parse_expression(precedence), token.at)
        return UnaryOperation("not", node, token.at) if is_negated else node

    def _parse_type(self) -> str:
        # Some type names are not keywords, and may name attributes elsewhere.
        word = self.head.value.lower() if self.head.kind in ("keyword", "identifier") else ""
        name = _TYPES.get(word)
        if name is None:
            raise not_well_formed("Expected type name")
        self.take()
        if name == "DOUBLE_PRECISION" and not self.take_keyword("precision"):
            raise not_well_formed("Expected type name")
        if name == "CHARACTER" and self.take_keyword("varying"):
            name = "CHARACTER_VARYING"
        if self.take_sign("("):
            self._parse_members(")")
        return name

    def _parse_unary(self) -> Expression:
        token = self.head
        if token.kind != "operator" or token.value not in ("+", "-", "not"):
            return self.parse_path()
        self.take()
        if token.value == "not":
            return UnaryOperation("not", self.parse_expression(_NOT), token.at)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise not_well_formed()
        operand = self._parse_unary()
        self._depth -= 1
        if not isinstance(operand, Number):
            return UnaryOperation(token.value, operand, token.at)
        if token.value == "+":
            return operand
        digits = operand.value
        return Number(digits[1:] if digits[0] == "-" else f"-{digits}", operand.at)

    def parse_path(self) -> Expression:
        """Parse an operand, and the path that follows it, if any."""
        term = self._parse_term()
        if not (self.is_sign(".") or self.is_sign("[")):
            return term
        steps, unsupported = self.parse_steps()
        if unsupported is not None:
            return unsupported
        if not isinstance(term, Reference):
            return Unsupported(f"Unexpected path component at {term.at}", term.at)
        return Reference((*term.steps, *steps), term.at)

    def parse_steps(self) -> tuple[Steps, Unsupported | None]:
        """Parse the rest of a path; also return the first step that DynamoDB does not support."""
        steps: list[str | int] = []
        unsupported: Unsupported | None = None
        while True:
            if self.take_sign("."):
                token = self.take()
                if token.kind in ("identifier", "quoted"):
                    steps.append(_check_name(token.value))
                elif token.kind == "operator" and token.value == "*":
                    message = "Unpivot path component like a.*.b are not supported"
                    unsupported = unsupported or Unsupported(f"{message} at {token.at}", token.at)
                else:
                    raise not_well_formed("Invalid path dot component")
            elif self.take_sign("["):
                if self.is_operator("*"):
                    raise not_well_formed("Invalid use of * in select list")
                inner = self.parse_expression()
                self.expect_sign("]")
                step = _to_step(inner)
                if isinstance(step, Unsupported):
                    unsupported = unsupported or step
                else:
                    steps.append(step)
            else:
                return tuple(steps), unsupported

    def parse_simple_path(self) -> Reference:
        """Parse a path that starts with a name: a table, or an attribute to change."""
        token = self.head
        if token.kind not in ("identifier", "quoted"):
            raise not_well_formed("Expected identifier for simple path")
        self.take()
        steps, unsupported = self.parse_steps()
        if unsupported is not None:
            raise ValidationException(unsupported.message)
        return Reference((_check_name(token.value), *steps), token.at)

    def _parse_term(self) -> Expression:
        token = self.head
        match token.kind:
            case "identifier" | "quoted":
                self.take()
                if token.kind == "identifier" and self.is_sign("("):
                    return self._parse_call(token)
                return Reference((_check_name(token.value),), token.at)
            case "text":
                return Text(self.take().value, token.at)
            case "number":
                return Number(self.take().value, token.at)
            case "ion":
                return Ion(self.take().value, token.at)
            case "keyword":
                return self._parse_keyword(token)
            case "operator":
                if token.value == "@" and self.second.kind in ("identifier", "quoted"):
                    self.take()
                    return self._parse_term()
                raise not_well_formed("Unexpected operator")
            case _:
                return self._parse_bracketed(token)

    def _parse_keyword(self, token: Token) -> Expression:
        word = token.value
        if word in _CONSTANTS:
            self.take()
            return Constant(word, token.at)  # pyright: ignore[reportArgumentType] - one of the four
        if word in _FUNCTION_KEYWORDS and self.second.value == "(":
            self.take()
            return self._parse_call(token)
        if word in ("case", "cast"):
            return self._skip_unsupported(token)
        if word == "from":
            raise not_well_formed("Expected data manipulation")
        if word == "values":
            raise not_well_formed("Expected LEFT_PAREN for row value constructor")
        raise not_well_formed("Unexpected keyword")

    def _skip_unsupported(self, token: Token) -> Expression:
        """Parse CASE … END or CAST(… AS …), neither of which DynamoDB supports."""
        self.take()
        at = token.at if token.value == "case" else self.head.at
        shown = "CASE" if token.value == "case" else "cast"
        message = f"Unsupported token in expression: {shown} at {at}"
        if token.value == "cast":
            self.expect_sign("(")
            self.parse_expression()
            if not self.take_keyword("as"):
                raise not_well_formed("Expected AS")
            self._parse_type()
            self.expect_sign(")")
            return Unsupported(message, token.at)
        while not self.take_keyword("end"):
            if self.is_keyword("when", "then", "else"):
                self.take()
            self.parse_expression()
        return Unsupported(message, token.at)

    def _parse_call(self, name: Token) -> Expression:
        self.take()
        if self.is_operator("*"):
            star = self.take()
            self.expect_sign(")")
            return Function(name.value.lower(), (Star(star.at),), name.at)
        return Function(name.value.lower(), self._parse_members(")"), name.at)

    def _parse_members(self, closing: str) -> tuple[Expression, ...]:
        """Parse expressions separated by commas, and the closing mark."""
        if self.take_sign(closing):
            return ()
        members = [self.parse_expression()]
        while self.take_sign(","):
            members.append(self.parse_expression())
        self.expect_sign(closing)
        return tuple(members)

    def _parse_bracketed(self, token: Token) -> Expression:
        match token.value:
            case "(":
                self.take()
                members = self._parse_members(")")
                if not members:
                    raise not_well_formed("Expression group cannot be empty")
                return members[0] if len(members) == 1 else Sequence("list", members, token.at)
            case "[":
                self.take()
                return Sequence("list", self._parse_members("]"), token.at)
            case "<<":
                self.take()
                return Sequence("bag", self._parse_members(">>"), token.at)
            case "{":
                self.take()
                return self._parse_struct(token)
            case "?":
                self.take()
                self.parameter_count += 1
                return PositionalParameter(self.parameter_count - 1, token.at)
            case _:
                raise not_well_formed("Unexpected term")

    def _parse_struct(self, token: Token) -> Expression:
        pairs: list[tuple[Expression, Expression]] = []
        if not self.take_sign("}"):
            while True:
                name = self.parse_expression()
                self.expect_sign(":")
                pairs.append((name, self.parse_expression()))
                if not self.take_sign(","):
                    break
            self.expect_sign("}")
        return Struct(tuple(pairs), token.at)


def _to_step(inner: Expression) -> str | int | Unsupported:
    match inner:
        case Text(value) | Reference((str(value),)):
            return _check_name(value)
        case Number(value, at) if value.lstrip("-").isdigit():
            position = int(value)
            if 0 <= position <= MAX_LIST_INDEX:
                return position
            message = "List index is not within the allowable range"
            return Unsupported(f"{message}; index: [{position}] at {at}", at)
        case _:
            return Unsupported(f"Unexpected path component at {inner.at}", inner.at)


def _check_name(name: str) -> str:
    if not name:
        raise ValidationException("Path component cannot be an empty string")
    return name
