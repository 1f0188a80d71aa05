"""`keyfold load`: write the items of a file into a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli import _moving
from keyfold.cli._options import AsJson, Database
from keyfold.cli.dump import Format

EXAMPLES = (
    "keyfold load orders.jsonl.gz --db shop.db --table shop.tables:market",
    "keyfold load AWSDynamoDB/01693685827463-2d8752fd --db shop.db --table market",
    "keyfold load orders.csv --db shop.db --table market --entity Order --merge",
    "keyfold load orders.jsonl --db dynamodb://eu-west-1 --name Orders --write-rate 500",
)


def load(
    file: Annotated[Path, typer.Argument(help="The file or folder to read.", metavar="FILE")],
    *,
    db: Database,
    table: _moving.TableOption = None,
    name: _moving.NameOption = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="As for `keyfold dump`; found out if left out."),
    ] = None,
    entity: Annotated[
        str | None,
        typer.Option(help="The entity that a csv file is of; of other files, load it alone."),
    ] = None,
    create: _moving.CreateOption = False,
    merge: _moving.MergeOption = False,
    segments: _moving.SegmentsOption = 4,
    read_rate: _moving.ReadRateOption = None,
    write_rate: _moving.WriteRateOption = None,
    no_verify: _moving.NoVerifyOption = False,
    checkpoint: _moving.CheckpointOption = None,
    rejects: _moving.RejectsOption = None,
    as_json: AsJson = False,
) -> None:
    """Load the items of a file into a table, and verify that everything arrived.

    FILE is one of DynamoDB's JSON, an item a line, compressed or not; a folder of such files, or
    one that DynamoDB exported to S3; or CSV, a file of one entity or a folder of several. With
    --table, items that do not fit their entity are put aside, and a table that a database file
    lacks is made. The same command again goes on where a load was interrupted.

    Exits with 1 if an item was not taken, or if the table does not hold what was read.
    """
    from keyfold.transfer import TableLocation, load_table

    declared = _moving.find_declared(table)
    if create and declared is None:
        fact = "a table is made as it is declared; say where with --table."
        raise typer.BadParameter(fact, param_hint="--create")
    # Nothing can be made without a declaration, not even the file.
    opened = _moving.open_source(db) if declared is None else _moving.open_target(db)
    with opened as written, _moving.ProgressDisplay(f"loading {file}") as show:
        called = name or (
            _moving.find_only_table(written, db) if declared is None else declared.name
        )
        options = _moving.make_options(
            show,
            checkpoint=checkpoint or file.with_name(f"{file.name}.checkpoint"),
            rejects=rejects or file.with_name(f"{file.name}.rejected.jsonl"),
            segments=segments,
            read_rate=read_rate,
            write_rate=write_rate,
            merges=merge,
            creates=create or _moving.is_file(db),
            verifies=not no_verify,
        )
        summary = load_table(
            file,
            TableLocation(written, db, called),
            options,
            form=None if form is None else form.value,
            declared=declared,
            entity=entity,
        )
    _moving.print_summaries("loaded", [summary], as_json=as_json)
