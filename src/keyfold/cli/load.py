"""`keyfold load`: write the items of a file to a table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli import _transfers
from keyfold.cli._options import AsJson, Database, TableOption

EXAMPLES = (
    "keyfold load orders.jsonl.gz --db shop.db --table shop.tables:market",
    "keyfold load AWSDynamoDB/01693685827463-2d8752fd --db shop.db --table market",
    "keyfold load rates.json --db rates.db --table exchange_rates",
    "keyfold load orders.csv --db shop.db --table market --entity Order --merge",
    "keyfold load orders.jsonl --db dynamodb://eu-west-1 --name Orders --write-rate 500",
)


class LoadFormat(StrEnum):
    """The format of a file or folder to load."""

    LINES = "lines"
    JSON = "json"
    EXPORT = "export"
    CSV = "csv"


def load(
    file: Annotated[Path, typer.Argument(help="The file or folder to read.", metavar="FILE")],
    *,
    db: Database,
    table: TableOption = None,
    name: _transfers.NameOption = None,
    form: Annotated[
        LoadFormat | None,
        typer.Option(
            "--format",
            help="lines: JSON, one item per line; json: an array of items, or items one after "
            "another; export, csv: as for `keyfold dump`. By default, the content tells.",
        ),
    ] = None,
    entity: Annotated[
        str | None,
        typer.Option(help="The entity of a csv file; from other files, load only this entity."),
    ] = None,
    create: _transfers.CreateOption = False,
    merge: _transfers.MergeOption = False,
    as_is: Annotated[
        bool,
        typer.Option("--as-is", help="Write items as they are, without bringing them up to date."),
    ] = False,
    segments: _transfers.SegmentsOption = 4,
    read_rate: _transfers.ReadRateOption = None,
    write_rate: _transfers.WriteRateOption = None,
    no_verify: _transfers.NoVerifyOption = False,
    checkpoint: _transfers.CheckpointOption = None,
    rejects: _transfers.RejectsOption = None,
    as_json: AsJson = False,
) -> None:
    """Load the items of a file into a table, and verify the table.

    FILE has items as DynamoDB JSON or plain JSON, compressed or not: one per line, in an array, or
    one after another. Or it is a folder of such files, a folder that DynamoDB exported to S3, a CSV
    file of one entity, or a folder of CSV files. With --table, items that do not match their entity
    are rejected, the others are brought up to date, and a table that is missing in a database file
    is created. If interrupted, run the same command again: it resumes.

    Exits with 1 if items were rejected, or if the table differs from what was read.
    """
    from keyfold.transfer import Options, TableLocation, load_table

    declared = _transfers.find_declared(table)
    if create and declared is None:
        fact = "creating a table needs its declaration; give --table."
        raise typer.BadParameter(fact, param_hint="--create")
    # Without a declaration nothing can be created, so a missing file is an error.
    opened = _transfers.open_source(db) if declared is None else _transfers.open_target(db)
    with opened as written, _transfers.ProgressDisplay(f"loading {file}") as display:
        called = _transfers.choose_table(name, declared, written, db)
        options = Options(
            watch=display,
            checkpoint=checkpoint or file.with_name(f"{file.name}.checkpoint"),
            rejects=rejects or file.with_name(f"{file.name}.rejected.jsonl"),
            segments=segments,
            read_rate=read_rate,
            write_rate=write_rate,
            merges=merge,
            creates=create or _transfers.is_file(db),
            verifies=not no_verify,
        )
        summary = load_table(
            file,
            TableLocation(written, db, called),
            options,
            form=None if form is None else form.value,
            declared=declared,
            entity=entity,
            as_is=as_is,
        )
    _transfers.print_summaries("loaded", [summary], as_json=as_json)
