"""Completion in the console, by the declaration of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keyfold.expressions.partiql.completion import (
    FUNCTIONS,
    STARTS,
    WORDS,
    Completion,
    complete_statement,
)
from keyfold.model import Table
from keyfold.model._key_parts import KeyPart
from keyfold.studio._shown_keys import show_template

_MOST_CANDIDATES = 40


class DeclaredNames:
    """The names of one table, by its declaration."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.details: dict[str, str] = dict(_describe_attributes(table))

    @property
    def tables(self) -> list[str]:
        """The table that the console is of."""
        return [self._table.name]

    def indexes(self, table: str) -> list[str]:
        """Return the names of the table's indexes."""
        return [each.name for each in self._table.indexes] if table == self._table.name else []

    def attributes(self, table: str | None) -> list[str]:
        """Return the attributes that entities declare."""
        del table
        return list(self.details)

    def literals(self, table: str, attribute: str) -> list[str]:
        """Return what the values of a key attribute begin with, by the templates of entities."""
        del table
        found: dict[str, None] = {}
        for part in _list_parts(self._table):
            if part.attribute == attribute and part.template is not None:
                pieces = show_template(part)["pieces"]
                start = "" if "part" in pieces[0] else pieces[0]["text"]
                ending = "'" if len(pieces) == 1 and start else ""
                if start:
                    found[start.replace("'", "''") + ending] = None
        return list(found)


def complete(table: Table, text: str) -> dict[str, Any]:
    """Return the completions at the end of a text, each with its kind and a detail."""
    names = DeclaredNames(table)
    completion: Completion = complete_statement(text, names)
    return {
        "start": completion.start,
        "candidates": [
            {"text": each, **_describe(table, names, each)}
            for each in completion.candidates[:_MOST_CANDIDATES]
        ],
    }


def _describe(table: Table, names: DeclaredNames, candidate: str) -> dict[str, str]:
    word = candidate.strip()
    bare = word.strip('"').replace('""', '"')
    if bare in names.details:
        return {"kind": "attribute", "detail": names.details[bare]}
    if bare == table.name:
        return {"kind": "table", "detail": "table"}
    for index in table.indexes:
        if bare == index.name:
            return {"kind": "index", "detail": f"index on {', '.join(index.key.names)}"}
    if word.upper() in WORDS or word in STARTS:
        return {"kind": "keyword", "detail": ""}
    if word.lower() in FUNCTIONS:
        return {"kind": "function", "detail": "function"}
    return {"kind": "value", "detail": "begins a key"}


def _describe_attributes(table: Table) -> Iterator[tuple[str, str]]:
    """Yield every attribute, with the fields of entities that are stored in it."""
    fields: dict[str, list[str]] = {}
    for schema in table.entities.values():
        for field in schema.fields.values():
            if not field.is_part:
                fields.setdefault(field.stored, []).append(f"{schema.name}.{field.name}")
    keys = [*table.key.names, *(name for index in table.indexes for name in index.key.names)]
    for name in dict.fromkeys([*keys, *fields]):
        found = fields.get(name, [])
        more = f" and {len(found) - 2} more" if len(found) > 2 else ""  # noqa: PLR2004 - two fit
        of = ", ".join(found[:2]) + more
        yield name, of if name not in table.key.names else "key" if not of else f"key, {of}"


def _list_parts(table: Table) -> Iterator[KeyPart]:
    for schema in table.entities.values():
        yield from schema.keys
        for parts in schema.index_keys.values():
            yield from parts
