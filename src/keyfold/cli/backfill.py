"""`keyfold backfill`: bring stored items up to date with their declaration."""

from __future__ import annotations

from typing import Annotated

import typer

from keyfold.cli import _moving
from keyfold.cli._options import AsJson, Database

EXAMPLES = (
    "keyfold backfill market --db shop.db --dry-run",
    "keyfold backfill shop.tables:market --db shop.db",
    "keyfold backfill market --db dynamodb://eu-west-1 --write-rate 50",
)


def backfill(
    table: Annotated[
        str,
        typer.Argument(
            help="The declaration: a design, a project's table, or MODULE:NAME.", metavar="TABLE"
        ),
    ],
    *,
    db: Database,
    name: _moving.NameOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing, and show what would be changed.")
    ] = False,
    segments: _moving.SegmentsOption = 4,
    read_rate: _moving.ReadRateOption = None,
    write_rate: _moving.WriteRateOption = None,
    checkpoint: _moving.CheckpointOption = None,
    rejects: _moving.RejectsOption = None,
    as_json: AsJson = False,
) -> None:
    """Rewrite index keys, type attributes and defaults that are not as declared.

    For after an index was added, the template of an index key changed, or a field got a
    default. Only those attributes are written, each on the condition that nobody has changed
    what it comes from, so the table may be in use. The same command again goes on where a
    backfill was interrupted.

    Exits with 1 if an item fits no entity; such items are left as they are.
    """
    from keyfold.transfer import TableLocation, backfill_table

    declared = _moving.find_declared(table, hint="TABLE")
    assert declared is not None  # it was named
    called = name or declared.name
    with (
        _moving.open_source(db) as database,
        _moving.ProgressDisplay(f"backfilling {called}") as show,
    ):
        options = _moving.make_options(
            show,
            checkpoint=checkpoint or _moving.name_beside("backfill", called, "checkpoint", db),
            rejects=rejects or _moving.name_beside("backfill", called, "rejected.jsonl", db),
            segments=segments,
            read_rate=read_rate,
            write_rate=write_rate,
        )
        summary = backfill_table(
            TableLocation(database, db, called), declared, options, is_dry=dry_run
        )
    _moving.print_backfill(summary, as_json=as_json)
