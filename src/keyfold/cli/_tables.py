"""Lookup of the tables and access patterns that a command line names.

A table is named as one of the included designs, as `module:name`, or by its own name if it is listed
in `[tool.keyfold]` of the project's pyproject.toml:

    [tool.keyfold]
    tables = ["shop.tables:market"]
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import typer

from keyfold.model import Pattern, Table

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")


class Project(NamedTuple):
    """The tables that a project lists, and an error for each one that cannot be loaded."""

    tables: list[Table]
    faults: list[typer.BadParameter]

    def require_all(self) -> list[Table]:
        """Return the tables; raises BadParameter if one of them cannot be loaded."""
        if self.faults:
            raise self.faults[0]
        return self.tables


def find_tables(name: str | None, option: str | None = None) -> list[Table]:
    """Return the tables that a command line names; raises BadParameter.

    `name` is the argument TABLE and `option` the value of --table: either is a design, one of the
    project's tables, or MODULE:NAME. Without both, the result is all tables of the project.
    """
    if name is not None and option is not None:
        fact = f"{name} and --table {option} both name a table; give one of them."
        raise typer.BadParameter(fact, param_hint="--table")
    hint = "TABLE" if option is None else "--table"
    named = name if option is None else option
    if named is not None and ":" in named:
        return [_load(named, hint, Path.cwd())]
    project = find_project()
    if named is None:
        tables = project.require_all()
        if not tables:
            fact = f"name a design, {_list_of(DESIGNS)}, or a table of your own: "
            advice = "MODULE:NAME, or [tool.keyfold] tables in pyproject.toml."
            raise typer.BadParameter(fact + advice, param_hint=hint)
        return tables
    found = look_up_table(named, project.tables)
    if found is None:
        # The name may be that of a project table that failed to load.
        tables = project.require_all()
        known = _list_of([*(table.name for table in tables), *DESIGNS])
        fact = f"there is no table {named!r}; there are {known}. Name your own as MODULE:NAME."
        raise typer.BadParameter(fact, param_hint=hint)
    return [found]


def find_table(name: str | None, option: str | None = None) -> Table:
    """Return the one table that a command line names; raises BadParameter."""
    tables = find_tables(name, option)
    if len(tables) > 1:
        known = _list_of([table.name for table in tables])
        raise typer.BadParameter(f"name one of {known}.", param_hint="TABLE")
    return tables[0]


def find_named_table(name: str, option: str) -> Table:
    """Return the table that another option names, such as --compare; raises BadParameter."""
    try:
        return find_table(name)
    except typer.BadParameter as fault:
        fault.param_hint = option
        raise


def list_paths() -> list[str]:
    """Return the paths of the project's tables, without importing them; raises BadParameter."""
    file = _find_project_file()
    return [] if file is None else _read_paths(file)


def look_up_table(name: str, project: Sequence[Table]) -> Table | None:
    """Return the project's table or the design of a name; None if there is none."""
    wanted = fold_name(name)
    for table in project:
        if fold_name(table.name) == wanted:
            return table
    for design in DESIGNS:
        if fold_name(design) == wanted:
            return importlib.import_module(f"keyfold.designs.{design}").table
    return None


def find_project() -> Project:
    """Return the tables that the nearest pyproject.toml lists, which may be none."""
    found = Project([], [])
    file = _find_project_file()
    if file is None:
        return found
    # Errors are collected: a table that cannot be loaded must not block the others.
    try:
        paths = _read_paths(file)
    except typer.BadParameter as fault:
        return Project([], [fault])
    for path in paths:
        try:
            found.tables.append(_load(path, str(file), file.parent))
        except typer.BadParameter as fault:
            found.faults.append(fault)
    return found


def _find_project_file() -> Path | None:
    here = Path.cwd()
    files = (folder / "pyproject.toml" for folder in (here, *here.parents))
    return next((file for file in files if file.is_file()), None)


def _read_paths(file: Path) -> list[str]:
    try:
        read: Any = tomllib.loads(file.read_text("utf-8")).get("tool", {}).get("keyfold", {})
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"it cannot be read: {error}.", param_hint=str(file)) from None
    given = read.get("tables", read.get("table", []))
    paths = [given] if isinstance(given, str) else given
    if not isinstance(paths, list) or not all(isinstance(each, str) for each in cast(Any, paths)):
        fact = f"[tool.keyfold] tables must be a list of MODULE:NAME strings; got {given!r}."
        raise typer.BadParameter(fact, param_hint=str(file))
    return cast(list[str], paths)


def _load(path: str, hint: str, folder: Path) -> Table:
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        fact = f"{path!r} is not MODULE:NAME."
        raise typer.BadParameter(fact, param_hint=hint)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        is_asked_for = error.name and f"{module_name}.".startswith(f"{error.name}.")
        importer = "" if is_asked_for else f", which {module_name} imports"
        fact = f"there is no module {error.name!r}{importer}, here or among the installed packages."
        raise typer.BadParameter(fact, param_hint=hint) from None
    except Exception as error:  # noqa: BLE001 - whatever the user's module raises
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if Path(each.filename).is_relative_to(folder)]
        where = (own or frames)[-1]
        place = f"{where.filename}:{where.lineno}"
        if isinstance(error, SyntaxError) and error.filename:
            place = f"{error.filename}:{error.lineno}"
        fact = f"{module_name} cannot be imported: {type(error).__name__}: {error} ({place})."
        raise typer.BadParameter(fact, param_hint=hint) from None
    found: Any = getattr(module, name, None)
    if not isinstance(found, Table):
        tables = [key for key, value in vars(module).items() if isinstance(value, Table)]
        fact = f"{module_name} has no table {name!r}; it has {_list_of(tables) or 'none'}."
        raise typer.BadParameter(fact, param_hint=hint)
    return found


def find_pattern(tables: Sequence[Table], text: str) -> tuple[Table, Pattern[..., Any]]:
    """Return the pattern that a text names, and its table; raises BadParameter.

    The text is the name of a pattern or of its function, or an unambiguous prefix of one. Case
    does not matter, and spaces, dashes and underscores are equal.
    """
    wanted = fold_name(text)
    every = [(table, pattern) for table in tables for pattern in table.patterns.values()]
    names = {
        id(pattern): {fold_name(pattern.name), fold_name(pattern.__name__)} for _, pattern in every
    }
    exact = [each for each in every if wanted in names[id(each[1])]]
    started = [
        each for each in every if any(name.startswith(wanted) for name in names[id(each[1])])
    ]
    found = exact or started
    if len(found) == 1:
        return found[0]
    where = _list_of([table.name for table in tables])
    if found:
        listed = _list_patterns(found)
        fact = f"{text!r} could be any of these patterns of {where}:\n{listed}"
    elif every:
        fact = f"{where} has no pattern {text!r}. There are:\n{_list_patterns(every)}"
    else:
        fact = f"{where} has no patterns."
    raise typer.BadParameter(fact, param_hint="PATTERN")


def _list_patterns(found: Sequence[tuple[Table, Pattern[..., Any]]]) -> str:
    return "\n".join(f"  {pattern.name}" for _, pattern in found)


def _list_of(names: Sequence[str]) -> str:
    return ", ".join(names)


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared.

    >>> fold_name("Last Orders"), fold_name("last_orders")
    ('last-orders', 'last-orders')
    """
    return re.sub(r"[\s_-]+", "-", name.strip()).casefold()
