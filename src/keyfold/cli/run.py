"""`keyfold run`: run one access pattern of a table."""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from keyfold.cli._completion import complete_patterns, complete_tables_and_patterns
from keyfold.cli._options import AsJson, Database, TableOption
from keyfold.cli._principals import Ids, Principal, Roles, read_principal, split_ids
from keyfold.cli._times import parse_time
from keyfold.errors import KeyfoldError

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the engine.
    from collections.abc import Callable

    from keyfold.cli._requests import PatternResult
    from keyfold.cli._surfaces import Surface
    from keyfold.clocks import Clock
    from keyfold.model import Request, Table

# Typer settings of the command: options it does not know are parameters of the pattern.
SETTINGS: dict[str, Any] = {
    "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
    "options_metavar": "[OPTIONS] [--PARAMETER VALUE]...",
}
EXAMPLES = (
    "keyfold run market last-orders --user rabinovich --count 5 --db demo.db",
    "keyfold run market last-orders --user ada --count 5 --as customer --id user=ada --db demo.db",
    "keyfold run exchange_rates Get --base USD --target EUR --db demo.db --json",
    "keyfold run letsgo list-items --category article --limit 20 --db demo.db",
    "keyfold run --table shop.tables:market recent-orders --user ada --db shop.db",
)


def run(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="As --table; by default all tables of the project.",
            metavar="TABLE",
            autocompletion=complete_tables_and_patterns,
        ),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Argument(
            help="The pattern's name.", metavar="PATTERN", autocompletion=complete_patterns
        ),
    ] = None,
    *,
    db: Database,
    table: TableOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Show at most N items, and a cursor for the next ones.", min=1, metavar="N"
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            "--next", help="Continue after the page that gave this cursor.", metavar="CURSOR"
        ),
    ] = None,
    now: Annotated[
        datetime | None,
        typer.Option(
            help="Run the pattern as if it were this time, such as 2026-01-31T12:00Z.",
            parser=parse_time,
            metavar="TIME",
        ),
    ] = None,
    roles: Roles = None,
    ids: Ids = None,
    as_json: AsJson = False,
) -> None:
    """Run one access pattern; show its result and what it cost.

    PATTERN is the name of a pattern or of its function, or an unambiguous prefix of one;
    `keyfold patterns` lists them with their parameters. Give each parameter as --name VALUE.
    Values are parsed by type: times as 2026-01-31T12:00 (UTC unless they have a time zone),
    durations as 12h, PT12H or in seconds, entities and lists as JSON. If a parameter has the same
    name as an option, put it after a separate --. Without --limit, a query shows everything it finds.

    With --now, the pattern runs as if it were that time: items expire by it, and what the pattern
    writes has it. The clock of a server stays as it is.

    With --as, the pattern runs as a principal with that role, and everything that the role does
    not allow is denied. If the pattern has a parameter `id`, an --id is the principal's if it is
    NAME=VALUE with the name of the role's tenant. End users get and give handles instead of
    system keys; on a service, these are sealed with the key in KEYFOLD_CURSOR_KEY, or with one
    that is kept in your state directory.

    Exits with 1 if a pattern that reads one item finds none, if the condition of a write fails, or
    if the role denies access. A pattern that writes creates the database file if it does not
    exist, except with --as.
    """
    from keyfold.cli._arguments import make_request, read_arguments, takes
    from keyfold.cli._errors import PublicError, is_negative, print_error, to_json
    from keyfold.cli._plain import to_json_text
    from keyfold.cli._requests import print_request, writes
    from keyfold.cli._tables import find_pattern
    from keyfold.cli._terminal import make_console

    # Without TABLE, the words after it were parsed into its place: rebuild the list of words.
    words = [each for each in (name, pattern, *context.args) if each is not None]
    tables, named, rest = _split(words, table)
    found, chosen = find_pattern(tables, named)
    if limit is not None and takes(chosen, "limit"):
        rest, limit = [*rest, f"--limit={limit}"], None
    if after is not None and takes(chosen, "next_token"):
        rest, after = [*rest, f"--next-token={after}"], None
    own_ids, other_ids = split_ids(found, chosen, roles, ids)
    rest += [f"--id={each}" for each in other_ids]
    principal = read_principal(roles, own_ids)

    clock = time.time if now is None else now.timestamp

    def make(surface: Surface) -> Request[Any]:
        arguments = read_arguments(chosen, rest, surface)
        return _with_pages(make_request(chosen, arguments, surface), limit, after)

    try:
        if principal is None:
            request, result, surface = _run(found, db, make, clock)
        else:
            request, result, surface = _run_as(principal, found, db, make, clock)
    except (KeyfoldError, PublicError) as error:
        if not is_negative(error):
            raise
        # A failed condition or a denial is a result: with --json it goes to standard output.
        if as_json:
            print(json.dumps({"pattern": chosen.name, **to_json(error)}, indent=2))
        else:
            print_error(error, as_json=False)
        raise typer.Exit(1) from None
    if as_json:
        print(to_json_text(result.to_json(chosen.name, surface)))
    else:
        print_request(make_console(), request, result, surface)
        if result.cursor is not None:
            print(f"There are more items: --next {result.cursor}", file=sys.stderr)
    is_missing = result.value is None and not writes(request)
    raise typer.Exit(1 if is_missing else 0)


