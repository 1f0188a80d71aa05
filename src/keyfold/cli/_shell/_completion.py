"""Completion of the text before the cursor."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

import typer

from keyfold.cli._arguments import to_flag
from keyfold.cli._shell._entries import begins_statement
from keyfold.cli._shell._names import Names, name_in
from keyfold.cli._tables import find_pattern, fold_name
from keyfold.expressions.partiql.completion import (
    STARTS,
    Completion,
    choose,
    complete_statement,
)
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


def complete(text: str, names: Names) -> Completion:
    """Return the completions at the end of a text, which is an entry from its beginning."""
    words = re.match(r"\s*(?P<first>\S*)(?P<space>\s*)", text)
    assert words is not None  # it matches any text
    if not words["space"]:
        return _complete_first(text, words.start("first"), names)
    command = words["first"].removeprefix(".").lower()
    if begins_statement(text) and not names.is_pattern(text):
        return _printable(complete_statement(text, names))
    is_dotted = words["first"].startswith(".")
    if command in COMMANDS and (is_dotted or not names.is_pattern(text)):
        return _complete_command(text, command, words.end(), names)
    return _complete_pattern(text, words.start("first"), names)


def _printable(completion: Completion) -> Completion:
    """Return a completion without the candidates that readline could not print as they are."""
    kept = tuple(each for each in completion.candidates if escape_controls(each) == each)
    return Completion(completion.start, kept)


def to_matches(pending: str, line: str, begin: int, names: Names) -> list[str]:
    """Return the completions of a line as readline expects them: the part from `begin` on.

    `pending` has the previous lines of the same entry.
    """
    completion = complete(pending + line, names)
    start = completion.start - len(pending)
    whole = [line[:start] + candidate for candidate in completion.candidates]
    return [each[begin:] for each in whole if each[:begin] == line[:begin]]


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
            *(f"{each} " for each in STARTS),
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


def _choose(start: int, typed: str, offered: Iterable[str]) -> Completion:
    return choose(start, typed, [each for each in offered if escape_controls(each) == each])
