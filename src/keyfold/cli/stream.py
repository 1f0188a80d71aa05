"""`keyfold stream`: deliver a table's changes to its handlers, and manage dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._help import WrappedHelpGroup
from keyfold.cli._options import AsJson, Database, OneTableArgument, TableOption, show_examples
from keyfold.cli._quantities import count_of

if TYPE_CHECKING:
    # Imported when a command runs, so that --help does not load the engine.
    from keyfold import Store
    from keyfold.model import Table

app = typer.Typer(
    name="stream",
    help="Deliver a table's changes to handlers; manage dead letters.",
    no_args_is_help=True,
    cls=WrappedHelpGroup,
    rich_markup_mode=None,
)

_Name = Annotated[str, typer.Option("--name", help="The follower's name.", metavar="NAME")]


@app.command(
    epilog=show_examples(
        "keyfold stream follow market --db market.db",
        "keyfold stream follow market --db market.db --until-caught-up --json",
        "keyfold stream follow --table shop.tables:orders --db shop.db --worker mail-1",
    )
)
def follow(
    declared: OneTableArgument = None,
    *,
    db: Database,
    table: TableOption = None,
    name: _Name = "default",
    worker: Annotated[
        str | None,
        typer.Option(
            help="A fixed name for this worker, so that it resumes at once after a restart.",
            metavar="NAME",
        ),
    ] = None,
    start: Annotated[
        str, typer.Option(help="Where a new follower begins: oldest or latest.")
    ] = "oldest",
    attempts: Annotated[
        int,
        typer.Option(
            help="Call a failing handler N times before the change becomes a dead letter.",
            min=1,
            metavar="N",
        ),
    ] = 5,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Stop when there are no more changes.")
    ] = False,
    setup: Annotated[
        bool | None,
        typer.Option(
            help="Create the lease table and enable the stream; by default only for files.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Deliver a table's changes to its handlers.

    The handlers are the functions that the table's module declares with on_change. Runs until
    Ctrl-C or SIGTERM. Several workers can run at the same time; they share the work.
    """
    import signal
    import threading
    from dataclasses import asdict

    found = _find(declared, table)
    stop = threading.Event()

    def set_stop(number: int, frame: object) -> None:  # noqa: ARG001 - the signature of signal handlers
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
                start=start,  # type: ignore[arg-type] - `follow` checks it
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
    epilog=show_examples(
        "keyfold stream dead-letters market --db market.db",
        "keyfold stream dead-letters --table shop.tables:orders --db shop.db --json",
    ),
)
def dead_letters(
    declared: OneTableArgument = None,
    *,
    db: Database,
    table: TableOption = None,
    name: _Name = "default",
    as_json: AsJson = False,
) -> None:
    """List the dead letters: changes that a handler failed on.

    The state is "failed" if the handler raised an error, "waiting" if the change waits behind a
    failed change of the same item, and "retrying" if `keyfold stream retry` has scheduled a
    retry.

    Exits with 1 if there are any.
    """
    from dataclasses import asdict

    from keyfold.cli._terminal import make_console, make_table

    found = _find(declared, table)
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
    epilog=show_examples(
        "keyfold stream retry market --db market.db",
        "keyfold stream retry market --db market.db --handler reward_order",
    )
)
def retry(
    declared: OneTableArgument = None,
    *,
    db: Database,
    table: TableOption = None,
    name: _Name = "default",
    handler: Annotated[
        str | None, typer.Option(help="Only the dead letters of this handler.", metavar="NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Schedule a retry of the dead letters that failed.

    `keyfold stream follow`, if it is running or when you start it, then delivers them again, in
    order, followed by the changes that wait behind them.
    """
    found = _find(declared, table)
    with _open(found, db) as store:
        marked = store.retry_dead_letters(found, handler=handler, name=name)
    if as_json:
        _print_json({"table": found.name, "follower": name, "retrying": marked})
    else:
        print(f"{found.name}: {count_of(marked, 'dead letter')} scheduled for retry.")


def _find(name: str | None, option: str | None) -> Table:
    from keyfold.cli._tables import find_table

    return find_table(name, option)


def _open(table: Table, db: str) -> Store:
    from keyfold.cli._databases import open_store

    return open_store(table, db)


def _print_json(value: Any) -> None:
    from keyfold.cli._plain import to_json_text, to_plain

    print(to_json_text(to_plain(value)))
