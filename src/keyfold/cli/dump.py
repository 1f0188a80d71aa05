"""`keyfold dump`: write a table's items to a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli import _transfers
from keyfold.cli._options import AsJson, Database, TableOption

EXAMPLES = (
    "keyfold dump orders.jsonl.gz --db shop.db --name Orders",
    "keyfold dump market --format csv --db shop.db --table market",
    "keyfold dump orders.csv --db shop.db --table shop.tables:market --entity Order",
    "keyfold dump export --format export --db dynamodb://eu-west-1 --name Orders",
)


class Format(StrEnum):
    """The format of a file or folder of items."""

    LINES = "lines"
    EXPORT = "export"
    CSV = "csv"


def dump(
    file: Annotated[Path, typer.Argument(help="The file or folder to write.", metavar="FILE")],
    *,
    db: Database,
    table: TableOption = None,
    name: _transfers.NameOption = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="lines: DynamoDB JSON, one item per line (the default); export: a folder laid out "
            "like DynamoDB's exports to S3; csv: needs --table.",
        ),
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="Dump only this entity; csv is then a single file.")
    ] = None,
    segments: _transfers.SegmentsOption = 4,
    read_rate: _transfers.ReadRateOption = None,
    no_verify: _transfers.NoVerifyOption = False,
    checkpoint: _transfers.CheckpointOption = None,
    rejects: _transfers.RejectsOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a table's items to a file, and verify the file.

    A name that ends in .gz gives a compressed file; one that ends in .csv gives CSV and needs
    --entity. With --format csv and without --entity, FILE is a folder with a file for each
    entity. FILE appears only once it is complete. If interrupted, run the same command again: it
    resumes.

    Exits with 1 if items were rejected, or if the file differs from what was read.
    """
    from keyfold.transfer import Options, TableLocation, dump_table

    declared = _transfers.find_declared(table)
    chosen = form or (Format.CSV if file.suffix == ".csv" else Format.LINES)
    if declared is None and (chosen is Format.CSV or entity is not None):
        asked = "CSV" if entity is None else "--entity"
        fact = f"{asked} needs the table's declaration: a design or MODULE:NAME."
        raise typer.BadParameter(fact, param_hint="--table")
    if chosen is Format.CSV and file.suffix == ".csv" and entity is None:
        fact = f"{file} is a CSV file of one entity; name the entity, or name a folder."
        raise typer.BadParameter(fact, param_hint="--entity")
    with (
        _transfers.open_source(db) as read,
        _transfers.ProgressDisplay(f"dumping to {file}") as display,
    ):
        called = _transfers.choose_table(name, declared, read, db)
        options = Options(
            watch=display,
            checkpoint=checkpoint or file.with_name(f"{file.name}.checkpoint"),
            rejects=rejects or file.with_name(f"{file.name}.rejected.jsonl"),
            segments=segments,
            read_rate=read_rate,
            verifies=not no_verify,
        )
        location = TableLocation(read, db, called)
        summary = dump_table(
            location, file, options, form=chosen.value, declared=declared, entity=entity
        )
    _transfers.print_summaries("dumped", [summary], as_json=as_json)
