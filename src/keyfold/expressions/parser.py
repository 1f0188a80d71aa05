"""Parsers of conditions, projections and updates: from text to trees.

Results are cached by text. All faults that the text alone shows are reported here, in the
service's order: syntax errors and redundant parentheses, whichever comes first, and only then the
leftmost reserved word, unknown function or other static fault.

Parentheses and calls are kept on explicit stacks: an expression of 4 KB may open four
thousand of them, and must get the service's error, not a RecursionError.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, cast

from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.lexer import END, Tokens
from keyfold.expressions.reserved_words import is_reserved
from keyfold.expressions.trees import (
    COMPARATORS,
    PREDICATES,
    UPDATE_FUNCTIONS,
    Action,
    AddTo,
    And,
    Arithmetic,
    Between,
    Comparison,
    Condition,
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
    ValuePlaceholder,
)

MAX_LIST_INDEX: Final = 2**31 - 1
MAX_OPERATORS: Final = 300
CACHED_EXPRESSIONS: Final = 1024

_CONDITION_FUNCTIONS = frozenset({*PREDICATES, "size"})


class ParsedCondition(NamedTuple):
    """A parsed condition, with the facts that binding needs."""

    condition: Condition
    operator_count: int
    """The number of operators and functions in it."""
    has_placeholders: bool


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def parse_condition(text: str) -> ParsedCondition:
    """Parse a condition, filter or key condition; raises ExpressionFault."""
    return _ConditionParser(text).parse()


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def parse_projection(text: str) -> tuple[Path, ...]:
    """Parse a list of paths; raises ExpressionFault."""
    return _ProjectionParser(text).parse()


@lru_cache(maxsize=CACHED_EXPRESSIONS)
def parse_update(text: str) -> tuple[Action, ...]:
    """Parse the sections of an update into actions in the order written; raises ExpressionFault."""
    return _UpdateParser(text).parse()


_COMPARISON_OPERATORS = frozenset(COMPARATORS) | {"BETWEEN", "IN"}


def _redundant_parentheses() -> ExpressionFault:
    return ExpressionFault("The expression has redundant parentheses;")


@dataclass(slots=True)
class _OpenOperand:
    """A parenthesis or a call that is not closed yet."""

    function: str | None
    operands: list[Operand] = field(default_factory=list[Operand])


class _GrammarParser:
    """The base of the parsers: paths, operands, and the first static fault."""

    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.operator_count: int = 0
        self._faults: list[tuple[int, str]] = []

    def finish(self) -> None:
        """Raise the leftmost static fault, if any, once the syntax is known to be valid."""
        if self._faults:
            raise ExpressionFault(min(self._faults)[1])

    def note_fault(self, position: int, detail: str) -> None:
        """Record a fault that the service reports only if the syntax is valid throughout."""
        self._faults.append((position, detail))

    def parse_path(self) -> Path:
        steps: list[str | int] = []
        has_placeholders = False
        while True:
            position = self.tokens.position
            if self.tokens.kind == "name":
                steps.append(self.tokens.take())
                has_placeholders = True
            else:
                name = self.tokens.expect("word")
                if is_reserved(name):
                    self.note_fault(
                        position,
                        f"Attribute name is a reserved keyword; reserved keyword: {name}",
                    )
                steps.append(name)
            self._parse_indexes(steps)
            if not self.tokens.take_if("."):
                return Path(tuple(steps), has_placeholders)

    def _parse_indexes(self, steps: list[str | int]) -> None:
        while self.tokens.take_if("["):
            position = self.tokens.position
            index = int(self.tokens.expect("index"))
            if index > MAX_LIST_INDEX:
                self.note_fault(
                    position, f"List index is not within the allowable range; index: [{index}]"
                )
            steps.append(index)
            self.tokens.expect("]")

    def parse_operand(self, check_function: Callable[[str, int, bool], None]) -> Operand:
        """Parse an operand, with the parentheses and calls around and inside it.

        `check_function` gets a function's name, its position, and whether the call is itself an
        operand of a function.
        """
        tokens = self.tokens
        pending: list[_OpenOperand] = []
        while True:
            operand: Operand
            match tokens.kind:
                case "(":
                    tokens.take()
                    pending.append(_OpenOperand(None))
                    continue
                case "word" if tokens.is_followed_by("("):
                    position = tokens.position
                    function = tokens.take()
                    inside = any(opened.function for opened in pending)
                    check_function(function, position, inside)
                    self.operator_count += 1
                    tokens.take()
                    pending.append(_OpenOperand(function))
                    continue
                case "value":
                    operand = ValuePlaceholder(tokens.take())
                case _:
                    operand = self.parse_path()
            grouped = False
            while pending:
                opened = pending[-1]
                opened.operands.append(operand)
                if opened.function is not None and tokens.take_if(","):
                    break
                tokens.expect(")")
                pending.pop()
                if opened.function is None:
                    if grouped:
                        raise _redundant_parentheses()
                    grouped = True
                else:
                    # An unknown name has been recorded as a fault, so this tree is never returned.
                    function_name = cast("FunctionName", opened.function)
                    operand = FunctionCall(function_name, tuple(opened.operands))
                    grouped = False
            else:
                return operand


@dataclass(slots=True)
class _OpenCondition:
    """The conditions read so far in one pair of parentheses, or at the top level."""

    alternatives: list[Condition] = field(default_factory=list[Condition])
    conjuncts: list[Condition] = field(default_factory=list[Condition])
    negations: int = 0

    def is_empty(self) -> bool:
        return not (self.alternatives or self.conjuncts or self.negations)

    def add(self, condition: Condition) -> None:
        for _ in range(self.negations):
            condition = Not(condition)
        self.negations = 0
        self.conjuncts.append(condition)

    def start_alternative(self) -> None:
        conjuncts = self.conjuncts
        self.alternatives.append(conjuncts[0] if len(conjuncts) == 1 else And(tuple(conjuncts)))
        self.conjuncts = []

    def close(self) -> Condition:
        self.start_alternative()
        alternatives = self.alternatives
        return alternatives[0] if len(alternatives) == 1 else Or(tuple(alternatives))


class _ConditionParser(_GrammarParser):
    def parse(self) -> ParsedCondition:
        condition = self._parse_condition()
        self.finish()
        return ParsedCondition(condition, self.operator_count, self.tokens.have_placeholders())

    def _parse_condition(self) -> Condition:
        tokens = self.tokens
        outer: list[_OpenCondition] = []
        current = _OpenCondition()
        while True:
            if tokens.take_if("NOT"):
                current.negations += 1
                self.operator_count += 1
                continue
            if tokens.take_if("("):
                outer.append(current)
                current = _OpenCondition()
                continue
            start = tokens.position
            node: Operand | Condition = self.parse_operand(self._check_function)
            is_operand, grouped, redundant = True, False, False
            # A parenthesis may turn out to contain an operand: (size(a)) > :n.
            while True:
                if is_operand:
                    if redundant and tokens.kind in _COMPARISON_OPERATORS:
                        raise _redundant_parentheses()
                    compared = self._parse_comparison(node, start)  # pyright: ignore[reportArgumentType] - is_operand is true
                    if compared is not None:
                        node, is_operand, grouped = compared, False, False
                if tokens.kind == ")" and outer and current.is_empty():
                    tokens.take()
                    # Redundant parentheses around an operand are reported only once it is
                    # known to be an operand.
                    redundant = redundant or grouped
                    if redundant and not is_operand:
                        raise _redundant_parentheses()
                    current, grouped = outer.pop(), True
                    continue
                if is_operand:
                    if not isinstance(node, FunctionCall):
                        raise tokens.unexpected()
                    if redundant:
                        raise _redundant_parentheses()
                    if node.function not in PREDICATES:
                        self._note_misuse(start, node.function)
                current.add(node)  # pyright: ignore[reportArgumentType] - a condition at this point
                if tokens.kind == ")" and outer:
                    tokens.take()
                    node, is_operand, grouped = current.close(), False, True
                    current = outer.pop()
                    continue
                break
            if tokens.take_if("AND"):
                self.operator_count += 1
            elif tokens.take_if("OR"):
                self.operator_count += 1
                current.start_alternative()
            elif tokens.kind == END and not outer:
                return current.close()
            else:
                raise tokens.unexpected()

    def _parse_comparison(self, left: Operand, start: int) -> Condition | None:
        """Parse the rest of the comparison that starts with `left`; None if no operator follows."""
        tokens = self.tokens
        operator = tokens.kind
        if operator not in _COMPARISON_OPERATORS:
            return None
        self.operator_count += 1
        if isinstance(left, FunctionCall) and left.function in PREDICATES:
            self._note_misuse(start, left.function)
        tokens.take()
        comparator = COMPARATORS.get(operator)
        if comparator is not None:
            return Comparison(comparator, left, self._parse_compared())
        if operator == "BETWEEN":
            low = self._parse_compared()
            tokens.expect("AND")
            return Between(left, low, self._parse_compared())
        tokens.expect("(")
        options = [self._parse_compared()]
        while tokens.take_if(","):
            options.append(self._parse_compared())
        tokens.expect(")")
        return In(left, tuple(options))

    def _parse_compared(self) -> Operand:
        start = self.tokens.position
        operand = self.parse_operand(self._check_function)
        if isinstance(operand, FunctionCall) and operand.function in PREDICATES:
            self._note_misuse(start, operand.function)
        return operand

    def _check_function(self, function: str, position: int, inside: bool) -> None:  # noqa: FBT001 - given by parse_operand alone
        if function in UPDATE_FUNCTIONS:
            self.note_fault(
                position,
                f"The function is not allowed in a condition expression; function: {function}",
            )
        elif function not in _CONDITION_FUNCTIONS:
            self.note_fault(position, f"Invalid function name; function: {function}")
        elif inside and function in PREDICATES:
            self._note_misuse(position, function)

    def _note_misuse(self, position: int, function: str) -> None:
        if function in _CONDITION_FUNCTIONS:
            self.note_fault(
                position,
                "The function is not allowed to be used this way in an expression; "
                f"function: {function}",
            )


class _ProjectionParser(_GrammarParser):
    def parse(self) -> tuple[Path, ...]:
        paths = [self.parse_path()]
        while self.tokens.take_if(","):
            paths.append(self.parse_path())
        self.tokens.expect(END)
        self.finish()
        return tuple(paths)


class _UpdateParser(_GrammarParser):
    def parse(self) -> tuple[Action, ...]:
        tokens = self.tokens
        actions: list[Action] = []
        seen: set[str] = set()
        while True:
            position, section = tokens.position, tokens.kind
            if section not in ("SET", "REMOVE", "ADD", "DELETE"):
                raise tokens.unexpected()
            tokens.take()
            if section in seen:
                self.note_fault(
                    position,
                    f'The "{section}" section can only be used once in an update expression;',
                )
            seen.add(section)
            actions.append(self._parse_action(section))
            while tokens.take_if(","):
                actions.append(self._parse_action(section))
            if tokens.kind == END:
                self.finish()
                return tuple(actions)

    def _parse_action(self, section: str) -> Action:
        path = self.parse_path()
        if section == "REMOVE":
            return Remove(path)
        if section == "SET":
            self.tokens.expect("=")
            return SetTo(path, self._parse_source())
        value = ValuePlaceholder(self.tokens.expect("value"))
        return AddTo(path, value) if section == "ADD" else DeleteFrom(path, value)

    def _parse_source(self) -> Source:
        tokens = self.tokens
        open_parentheses = 0
        while tokens.take_if("("):
            open_parentheses += 1
        start = tokens.position
        source: Source = self.parse_operand(self._check_function)
        grouped = False
        while True:
            if not isinstance(source, Arithmetic) and tokens.kind in ("+", "-"):
                self._check_summand(source, start)
                operator = "+" if tokens.take() == "+" else "-"
                start = tokens.position
                right = self.parse_operand(self._check_function)
                self._check_summand(right, start)
                source, grouped = Arithmetic(operator, source, right), False
            if not open_parentheses:
                return source
            tokens.expect(")")
            open_parentheses -= 1
            if grouped:
                raise _redundant_parentheses()
            grouped = True

    def _check_summand(self, operand: Operand, position: int) -> None:
        if isinstance(operand, FunctionCall) and operand.function == "list_append":
            self._note_misuse(position)

    def _check_function(self, function: str, position: int, inside: bool) -> None:  # noqa: FBT001 - given by parse_operand alone
        if function in _CONDITION_FUNCTIONS:
            self.note_fault(
                position,
                f"The function is not allowed in an update expression; function: {function}",
            )
        elif function not in UPDATE_FUNCTIONS:
            self.note_fault(position, f"Invalid function name; function: {function}")
        elif inside and function == "list_append":
            self._note_misuse(position)

    def _note_misuse(self, position: int) -> None:
        self.note_fault(
            position,
            "The function is not allowed to be used this way in an expression; "
            "function: list_append",
        )
