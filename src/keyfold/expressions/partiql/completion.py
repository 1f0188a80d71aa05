"""Completion of an unfinished statement: tables, indexes, attributes, functions and keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from keyfold.expressions.partiql.keywords import KEYWORDS
from keyfold.expressions.partiql.lexer import OPERATOR_WORDS

STARTS = ("SELECT", "INSERT INTO", "UPDATE", "DELETE FROM")
WORDS = (
    *("ALL", "AND", "ASC", "BETWEEN", "BY", "DELETE", "DESC", "FROM", "IN", "INSERT", "INTO", "IS"),
    *("MISSING", "MODIFIED", "NEW", "NOT", "NULL", "OLD", "OR", "ORDER", "REMOVE", "RETURNING"),
    *("SELECT", "SET", "UPDATE", "VALUE", "WHERE"),
)
FUNCTIONS = (
    *("attribute_type(", "begins_with(", "contains(", "list_append("),
    *("set_add(", "set_delete(", "size("),
)

# A name in a statement, quoted or not.
_NAME = r"""(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[A-Za-z_$][\w$]*))"""
_TABLE = re.compile(rf"\b(?:from|into|update)\s+{_NAME}", re.IGNORECASE)
_BEFORE_TABLE = re.compile(r"\b(?:from|into|update)\s+$", re.IGNORECASE)
_BEFORE_INDEX = re.compile(rf"\b(?:from|update)\s+{_NAME}\s*\.\s*$", re.IGNORECASE)
# An attribute name before a literal that it is compared with or set to.
_BEFORE_VALUE = re.compile(
    r"""(?<![\w$.-])(?P<name>[\w$.-]++)["']?\s*+(?:[=:]\s*|\bin\s*[\[(][^\[\]()]*+)$""",
    re.IGNORECASE,
)
# An attribute name before the prefix that it begins with.
_BEFORE_PREFIX = re.compile(
    r"""\bbegins_with\s*\(\s*["']?(?P<name>[\w$.-]++)["']?\s*,\s*$""", re.IGNORECASE
)
_PLAIN = re.compile(r"[A-Za-z_$][\w$]*")
_WORD = re.compile(r"(?<![\w$])[\w$]*$")
# Strings, comments and semicolons of a statement; an unclosed quote extends to the end.
_PIECE = re.compile(
    r"""'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)|;""",
    re.DOTALL,
)


class StatementNames(Protocol):
    """The names that a statement may have."""

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        ...

    def indexes(self, table: str) -> list[str]:
        """Return the names of a table's indexes."""
        ...

    def attributes(self, table: str | None) -> list[str]:
        """Return the known attributes of a table; of all tables if it is None."""
        ...

    def literals(self, table: str, attribute: str) -> list[str]:
        """Return texts that values of an attribute begin with; with a closing quote if they are whole."""
        ...


@dataclass(frozen=True, slots=True)
class Completion:
    """The candidates that may replace the text from `start` on."""

    start: int
    candidates: tuple[str, ...]


def complete_statement(text: str, names: StatementNames) -> Completion:
    """Return the completions at the end of an unfinished statement."""
    quote = find_open_quote(text)
    if quote is not None:
        return _complete_quoted(text, quote, names)
    word = _WORD.search(text)
    assert word is not None  # it matches any text
    start, before = word.start(), text[: word.start()]
    if not before.strip():
        return choose(start, word[0], [f"{each} " for each in STARTS])
    if _BEFORE_TABLE.search(before):
        return choose(start, word[0], [quote_name(each) for each in names.tables])
    index = _BEFORE_INDEX.search(before)
    if index is not None:
        return choose(start, word[0], map(quote_name, names.indexes(_read_name(index))))
    words = [*(f"{each} " for each in WORDS), *FUNCTIONS]
    if word[0].islower():
        words = [each.lower() for each in words]
    attributes = [quote_name(each) for each in names.attributes(table_in(text))]
    return choose(start, word[0], [*attributes, *words])


def _complete_quoted(text: str, quote: int, names: StatementNames) -> Completion:
    before, start = text[:quote], quote + 1
    if text[quote] == "'":
        table = table_in(before)
        value = _BEFORE_VALUE.search(before) or _BEFORE_PREFIX.search(before)
        if table is None or value is None:
            return Completion(len(text), ())
        return choose(start, text[start:], names.literals(table, value["name"]))
    index = _BEFORE_INDEX.search(before)
    if _BEFORE_TABLE.search(before):
        known = names.tables
    elif index is not None:
        known = names.indexes(_read_name(index))
    else:
        known = names.attributes(table_in(text))
    doubled = [each.replace('"', '""') for each in known]
    return choose(start, text[start:], [f'{each}"' for each in doubled])


def choose(start: int, typed: str, offered: Iterable[str]) -> Completion:
    """Return the candidates that begin with the typed text, ignoring case only if none does."""
    # A quoted candidate is also found by typing it without the quote.
    every = {each: each if typed.startswith('"') else each.lstrip('"') for each in offered}
    exact = [each for each, bare in every.items() if bare.startswith(typed)]
    folded = typed.casefold()
    alike = exact or [each for each, bare in every.items() if bare.casefold().startswith(folded)]
    return Completion(start, tuple(alike))


def quote_name(name: str) -> str:
    """Return a name as a statement needs it, quoted if necessary.

    >>> quote_name("orders"), quote_name("user"), quote_name("by-day")
    ('orders', '"user"', '"by-day"')
    """
    is_word = name.lower() in KEYWORDS or name.lower() in OPERATOR_WORDS
    if _PLAIN.fullmatch(name) and not is_word:
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def table_in(statement: str) -> str | None:
    """Return the table that a statement names, which may be incomplete; None if it names none."""
    found = _TABLE.search(statement)
    return None if found is None else _read_name(found)


def _read_name(found: re.Match[str]) -> str:
    quoted: str | None = found["quoted"]
    return found["plain"] if quoted is None else quoted.replace('""', '"')


def find_pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the strings, comments and semicolons of a statement, with their positions."""
    for piece in _PIECE.finditer(text):
        yield piece.start(), piece[0]


def find_open_quote(text: str) -> int | None:
    """Return the position of a quote that is not closed; None if there is none.

    >>> find_open_quote("SELECT * FROM t WHERE pk = 'it''s")
    27
    """
    for position, piece in find_pieces(text):
        quote = piece[0]
        if quote in "'\"" and piece.count(quote) % 2:
            return position
    return None
