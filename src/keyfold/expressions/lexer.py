"""Splits expressions into tokens, and reports syntax errors with the service's wording."""

from __future__ import annotations

import re

from keyfold.expressions.faults import ExpressionFault

MAX_EXPRESSION_LENGTH = 4096

# A character that starts no other token is a token by itself, so that the parser reports it.
_TOKEN = re.compile(
    r"""
      (?P<word>    [A-Za-z][A-Za-z0-9_]* )
    | (?P<name>    \#[A-Za-z0-9_]+ )
    | (?P<value>   :[A-Za-z0-9_]+ )
    | (?P<index>   0 | [1-9][0-9]* )
    | (?P<symbol>  <= | >= | <> | [^ \t\r\n] )
    """,
    re.VERBOSE,
)

_KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})

END = "<EOF>"


class Tokens:
    """The tokens of one expression, with the current position.

    A token's kind is `word`, `name` (#a), `value` (:a), `index`, the keyword in capitals,
    the symbol itself, or `END`.
    """

    __slots__ = ("_kinds", "_spans", "_text", "kind", "position")

    def __init__(self, text: str) -> None:
        if not text:
            raise ExpressionFault("The expression can not be empty;")
        if len(text) > MAX_EXPRESSION_LENGTH:
            raise ExpressionFault(
                "Expression size has exceeded the maximum allowed size;",
                f" expression size: {len(text)}",
            )
        self._text = text
        self._kinds: list[str] = []
        self._spans: list[tuple[int, int]] = []
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup or ""
            if kind == "symbol":
                kind = match[0]
            elif kind == "word" and match[0].upper() in _KEYWORDS:
                kind = match[0].upper()
            self._kinds.append(kind)
            self._spans.append(match.span())
        self._kinds.append(END)
        self._spans.append((len(text), len(text)))
        self.position = 0
        """The number of tokens read so far."""
        self.kind = self._kinds[0]
        """The kind of the next token."""

    def have_placeholders(self) -> bool:
        """Return whether any token is a placeholder of a name or a value."""
        return "name" in self._kinds or "value" in self._kinds

    def take(self) -> str:
        """Return the text of the next token, and move past it."""
        start, end = self._spans[self.position]
        if self.kind != END:
            self.position += 1
            self.kind = self._kinds[self.position]
        return self._text[start:end]

    def take_if(self, kind: str) -> bool:
        """Move past the next token if it is of `kind`; return whether it was."""
        if self.kind != kind:
            return False
        self.take()
        return True

    def expect(self, kind: str) -> str:
        """Move past the next token and return its text; raises ExpressionFault if not of `kind`."""
        if self.kind != kind:
            raise self.unexpected()
        return self.take()

    def is_followed_by(self, kind: str) -> bool:
        """Return whether the token after the next one is of `kind`."""
        return self.kind != END and self._kinds[self.position + 1] == kind

    def unexpected(self) -> ExpressionFault:
        """Return the syntax error for the next token."""
        at, last = self.position, len(self._spans) - 1
        start, end = self._spans[at]
        token = END if self.kind == END else self._text[start:end]
        # The service quotes the source text from the previous token to the following one.
        near_start = self._spans[at - 1][0] if at else 0
        near_end = self._spans[min(at + 1, last)][1]
        return ExpressionFault(
            f'Syntax error; token: "{token}", near: "{self._text[near_start:near_end]}"'
        )