def _split(words: list[str], path: str | None) -> tuple[list[Table], str, list[str]]:
    """Return the tables, the pattern's name, and the words that are its arguments."""
    from keyfold.cli._tables import find_project, find_tables, look_up_table

    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    names, rest = words[:first], words[first:]
    if path is not None:
        tables = find_tables(None, path)
    else:
        project = find_project()
        # In a project, the pattern's name alone is enough.
        is_named = project == ([], []) or (
            len(names) > 1
            and (":" in names[0] or look_up_table(names[0], project.tables) is not None)
        )
        tables = find_tables(names.pop(0) if names and is_named else None)
    if not names:
        listed = "\n".join(f"  {name}" for each in tables for name in each.patterns)
        raise typer.BadParameter(f"name a pattern. There are:\n{listed}", param_hint="PATTERN")
    return tables, " ".join(names), rest


def _with_pages(request: Request[Any], limit: int | None, after: str | None) -> Request[Any]:
    from keyfold import Query, Scan

    if limit is None and after is None:
        return request
    if not isinstance(request, Query | Scan):
        given = "--limit" if limit is not None else "--next"
        raise typer.BadParameter(
            "the pattern is not a query, so it has no pages.", param_hint=given
        )
    asked = cast("Query[Any] | Scan[Any]", request)
    if limit is not None:
        asked = asked.limit(limit)
    return asked if after is None else asked.after(after)


def _run(
    table: Table, db: str, make: Callable[[Surface], Request[Any]], clock: Clock
) -> tuple[Request[Any], PatternResult, Surface]:
    from keyfold.cli._databases import open_store
    from keyfold.cli._requests import run_request, writes
    from keyfold.cli._surfaces import Surface
    from keyfold.store._sent_calls import CallLog

    log, surface = CallLog([table]), Surface()
    request = make(surface)
    with open_store(table, db, creates=writes(request), on_call=[log], clock=clock) as store:
        return request, run_request(store, log, request), surface


def _run_as(
    principal: Principal,
    table: Table,
    db: str,
    make: Callable[[Surface], Request[Any]],
    clock: Clock,
) -> tuple[Request[Any], PatternResult, Surface]:
    """Run a request as a principal; the database has the key to handles in its arguments."""
    from keyfold.cli._databases import open_store
    from keyfold.cli._requests import run_request
    from keyfold.cli._surfaces import Surface
    from keyfold.store._sent_calls import CallLog

    log = CallLog([table])
    with open_store(table, db, needs_lasting_key=True, on_call=[log], clock=clock) as whole:
        store = principal.restrict(whole)
        surface = Surface(store.handles)
        log.shows_keys = surface.shows_keys
        with surface.public_errors():
            request = make(surface)
            return request, run_request(store, log, request, surface), surface
