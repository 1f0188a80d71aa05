"""`keyfold copy`: copy tables from one database to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli import _transfers
from keyfold.cli._options import AsJson, TableOption

if TYPE_CHECKING:
    from keyfold.transfer import Summary

EXAMPLES = (
    "keyfold copy shop.db backup.db",
    "keyfold copy shop.db dynamodb://eu-west-1 --table market --create",
    "keyfold copy dynamodb://eu-west-1 shop.db --table shop.tables:market --read-rate 100",
    "keyfold copy shop.db shop.db --name Orders --as OrdersCopy",
)


def copy(
    source: Annotated[str, typer.Argument(help="The database to read.", metavar="FROM")],
    target: Annotated[str, typer.Argument(help="The database to write.", metavar="TO")],
    *,
    table: TableOption = None,
    name: _transfers.NameOption = None,
    new_name: Annotated[
        str | None,
        typer.Option("--as", help="The table's name in TO, if it differs.", metavar="NAME"),
    ] = None,
    with_leases: Annotated[
        bool,
        typer.Option(
            "--with-leases", help="Also copy lease tables, which hold stream followers' positions."
        ),
    ] = False,
    create: _transfers.CreateOption = False,
    merge: _transfers.MergeOption = False,
    segments: _transfers.SegmentsOption = 4,
    read_rate: _transfers.ReadRateOption = None,
    write_rate: _transfers.WriteRateOption = None,
    no_verify: _transfers.NoVerifyOption = False,
    checkpoint: _transfers.CheckpointOption = None,
    rejects: _transfers.RejectsOption = None,
    as_json: AsJson = False,
) -> None:
    """Copy tables from one database to another, and verify the copy.

    Copies every table of FROM, or only the one given by --table or --name. Lease tables are
    skipped: they hold positions in the streams of FROM, and streams are not copied. A table that is
    missing in TO is created if TO is a file, otherwise only with --create. If interrupted, run
    the same command again: it resumes.

    Exits with 1 if items were rejected, or if the copy differs from what was read.
    """
    from keyfold.transfer import Options, TableLocation, copy_table

    declared = _transfers.find_declared(table)
    summaries: list[Summary] = []
    with _transfers.open_source(source) as read, _transfers.open_target(target) as written:
        wanted = name or (None if declared is None else declared.name)
        names = [wanted] if wanted is not None else _transfers.list_tables(read)
        left_out: list[str] = []
        if wanted is None and not with_leases:
            names, left_out = _transfers.split_off_lease_tables(read, names)
        _check_names(names, new_name, is_same=source == target, source=source)
        has_several = len(names) > 1
        kept: list[Path] = []
        for each in names:
            beside = [
                _transfers.path_beside("copy", each, ending, target, source)
                for ending in ("checkpoint", "rejected.jsonl")
            ]
            kept.append(
                _transfers.choose_path(checkpoint, each, beside[0], is_one_of_several=has_several)
            )
            rejects_path = _transfers.choose_path(
                rejects, each, beside[1], is_one_of_several=has_several
            )
            with _transfers.ProgressDisplay(f"copying {each}") as display:
                options = Options(
                    watch=display,
                    checkpoint=kept[-1],
                    rejects=rejects_path,
                    segments=segments,
                    read_rate=read_rate,
                    write_rate=write_rate,
                    merges=merge,
                    creates=create or _transfers.is_file(target),
                    verifies=not no_verify,
                    # Deleted together at the end: a table that is copied but has no checkpoint
                    # would be refused as not empty when a killed run is resumed.
                    keeps_checkpoint=has_several,
                )
                origin, goal = (
                    TableLocation(read, source, each),
                    TableLocation(written, target, new_name or each),
                )
                summaries.append(copy_table(origin, goal, options, declared=declared))
        for path in kept:
            path.unlink(missing_ok=True)
    if not as_json:
        for each in left_out:
            print(f"{each}: skipped, a lease table. --with-leases copies it.", file=sys.stderr)
    _transfers.print_summaries("copied", summaries, as_json=as_json, left_out=left_out)


def _check_names(names: list[str], new_name: str | None, *, is_same: bool, source: str) -> None:
    from keyfold.errors import TableMissing

    if not names:
        raise TableMissing(source, "it has no tables", "There is nothing to copy.")
    if new_name is not None and len(names) > 1:
        fact = f"{len(names)} tables cannot all be named {new_name!r}; choose one with --name."
        raise typer.BadParameter(fact, param_hint="--as")
    if is_same and (new_name or names[0]) == names[0]:
        fact = "a table cannot be copied onto itself; give the copy another name."
        raise typer.BadParameter(fact, param_hint="--as")
