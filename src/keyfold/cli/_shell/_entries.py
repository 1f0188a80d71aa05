"""From the lines that are typed to entries: statements, patterns, and the shell's own words."""

from __future__ import annotations

import re
from collections.abc import Callable

# What a statement holds besides its words; a quote that is not closed goes on to the end.
_PIECE = re.compile(
    r"""'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;""",
    re.DOTALL,
)
_STATEMENT = re.compile(r"\s*(?:select|insert|update|delete)(?:\s|$)", re.IGNORECASE)


def begins_statement(text: str) -> bool:
    """Tell whether a text begins as a statement does.

    >>> begins_statement("select *"), begins_statement("select-all --user ada")
    (True, False)
    """
    return _STATEMENT.match(text) is not None


def find_open_quote(text: str) -> int | None:
    """Return where a quote begins that the text does not close.

    >>> find_open_quote("SELECT * FROM t WHERE pk = 'it''s")
    27
    """
    for piece in _PIECE.finditer(text):
        quote = piece[0][0]
        if quote in "'\"" and piece[0].count(quote) % 2:
            return piece.start()
    return None


class Entries:
    """Gathers lines until they are whole.

    A statement ends with a semicolon or with an empty line; anything else is one line.
    `is_pattern` tells which lines name a pattern though they begin as a statement does.
    """

    def __init__(self, is_pattern: Callable[[str], bool] = lambda _: False) -> None:
        self._is_pattern = is_pattern
        self.pending = ""

    def add(self, line: str) -> list[str]:
        """Take one more line, and return the entries that it makes whole."""
        if not self.pending:
            text = line.strip()
            if not text or text.startswith("--"):
                return []
            if not begins_statement(text) or self._is_pattern(text):
                return [*filter(None, [text.rstrip(";").rstrip()])]
        elif not line.strip():
            return self.take()
        text = f"{self.pending}{line}\n"
        for piece in _PIECE.finditer(text):
            if piece[0] == ";":
                statement, self.pending = text[: piece.start()].strip(), ""
                return [*filter(None, [statement]), *self.add(text[piece.end() :].rstrip("\n"))]
        self.pending = text
        return []

    def take(self) -> list[str]:
        """Return what is there of an entry as if it were whole."""
        text, self.pending = self.pending.strip(), ""
        return [text] if text else []
