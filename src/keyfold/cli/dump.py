"""`keyfold dump`: write a table's items into a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from keyfold.cli import _moving
from keyfold.cli._options import AsJson, Database

EXAMPLES = (
    "keyfold dump orders.jsonl.gz --db shop.db --name Orders",
    "keyfold dump market --format csv --db shop.db --table market",
    "keyfold dump orders.csv --db shop.db --table shop.tables:market --entity Order",
    "keyfold dump export --format export --db dynamodb://eu-west-1 --name Orders",
)


class Format(StrEnum):
    """What a file, or a folder, of items looks like."""

    LINES = "lines"
    EXPORT = "export"
    CSV = "csv"


def dump(
    file: Annotated[Path, typer.Argument(help="The file or folder to write.", metavar="FILE")],
    *,
    db: Database,
    table: _moving.TableOption = None,
    name: _moving.NameOption = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="lines of DynamoDB's JSON, the default; export, a folder laid out as DynamoDB's "
            "exports to S3; or csv, which needs --table.",
        ),
    ] = None,
    entity: Annotated[
        str | None, typer.Option(help="Dump this entity alone; as csv, into one file.")
    ] = None,
    segments: _moving.SegmentsOption = 4,
    read_rate: _moving.ReadRateOption = None,
    no_verify: _moving.NoVerifyOption = False,
    checkpoint: _moving.CheckpointOption = None,
    rejects: _moving.RejectsOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a table's items into a file, which appears whole or not at all.

    A name that ends in .gz is compressed; one that ends in .csv is CSV, for which --entity says
    of which. Without --entity, csv makes a folder with a file for each. The same command again
    goes on where a dump was interrupted.

    Exits with 1 if an item was not taken, or if the file does not hold what was read.
    """
    from keyfold.transfer import TableLocation, dump_table

    declared = _moving.find_declared(table)
    chosen = form or (Format.CSV if file.suffix == ".csv" else Format.LINES)
    if declared is None and (chosen is Format.CSV or entity is not None):
        asked = "CSV" if entity is None else "--entity"
        fact = f"{asked} needs the table's declaration, a design or MODULE:NAME."
        raise typer.BadParameter(fact, param_hint="--table")
    if chosen is Format.CSV and file.suffix == ".csv" and entity is None:
        fact = f"{file} is one file, of one entity; say which, or name a folder."
        raise typer.BadParameter(fact, param_hint="--entity")
    with _moving.open_source(db) as read, _moving.ProgressDisplay(f"dumping to {file}") as show:
        called = name or (_moving.find_only_table(read, db) if declared is None else declared.name)
        options = _moving.make_options(
            show,
            checkpoint=checkpoint or file.with_name(f"{file.name}.checkpoint"),
            rejects=rejects or file.with_name(f"{file.name}.rejected.jsonl"),
            segments=segments,
            read_rate=read_rate,
            verifies=not no_verify,
        )
        place = TableLocation(read, db, called)
        summary = dump_table(
            place, file, options, form=chosen.value, declared=declared, entity=entity
        )
    _moving.print_summaries("dumped", [summary], as_json=as_json)
