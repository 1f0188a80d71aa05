"""A shell session, which runs entries and prints their results."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, cast

import typer
from rich.console import Console

from keyfold.cli import _statements
from keyfold.cli._arguments import make_request, read_arguments, to_flags
from keyfold.cli._databases import require_table
from keyfold.cli._errors import PublicError, UsageError, to_json
from keyfold.cli._principals import Principal
from keyfold.cli._quantities import count_of
from keyfold.cli._requests import print_request, run_request, writes
from keyfold.cli._shell._completion import COMMANDS
from keyfold.cli._shell._entries import begins_statement
from keyfold.cli._shell._names import Names, indexes_of, keys_of, name_in
from keyfold.cli._statements import StatementResult, print_items, run_statement
from keyfold.cli._surfaces import Surface
from keyfold.cli._tables import find_pattern
from keyfold.cli._terminal import join_styled, make_console
from keyfold.cli.patterns import list_patterns, print_patterns
from keyfold.errors import KeyfoldError
from keyfold.expressions.partiql.completion import table_in
from keyfold.model import Query, Request, Scan, Table
from keyfold.model._hidden_attributes import hide_secrets
from keyfold.store import Executor, Store, StoreSettings
from keyfold.store._sent_calls import CallLog

_KEYS_SHOWN = 20
_SECRET_BYTES = 32
_MORE = "There are more items: next"
# The name of the session's database in errors.
_HERE = "this database"

HELP = """\
SELECT, INSERT, UPDATE, DELETE   a PartiQL statement; ends with ; or an empty line
PATTERN [--PARAMETER VALUE]...   an access pattern, as for `keyfold run`; or NAME=VALUE
tables                           list the tables
describe TABLE                   show a table's keys, indexes and entities
keys TABLE [PREFIX]              show some of a table's partition keys
patterns                         list the access patterns
run PATTERN ...                  run a pattern whose name begins like a statement
next                             show the next page
limit N|off                      read N items per page, or all
json on|off                      print each result as a line of JSON, or as text
help                             show this help
exit                             leave the shell; so does Ctrl-D
Commands may begin with a dot: .tables"""


class Session:
    """Runs entries on a database, with the access patterns of declared tables.

    With `creates_tables`, patterns that write create missing tables. With a `principal`,
    statements and patterns are restricted to its roles. `cursor_key` seals the handles of end
    users; cursors are only used within the session.
    """

    def __init__(
        self,
        executor: Executor,
        tables: Sequence[Table] = (),
        *,
        limit: int | None = None,
        as_json: bool = False,
        creates_tables: bool = True,
        principal: Principal | None = None,
        cursor_key: bytes | None = None,
    ) -> None:
        self._database, self._principal = executor, principal
        self._log = CallLog(tables)
        if cursor_key is None and principal is None:
            cursor_key = os.urandom(_SECRET_BYTES)
        settings = StoreSettings(tables, cursor_key=cursor_key, on_call=[self._log])
        self._store = Store(executor, settings)
        # What makes the calls of statements and listings: a principal's store checks them.
        self._executor = executor
        if principal is not None:
            self._store = self._executor = principal.restrict(self._store)
        self._surface = Surface(self._store.handles)
        self._log.shows_keys = self._surface.shows_keys
        self._limit = limit
        self._as_json = as_json
        self._makes_tables = creates_tables and principal is None
        self._show_next_page: Callable[[], None] | None = None
        self.names = Names(self._executor, tables, shows_keys=self._surface.shows_keys)
        self.is_over = False

    def run(self, entry: str, prefix: str = "") -> bool:
        """Run one entry; return whether it succeeded. Its errors begin with `prefix`."""
        try:
            with self._surface.public_errors():
                self._dispatch(entry)
        except (KeyfoldError, PublicError, UsageError) as error:
            self._print_error(**to_json(error)["error"], prefix=prefix)
        except Exception as error:  # noqa: BLE001 - a pattern's own code may raise anything
            # The pattern's author needs the whole traceback.
            traceback.print_exc()
            self._print_error(type(error).__name__, str(error), prefix)
        else:
            return True
        return False

    def _print_error(self, code: str, message: str, prefix: str) -> None:
        if self._as_json:
            self._print_line({"error": {"code": code, "message": message}})
        else:
            print(f"keyfold: {prefix}{message}", file=sys.stderr, flush=True)

    def _dispatch(self, entry: str) -> None:
        if begins_statement(entry) and not self.names.is_pattern(entry):
            self._run_statement(entry)
            return
        first, *rest = entry.split()
        command = first.removeprefix(".").lower()
        is_command = command in {*COMMANDS, "quit"} and (
            first.startswith(".") or not self.names.is_pattern(entry)
        )
        if not is_command:
            if first.startswith("."):
                raise typer.BadParameter("no such command; see help.", param_hint=first)
            self._run_pattern(entry)
            return
        match command, rest:
            case "tables", []:
                self._show_tables()
            case "describe", [table]:
                self._describe(table)
            case "keys", [table]:
                self._show_keys(table, "")
            case "keys", [table, *_]:
                # A key may have spaces in it.
                self._show_keys(table, entry.split(maxsplit=2)[2])
            case "patterns", []:
                self._show_patterns()
            case "run", [_, *_]:
                self._run_pattern(entry.lstrip()[len(first) :].strip())
            case "next", []:
                self._show_next()
            case "limit", [number]:
                self._limit = _read_limit(number)
            case "json", ["on" | "off" as state]:
                self._as_json = state == "on"
            case "help", _:
                self._print({"help": HELP.splitlines()}, lambda console: console.print(HELP))
            case (("exit" | "quit"), []):
                self.is_over = True
            case _:
                usage = f"usage: {command} {COMMANDS.get(command, '')}".rstrip()
                raise typer.BadParameter(f"{usage}.", param_hint=command)

    # Printing.

    def _print(self, document: dict[str, Any], show: Callable[[Console], None]) -> None:
        if self._as_json:
            self._print_line(document)
        else:
            show(make_console())
            sys.stdout.flush()

    def _print_line(self, document: dict[str, Any]) -> None:
        print(_statements.to_json_text(document, indent=False), flush=True)

    # Statements and patterns.

    def _require_keys(self, what: str) -> None:
        """Raise BadParameter if keys are not shown."""
        if not self._surface.shows_keys:
            raise typer.BadParameter("it would show keys; run a pattern.", param_hint=what)

    def _run_statement(self, statement: str, token: str | None = None) -> None:
        self._require_keys(statement.split(maxsplit=1)[0])
        request: dict[str, Any] = {"Statement": statement}
        if self._limit is not None:
            request["Limit"] = self._limit
        if token is not None:
            request["NextToken"] = token
        result = run_statement(self._executor, _HERE, request)
        units = result.units
        while not result.items and result.token is not None:
            # Skip empty pages: the filter excluded every item read.
            result = run_statement(self._executor, _HERE, {**request, "NextToken": result.token})
            units += result.units
        table = table_in(statement)
        if table is not None and result.items:
            self.names.remember(table, result.items)
        result = StatementResult(self._hide_secrets(table, result.items), result.token, units)
        following = result.token
        self._show_next_page = (
            None if following is None else lambda: self._run_statement(statement, following)
        )

        def show(console: Console) -> None:
            print_items(console, result.items)
            console.print(result.cost, style="dim")
            if following is not None:
                console.print(_MORE, style="dim")

        self._print(result.to_json(), show)

    def _hide_secrets(self, table: str | None, items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        declared = None if table is None else self.names.declared.get(table)
        if declared is None:
            return items
        schemas = [*declared.entities.values()]
        return [hide_secrets(schemas, each) for each in items]

    def _run_pattern(self, entry: str) -> None:
        if not self.names.declared:
            advice = "no tables are declared, so there are no patterns; see help."
            raise typer.BadParameter(advice, param_hint=entry.split(maxsplit=1)[0])
        try:
            words = shlex.split(entry)
        except ValueError as error:
            raise typer.BadParameter(f"{error}.", param_hint=name_in(entry)) from None
        named = shlex.split(name_in(entry))
        table, pattern = find_pattern(list(self.names.declared.values()), " ".join(named))
        flags = to_flags(pattern, words[len(named) :])
        arguments = read_arguments(pattern, flags, self._surface)
        request = make_request(pattern, arguments, self._surface)
        self._prepare_table(table, request)
        self._run_request(pattern.name, request)

    def _prepare_table(self, table: Table, request: Request[Any]) -> None:
        """Create a missing table if the request may do so; raises TableMissing otherwise."""
        # A principal may not list tables.
        if self._principal is None and table.name in self.names.stored:
            return
        if self._makes_tables and writes(request):
            self._store.create_table(table)
            self.names.forget()
        else:
            require_table(self._database, table.name, _HERE)

    def _run_request(self, pattern: str, request: Request[Any]) -> None:
        request = self._with_limit(request)
        result = run_request(self._store, self._log, request, self._surface)
        cursor = result.cursor
        if cursor is None:
            self._show_next_page = None
        else:
            asked = cast("Query[Any] | Scan[Any]", request)
            self._show_next_page = lambda: self._run_request(pattern, asked.after(cursor))

        def show(console: Console) -> None:
            print_request(console, request, result, self._surface)
            if cursor is not None:
                console.print(_MORE, style="dim")

        self._print(result.to_json(pattern, self._surface), show)

    def _with_limit(self, request: Request[Any]) -> Request[Any]:
        if self._limit is None or not isinstance(request, Query | Scan):
            return request
        pages = cast("Query[Any] | Scan[Any]", request)
        return pages.limit(self._limit) if pages.page_limit is None else pages

    def _show_next(self) -> None:
        if self._show_next_page is None:
            raise typer.BadParameter("there is no next page.", param_hint="next")
        self._show_next_page()

    # Listings.

    def _show_tables(self) -> None:
        self.names.forget()
        stored = self.names.stored
        missing = [name for name in self.names.declared if name not in stored]

        def show(console: Console) -> None:
            for name in stored:
                console.print(name)
            for name in missing:
                console.print(join_styled(name, ("  declared, not in the database", "dim")))
            if not stored and not missing:
                console.print("There are no tables.")

        self._print({"tables": stored, "declared": list(self.names.declared)}, show)

    def _describe(self, table: str) -> None:
        self.names.forget()
        description = self.names.describe(table)
        declared = self.names.declared.get(table)
        entities = {} if declared is None else declared.entities
        document: dict[str, Any] = {
            "table": table,
            "key": keys_of(description),
            "items": description["ItemCount"],
            "size_bytes": description["TableSizeBytes"],
            "indexes": [
                {
                    "name": each["IndexName"],
                    "key": keys_of(each),
                    "projection": each["Projection"]["ProjectionType"],
                }
                for each in indexes_of(description)
            ],
            "entities": list(entities),
        }

        def show(console: Console) -> None:
            size = (
                f"{count_of(document['items'], 'item')}, {count_of(document['size_bytes'], 'byte')}"
            )
            console.print(join_styled((table, "bold"), f"  {size}"))
            console.print(join_styled(("key       ", "dim"), ", ".join(document["key"])))
            for index in document["indexes"]:
                key = f"{', '.join(index['key'])} ({index['projection']})"
                console.print(join_styled(("index     ", "dim"), f"{index['name']}: {key}"))
            if entities:
                console.print(join_styled(("entities  ", "dim"), ", ".join(entities)))

        self._print(document, show)

    def _show_keys(self, table: str, prefix: str) -> None:
        self._require_keys("keys")
        found = self.names.find_keys(table, prefix, _KEYS_SHOWN)
        document = {"keys": found.keys, "all": found.is_all, "capacity_units": found.units}

        def show(console: Console) -> None:
            for key in found.keys:
                console.print(key)
            cost = f"{count_of(len(found.keys), 'key')}, {count_of(found.units, 'capacity unit')}"
            console.print(cost if found.is_all else f"{cost}; there may be more", style="dim")

        self._print(document, show)

    def _show_patterns(self) -> None:
        tables = self.names.declared.values()

        def show(console: Console) -> None:
            for table in tables:
                print_patterns(console, table, shows_keys=self._surface.shows_keys)
            if not tables:
                console.print("No tables are declared, so there are no patterns.")

        listed = [list_patterns(each, shows_keys=self._surface.shows_keys) for each in tables]
        self._print({"tables": listed}, show)


def _read_limit(text: str) -> int | None:
    if text == "off":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(
            f"{text!r} is neither a number above 0 nor off.", param_hint="limit"
        )
    return int(text)
