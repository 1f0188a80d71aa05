"""`keyfold stream`: hand a table's changes to its handlers, and see to those that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._options import AsJson, Database, Design, OwnTable, show_examples
from keyfold.cli._quantities import count_of

if TYPE_CHECKING:
    # At run time these wait until a command runs, so that help loads no engine.
    from keyfold import Store
    from keyfold.model import Table

app = typer.Typer(
    name="stream",
    help="Hand a table's changes to its handlers, and see to those that failed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Name = Annotated[str, typer.Option("--name", help="Which follower.", metavar="NAME")]


def _show_examples(*examples: str) -> str:
    return show_examples(f"keyfold stream {each}" for each in examples)


@app.command(
    epilog=_show_examples(
        "follow market --db market.db",
        "follow market --db market.db --until-caught-up --json",
        "follow --table shop.tables:orders --db shop.db --worker mail-1",
    )
)
def follow(
    design: Design = None,
    *,
    db: Database,
    table: OwnTable = None,
    name: _Name = "default",
    worker: Annotated[
        str | None,
        typer.Option(help="A name to go on under at once after a crash.", metavar="NAME"),
    ] = None,
    start: Annotated[
        str, typer.Option(help="Begin with the oldest change there is, or the latest.")
    ] = "oldest",
    attempts: Annotated[
        int, typer.Option(help="How often to call a handler that fails.", min=1, metavar="N")
    ] = 5,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Stop when nothing is left to read.")
    ] = False,
    setup: Annotated[
        bool | None,
        typer.Option(
            help="Make the lease table, and switch the stream on; by default for files only.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hand the changes of a table to its handlers, until Ctrl-C or SIGTERM.

    Handlers are those that the table's module declares with on_change. Several of these may run
    at once: they share the work.
    """
    import signal
    import threading
    from dataclasses import asdict

    found = _find(design, table)
    stop = threading.Event()

    def set_stop(number: int, frame: object) -> None:  # noqa: ARG001 - as signals are told
        stop.set()

    with _open(found, db) as store:
        before = {
            number: signal.signal(number, set_stop) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            done = store.follow(
                found,
                name=name,
                worker=worker,
                start=start,  # type: ignore[arg-type] - it is checked where it is taken
                attempts=attempts,
                until_caught_up=until_caught_up,
                stop=stop,
                setup=setup,
            )
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if as_json:
        _print_json({"table": found.name, "follower": name, **asdict(done)})
    else:
        print(
            f"{found.name}: {count_of(done.records, 'change')}, {done.handled:,} handled, "
            f"{count_of(done.dead_letters, 'dead letter')}, {count_of(done.gaps, 'gap')}."
        )


@app.command(
    "dead-letters",
    epilog=_show_examples(
        "dead-letters market --db market.db",
        "dead-letters --table shop.tables:orders --db shop.db --json",
    ),
)
def dead_letters(
    design: Design = None,
    *,
    db: Database,
    table: OwnTable = None,
    name: _Name = "default",
    as_json: AsJson = False,
) -> None:
    """Show the changes that a handler could not take, with its error; exits with 1 if there are.

    "failed" is one that its handler raised an error for, "waiting" a later one of the same item,
    "again" one that is to be handed out again.
    """
    from dataclasses import asdict

    from keyfold.cli._terminal import make_console, make_table

    found = _find(design, table)
    with _open(found, db) as store:
        changes = store.dead_letters(found, name=name)
    if as_json:
        listed = [asdict(change) for change in changes]
        _print_json({"table": found.name, "follower": name, "dead_letters": listed})
    elif changes:
        shown = make_table()
        for column in ("handler", "item", "change", "at", "state", "attempts", "error"):
            shown.add_column(column)
        for change in changes:
            shown.add_row(
                change.handler,
                change.key,
                change.kind,
                change.changed_at.isoformat(),
                change.state,
                str(change.attempts),
                change.error,
            )
        make_console().print(shown)
    else:
        print(f"{found.name}: no dead letters.")
    raise typer.Exit(1 if changes else 0)


@app.command(
    epilog=_show_examples(
        "retry market --db market.db", "retry market --db market.db --handler reward_order"
    )
)
def retry(
    design: Design = None,
    *,
    db: Database,
    table: OwnTable = None,
    name: _Name = "default",
    handler: Annotated[
        str | None, typer.Option(help="Only what this handler could not take.", metavar="NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let the changes that failed be handed out again.

    Whoever follows the table hands them out, in order, with what waits behind them: a process
    that runs, or the next `keyfold stream follow`.
    """
    found = _find(design, table)
    with _open(found, db) as store:
        marked = store.retry_dead_letters(found, handler=handler, name=name)
    if as_json:
        _print_json({"table": found.name, "follower": name, "again": marked})
    else:
        print(f"{found.name}: {count_of(marked, 'change')} will be handed out again.")


def _find(design: str | None, path: str | None) -> Table:
    from keyfold.cli._tables import find_tables

    tables = find_tables(design, path)
    if len(tables) > 1:
        known = ", ".join(table.name for table in tables)
        raise typer.BadParameter(f"name one of {known}.", param_hint="DESIGN")
    return tables[0]


def _open(table: Table, db: str) -> Store:
    from keyfold.cli._databases import open_store

    return open_store(table, db)


def _print_json(value: Any) -> None:
    from keyfold.cli._plain import to_json_text, to_plain

    print(to_json_text(to_plain(value)))
