"""Assembly of typed lines into entries: statements, patterns, and the shell's own commands."""

from __future__ import annotations

import re
from collections.abc import Callable

from keyfold.expressions.partiql.completion import find_pieces

_STATEMENT = re.compile(r"\s*(?:select|insert|update|delete)(?:\s|$)", re.IGNORECASE)


def begins_statement(text: str) -> bool:
    """Return whether a text begins like a statement.

    >>> begins_statement("select *"), begins_statement("select-all --user ada")
    (True, False)
    """
    return _STATEMENT.match(text) is not None


class Entries:
    """Collects lines until an entry is complete.

    A statement ends with a semicolon or an empty line; any other entry is one line. `is_pattern`
    returns whether a line names a pattern, even if it begins like a statement.
    """

    def __init__(self, is_pattern: Callable[[str], bool] = lambda _: False) -> None:
        self._is_pattern = is_pattern
        self.pending = ""

    def add(self, line: str) -> list[str]:
        """Add a line, and return the entries that it completes."""
        if not self.pending:
            text = line.strip()
            if not text or text.startswith("--"):
                return []
            if not begins_statement(text) or self._is_pattern(text):
                return [*filter(None, [text.rstrip(";").rstrip()])]
        elif not line.strip():
            return self.take()
        text = f"{self.pending}{line}\n"
        for position, piece in find_pieces(text):
            if piece == ";":
                statement, self.pending = text[:position].strip(), ""
                rest = text[position + 1 :].rstrip("\n")
                return [*filter(None, [statement]), *self.add(rest)]
        self.pending = text
        return []

    def take(self) -> list[str]:
        """Return the incomplete entry, if any, as if it were complete, and forget it."""
        text, self.pending = self.pending.strip(), ""
        return [text] if text else []
