"""Completion of the text before the cursor."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import typer

from keyfold.cli._arguments import to_flag
from keyfold.cli._shell._entries import begins_statement, find_open_quote
from keyfold.cli._shell._names import Names, name_in
from keyfold.cli._statements import NAME, read_name, table_in
from keyfold.cli._tables import find_pattern, fold_name
from keyfold.expressions.partiql.keywords import KEYWORDS
from keyfold.expressions.partiql.lexer import OPERATOR_WORDS
from keyfold.model import Pattern, Table
from keyfold.terminals import escape_controls

# The shell's own commands, and their arguments.
COMMANDS = {
    "tables": "",
    "describe": "TABLE",
    "keys": "TABLE [PREFIX]",
    "patterns": "",
    "run": "PATTERN [--PARAMETER VALUE]...",
    "next": "",
    "limit": "N|off",
    "json": "on|off",
    "help": "",
    "exit": "",
}
_STARTS = ("SELECT", "INSERT INTO", "UPDATE", "DELETE FROM")
_WORDS = (
    *("ALL", "AND", "ASC", "BETWEEN", "BY", "DELETE", "DESC", "FROM", "IN", "INSERT", "INTO", "IS"),
    *("MISSING", "MODIFIED", "NEW", "NOT", "NULL", "OLD", "OR", "ORDER", "REMOVE", "RETURNING"),
    *("SELECT", "SET", "UPDATE", "VALUE", "WHERE"),
)
_FUNCTIONS = (
    *("attribute_type(", "begins_with(", "contains(", "list_append("),
    *("set_add(", "set_delete(", "size("),
)

_BEFORE_TABLE = re.compile(r"\b(?:from|into|update)\s+$", re.IGNORECASE)
_BEFORE_INDEX = re.compile(rf"\b(?:from|update)\s+{NAME}\s*\.\s*$", re.IGNORECASE)
# An attribute name before a literal that it is compared with or set to.
_BEFORE_VALUE = re.compile(
    r"""(?<![\w$.-])(?P<name>[\w$.-]++)["']?\s*+(?:[=:]\s*|\bin\s*[\[(][^\[\]()]*+)$""",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class Completion:
    """The candidates that may replace the text from `start` on."""

    start: int
    candidates: tuple[str, ...]


def complete(text: str, names: Names) -> Completion:
    """Return the completions at the end of a text, which is an entry from its beginning."""
    words = re.match(r"\s*(?P<first>\S*)(?P<space>\s*)", text)
    assert words is not None  # it matches any text
    if not words["space"]:
        return _complete_first(text, words.start("first"), names)
    command = words["first"].removeprefix(".").lower()
    if begins_statement(text) and not names.is_pattern(text):
        return _complete_statement(text, names)
    is_dotted = words["first"].startswith(".")
    if command in COMMANDS and (is_dotted or not names.is_pattern(text)):
        return _complete_command(text, command, words.end(), names)
    return _complete_pattern(text, words.start("first"), names)


def to_matches(pending: str, line: str, begin: int, names: Names) -> list[str]:
    """Return the completions of a line as readline expects them: the part from `begin` on.

    `pending` has the previous lines of the same entry.
    """
    completion = complete(pending + line, names)
    start = completion.start - len(pending)
    whole = [line[:start] + candidate for candidate in completion.candidates]
    return [each[begin:] for each in whole if each[:begin] == line[:begin]]


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


# Commands.


def _complete_first(text: str, start: int, names: Names) -> Completion:
    word = text[start:]
    if word.startswith("."):
        return _choose(start, word, [f".{each} " for each in COMMANDS])
    # Function names are shorter than pattern names: offer the latter only if nothing else matches.
    offered = _choose(
        start,
        word,
        [
            *(f"{each} " for each in COMMANDS),
            *(f"{each} " for each in _STARTS),
            *(f"{fold_name(pattern.__name__)} " for _, pattern in names.patterns),
        ],
    )
    if offered.candidates:
        return offered
    return _choose(start, word, [f"{fold_name(pattern.name)} " for _, pattern in names.patterns])


def _complete_command(text: str, command: str, start: int, names: Names) -> Completion:
    rest = text[start:]
    match command:
        case "describe":
            return _choose(start, rest, names.tables)
        case "keys":
            table, space, prefix = rest.partition(" ")
            if not space:
                return _choose(start, rest, [f"{each} " for each in names.tables])
            return _choose(start + len(table) + 1, prefix, names.keys(table))
        case "run":
            return _complete_pattern(text, start, names)
        case "json":
            return _choose(start, rest, ["on", "off"])
        case "limit":
            return _choose(start, rest, ["off"])
        case _:
            return Completion(len(text), ())


# Patterns.


def _complete_pattern(text: str, start: int, names: Names) -> Completion:
    typed = text[start:]
    if " " not in typed:
        return _choose(start, typed, [f"{fold_name(each.__name__)} " for _, each in names.patterns])
    named = _choose(start, typed, [f"{pattern.name} " for _, pattern in names.patterns])
    found = _pattern_in(typed, names)
    if found is None or (named.candidates and typed not in named.candidates):
        # The typed text is a prefix of a pattern name that has spaces.
        return named
    table, pattern = found
    begin = max(text.rfind(" "), text.rfind("\t")) + 1
    word, before = text[begin:], text[:begin].rsplit(maxsplit=1)[-1]
    flag, has_value, value = word.partition("=")
    if has_value:
        return _choose_value(begin + len(flag) + 1, value, table, flag, names)
    if before.startswith("--") and "=" not in before and not word.startswith("--"):
        return _choose_value(begin, word, table, before, names)
    given = {each.partition("=")[0] for each in text[:begin].split()}
    flags = [to_flag(each.name) for each in pattern.parameters]
    return _choose(begin, word, [f"{each} " for each in flags if each not in given])


def _pattern_in(text: str, names: Names) -> tuple[Table, Pattern[..., Any]] | None:
    """Return the pattern that a text begins with, by name or unambiguous prefix; None if none."""
    try:
        return find_pattern(list(names.declared.values()), name_in(text))
    except typer.BadParameter:
        return None


def _choose_value(start: int, word: str, table: Table, flag: str, names: Names) -> Completion:
    """Offer the values that the table's keys have for a field with the parameter's name."""
    field = flag.removeprefix("--").replace("-", "_")
    templates = [
        schema.partition.template
        for schema in table.entities.values()
        if schema.partition.template is not None and field in schema.partition.fields
    ]
    values: dict[str, None] = {}
    for key in names.keys(table.name) if templates else ():
        for template in templates:
            parts = template.parse(key)
            if parts is not None:
                values[f"{shlex.quote(str(parts[field]))} "] = None
    return _choose(start, word, values)


# Statements.


def _complete_statement(text: str, names: Names) -> Completion:
    quote = find_open_quote(text)
    if quote is not None:
        return _complete_quoted(text, quote, names)
    word = re.search(r"(?<![\w$])[\w$]*$", text)
    assert word is not None  # it matches any text
    start, before = word.start(), text[: word.start()]
    if _BEFORE_TABLE.search(before):
        return _choose(start, word[0], [quote_name(each) for each in names.tables])
    index = _BEFORE_INDEX.search(before)
    if index is not None:
        return _choose(start, word[0], map(quote_name, names.indexes(read_name(index))))
    words = [*(f"{each} " for each in _WORDS), *_FUNCTIONS]
    if word[0].islower():
        words = [each.lower() for each in words]
    attributes = [quote_name(each) for each in names.attributes(table_in(text))]
    return _choose(start, word[0], [*attributes, *words])


def _complete_quoted(text: str, quote: int, names: Names) -> Completion:
    before, start = text[:quote], quote + 1
    if text[quote] == "'":
        table, value = table_in(before), _BEFORE_VALUE.search(before)
        if table is None or value is None or value["name"] != names.partition_key(table):
            return Completion(len(text), ())
        offered = [key.replace("'", "''") for key in names.keys(table)]
        return _choose(start, text[start:], [f"{each}'" for each in offered])
    index = _BEFORE_INDEX.search(before)
    if _BEFORE_TABLE.search(before):
        known = names.tables
    elif index is not None:
        known = names.indexes(read_name(index))
    else:
        known = names.attributes(table_in(text))
    doubled = [each.replace('"', '""') for each in known]
    return _choose(start, text[start:], [f'{each}"' for each in doubled])


def _choose(start: int, typed: str, offered: Iterable[str]) -> Completion:
    """Return the candidates that begin with the typed text, ignoring case only if none does."""
    # A quoted candidate is also found by typing it without the quote.
    every = {
        each: each if typed.startswith('"') else each.lstrip('"')
        for each in offered
        # readline prints candidates as they are, and stored keys are among them.
        if escape_controls(each) == each
    }
    exact = [each for each, bare in every.items() if bare.startswith(typed)]
    folded = typed.casefold()
    alike = exact or [each for each, bare in every.items() if bare.casefold().startswith(folded)]
    return Completion(start, tuple(alike))
