"""The lexer: splits statements into tokens with their positions, which messages name."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from keyfold.expressions.partiql.faults import not_well_formed
from keyfold.expressions.partiql.keywords import KEYWORDS

Kind = Literal[
    "identifier", "quoted", "text", "number", "ion", "keyword", "operator", "sign", "end"
]


class Token(NamedTuple):
    """A token: its kind, its value (keywords in lower case), and its position."""

    kind: Kind
    value: str
    line: int
    column: int
    length: int

    @property
    def at(self) -> str:
        """The position as the service's messages give it: line, column, length."""
        return f"{self.line}:{self.column}:{self.length}"


OPERATOR_WORDS = frozenset(
    {"and", "or", "not", "in", "is", "between", "like", "union", "except", "intersect"}
)

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![A-Za-z0-9_$])
    |(?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    |"(?P<quoted>(?:[^"]|"")*)"
    |'(?P<text>(?:[^']|'')*)'
    |`(?P<ion>[^`]*)`
    |(?P<operator><>|!=|<=|>=|\|\||[-+*%=@]|/(?!\*)|<(?!<)|>(?!>))
    |(?P<sign><<|>>|[()\[\]{},.:;?])
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[0-9]*(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
# An exponent with more digits than this is too large; do not convert it to int.
_LONG_EXPONENT = 15


def read_tokens(text: str) -> list[Token]:
    """Return the tokens of a statement, ending with an end token; raises ValidationException.

    >>> [token.value for token in read_tokens("SELECT a FROM T -- all of it")]
    ['select', 'a', 'from', 'T', '']
    """
    tokens: list[Token] = []
    position, line, line_start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise not_well_formed()
        group, end = str(match.lastgroup), match.end()
        if group != "space":
            kind, value = _classify(group, match[group])
            tokens.append(Token(kind, value, line, position - line_start + 1, end - position))
        newline = text.rfind("\n", position, end)
        if newline >= 0:
            line += text.count("\n", position, end)
            line_start = newline + 1
        position = end
    tokens.append(Token("end", "", line, position - line_start + 1, 0))
    return tokens


def _classify(group: str, value: str) -> tuple[Kind, str]:
    match group:
        case "word":
            word = value.lower()
            if word in OPERATOR_WORDS:
                return "operator", word
            return ("keyword", word) if word in KEYWORDS else ("identifier", value)
        case "number":
            _check_scale(value)
            return "number", value
        case "quoted":
            return "quoted", value.replace('""', '"')
        case "text":
            return "text", value.replace("''", "'")
        case "ion":
            return "ion", value
        case "operator":
            return "operator", "<>" if value == "!=" else value
        case _:
            return "sign", value


def _check_scale(number: str) -> None:
    """Raise ValidationException, as the service does, if exponent or scale do not fit 32 bits."""
    match = _NUMBER.fullmatch(number)
    assert match is not None  # this pattern matches whatever the token's pattern does
    fraction, exponent = match.groups(default="")
    if len(exponent) > _LONG_EXPONENT:
        raise not_well_formed()
    power = int(exponent or 0)
    if not (-(2**31) <= power < 2**31 and -(2**31) <= len(fraction) - power < 2**31):
        raise not_well_formed()
