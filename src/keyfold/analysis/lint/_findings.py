"""Findings of lint: what is wrong, where, why it matters, and how to mend it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from keyfold.model import Index, Pattern, Table
from keyfold.model._schemas import EntitySchema


class Severity(IntEnum):
    """How serious a finding is; a higher one is more serious."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @classmethod
    def parse(cls, text: str) -> Severity:
        """Return the severity that a text names; raises KeyError."""
        return cls[text.upper()]

    def __str__(self) -> str:
        return self.name.lower()


# What a finding is about: a table, one of its indexes, entities or patterns.
Subject = Table | Index | EntitySchema | Pattern[..., Any]


@dataclass(frozen=True, slots=True)
class RemoveIgnore:
    """An edit of a declaration: its `lint_ignore` loses a code."""

    code: str


@dataclass(frozen=True, slots=True)
class RenameIgnore:
    """An edit of a declaration: a code in its `lint_ignore` is corrected."""

    code: str
    new: str


@dataclass(frozen=True, slots=True)
class SetArgument:
    """An edit of a declaration: an argument gets a value, which is given as source."""

    name: str
    value: str


# How a declaration is edited to mend a finding; `keyfold lint --fix` makes these edits.
SourceEdit = RemoveIgnore | RenameIgnore | SetArgument


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finding is: its subject, and the file and line that declare it, if these are known."""

    subject: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = "" if self.file is None else f" ({self.file}:{self.line})"
        return f"{self.subject}{where}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a rule.

    `ignored` is the reason for which it is suppressed, if it is, and `ignored_by` the subject whose
    declaration has that reason. `edit` is the edit of its declaration that mends it, if it is
    mechanical.
    """

    code: str
    severity: Severity
    place: Place
    message: str
    fix: str
    ignored: str | None = None
    ignored_by: str | None = None
    edit: SourceEdit | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "place": str(self.place),
            "message": self.message,
            "fix": self.fix,
        }


def place_of(subject: Subject) -> Place:
    """Return where a subject is declared."""
    match subject:
        case Table(name=name, declared_at=place):
            return Place(f"table {name}", *place)
        case Index(name=name, declared_at=place):
            return Place(f"index {name}", *place)
        case EntitySchema(name=name, entity=entity):
            return _locate(f"entity {name}", entity)
        case Pattern(name=name, make=make):
            return _locate(f"pattern {name!r}", inspect.unwrap(make))


def _locate(subject: str, declared: Any) -> Place:
    try:
        file = inspect.getsourcefile(declared)
        _, line = inspect.getsourcelines(declared)
    except (OSError, TypeError):
        return Place(subject)  # declared in an interactive session
    return Place(subject, file, line)


def find_ignore(subject: Subject, table: Table, code: str) -> tuple[str, str] | None:
    """Return the reason to ignore a rule for a subject, and who gives it; None if nobody does.

    What a table ignores is ignored for everything that it has.
    """
    for each in (subject, table):
        if code in each.lint_ignore:
            return each.lint_ignore[code], place_of(each).subject
    return None


def list_subjects(table: Table) -> Iterator[Subject]:
    """Yield a table, its indexes, entities and patterns."""
    yield table
    yield from table.indexes
    yield from table.entities.values()
    yield from table.patterns.values()
