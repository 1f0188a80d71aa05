"""`keyfold backfill`: update stored items to match their table's declaration."""

from __future__ import annotations

from typing import Annotated

import typer

from keyfold.cli import _transfers
from keyfold.cli._options import AsJson, Database, OneTableArgument, TableOption

EXAMPLES = (
    "keyfold backfill market --db shop.db --dry-run",
    "keyfold backfill shop.tables:market --db shop.db",
    "keyfold backfill market --db dynamodb://eu-west-1 --write-rate 50",
)


def backfill(
    declared: OneTableArgument = None,
    *,
    db: Database,
    table: TableOption = None,
    name: _transfers.NameOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be changed, without changing it.")
    ] = False,
    segments: _transfers.SegmentsOption = 4,
    read_rate: _transfers.ReadRateOption = None,
    write_rate: _transfers.WriteRateOption = None,
    checkpoint: _transfers.CheckpointOption = None,
    rejects: _transfers.RejectsOption = None,
    as_json: AsJson = False,
) -> None:
    """Update stored items to match their table's declaration.

    Run it after you add an index, change the template of an index key, give a field a default,
    rename what is stored, or change an upgrade. It writes the attributes that the declaration
    would store in another form, and leaves those alone that are not declared. The table can stay
    in use: an item that changes in the meantime is read and checked again. If interrupted, run
    the same command again: it resumes.

    First, it makes the guards of fields that became unique, and replaces those of a former format.
    If several items have one value, it lists them and changes nothing.

    Exits with 1 if items match no entity, which are left unchanged, or if there are duplicates.
    """
    from keyfold.cli._tables import find_table
    from keyfold.transfer import Options, TableLocation, backfill_table

    found = find_table(declared, table)
    called = name or found.name
    with (
        _transfers.open_source(db) as database,
        _transfers.ProgressDisplay(f"backfilling {called}") as display,
    ):
        options = Options(
            watch=display,
            checkpoint=checkpoint or _transfers.path_beside("backfill", called, "checkpoint", db),
            rejects=rejects or _transfers.path_beside("backfill", called, "rejected.jsonl", db),
            segments=segments,
            read_rate=read_rate,
            write_rate=write_rate,
        )
        summary = backfill_table(
            TableLocation(database, db, called), found, options, is_dry=dry_run
        )
    _transfers.print_backfill(summary, as_json=as_json)
