"""`keyfold copy`: take tables from one database to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli import _moving
from keyfold.cli._options import AsJson

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
    table: _moving.TableOption = None,
    name: _moving.NameOption = None,
    new_name: Annotated[
        str | None,
        typer.Option("--as", help="What the table is called in TO, if not alike.", metavar="NAME"),
    ] = None,
    with_leases: Annotated[
        bool,
        typer.Option(
            "--with-leases", help="Also copy the tables in which followers keep how far they are."
        ),
    ] = False,
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
    """Copy tables from one database to another, and verify that everything arrived.

    Every table of FROM is copied, unless --table or --name says which. Lease tables are left out:
    what followers keep there is about the streams of FROM, which are not copied. A table that TO
    lacks is made in a file; elsewhere only with --create. The same command again goes on where a
    copy was interrupted.

    Exits with 1 if an item was not taken, or if the copy is not what was read.
    """
    from keyfold.transfer import TableLocation, copy_table

    declared = _moving.find_declared(table)
    summaries: list[Summary] = []
    with _moving.open_source(source) as read, _moving.open_target(target) as written:
        wanted = name or (None if declared is None else declared.name)
        names = [wanted] if wanted is not None else _moving.list_tables(read)
        left_out: list[str] = []
        if wanted is None and not with_leases:
            names, left_out = _moving.leave_leases_out(read, names)
        _check_names(names, new_name, is_same=source == target, source=source)
        is_several = len(names) > 1
        kept: list[Path] = []
        for each in names:
            beside = [
                _moving.name_beside("copy", each, ending, target, source)
                for ending in ("checkpoint", "rejected.jsonl")
            ]
            kept.append(_moving.name_for(checkpoint, each, beside[0], is_one_of_several=is_several))
            aside = _moving.name_for(rejects, each, beside[1], is_one_of_several=is_several)
            with _moving.ProgressDisplay(f"copying {each}") as show:
                options = _moving.make_options(
                    show,
                    checkpoint=kept[-1],
                    rejects=aside,
                    segments=segments,
                    read_rate=read_rate,
                    write_rate=write_rate,
                    merges=merge,
                    creates=create or _moving.is_file(target),
                    verifies=not no_verify,
                    # All go at once: a run that is killed must not find some copied and forgotten.
                    keeps=is_several,
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
            print(f"{each}: left out, a lease table. --with-leases copies it.", file=sys.stderr)
    _moving.print_summaries("copied", summaries, as_json=as_json, left_out=left_out)


def _check_names(names: list[str], new_name: str | None, *, is_same: bool, source: str) -> None:
    from keyfold.errors import TableMissing

    if not names:
        raise TableMissing(source, "it has no tables", "There is nothing to copy.")
    if new_name is not None and len(names) > 1:
        fact = f"{len(names)} tables cannot all be called {new_name!r}; say which with --name."
        raise typer.BadParameter(fact, param_hint="--as")
    if is_same and (new_name or names[0]) == names[0]:
        fact = "a table cannot be copied onto itself; call it something else."
        raise typer.BadParameter(fact, param_hint="--as")
