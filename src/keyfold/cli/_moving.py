"""What the commands that move data share: their options, their progress, their summaries."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from keyfold.cli._quantities import count_of, show_seconds, show_size, show_units

if TYPE_CHECKING:
    # At run time these wait until a command runs, so that help loads no engine.
    from rich.progress import Progress as Bar

    from keyfold.model import Table
    from keyfold.store import Executor
    from keyfold.transfer import BackfillSummary, Options, Progress, Summary

# How often a line is printed where no bar can be drawn.
_LINE_SECONDS = 5.0


def _check_rate(rate: float | None) -> float | None:
    # Before anything is opened, or made.
    if rate is not None and not rate > 0:
        raise typer.BadParameter(f"{rate:g} units a second never come to an end; give more.")
    return rate


TableOption = Annotated[
    str | None,
    typer.Option(
        help="The declaration that items are checked by: a design, a project's table, or "
        "where one of your own is declared.",
        metavar="MODULE:NAME",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        help="What the table is called in the database, if not as declared.", metavar="NAME"
    ),
]
SegmentsOption = Annotated[
    int, typer.Option(help="How many segments are moved side by side.", min=1, max=1000)
]
ReadRateOption = Annotated[
    float | None,
    typer.Option(
        help="Read at most so many capacity units a second.", metavar="UNITS", callback=_check_rate
    ),
]
WriteRateOption = Annotated[
    float | None,
    typer.Option(
        help="Write at most so many capacity units a second.", metavar="UNITS", callback=_check_rate
    ),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(help="Where to keep how far the job is; by default beside the file."),
]
RejectsOption = Annotated[
    Path | None,
    typer.Option(help="Where to put items that are not taken; by default beside the file."),
]
MergeOption = Annotated[
    bool, typer.Option("--merge", help="Write into a table that holds items already.")
]
CreateOption = Annotated[
    bool,
    typer.Option("--create", help="Make the table if it is not there, as is done in a file."),
]
NoVerifyOption = Annotated[
    bool, typer.Option("--no-verify", help="Do not compare count and checksum in the end.")
]


def find_declared(text: str | None, hint: str = "--table") -> Table | None:
    """Return the table that an option, or an argument, names; raises BadParameter."""
    from keyfold.cli._tables import find_tables

    if text is None:
        return None
    is_path = ":" in text
    name, path = (None, text) if is_path else (text, None)
    return find_tables(name, path, hint=hint)[0]


def is_file(url: str) -> bool:
    """Tell whether a URL is the path of a file."""
    return "://" not in url and url != ":memory:"


def open_source(url: str) -> AbstractContextManager[Executor]:
    """Open a database that is there; raises FileUnreachable."""
    from keyfold.connect import open_executor

    return open_executor(url, keeps_expired=True)


def open_target(url: str) -> AbstractContextManager[Executor]:
    """Open a database to write to; a file is made if it is not there."""
    from keyfold.connect import open_executor

    return open_executor(url, may_make=True, keeps_expired=True)


def name_beside(kind: str, table: str, ending: str, *places: str) -> Path:
    """Return a name for what a job keeps: beside the first place that is a file, or here.

    >>> name_beside("copy", "Market", "checkpoint", "http://localhost:8000", "data/shop.db")
    PosixPath('data/shop.db.copy-Market.checkpoint')
    """
    ending = f"{kind}-{table}.{ending}"
    for place in places:
        if is_file(place):
            path = Path(place)
            return path.with_name(f"{path.name}.{ending}")
    return Path(f"keyfold.{ending}")


def name_for(given: Path | None, table: str, other: Path, *, is_one_of_several: bool) -> Path:
    """Return the name that an option gives, with the table's where there are several."""
    if given is None:
        return other
    return given.with_name(f"{given.name}.{table}") if is_one_of_several else given


def list_tables(database: Executor) -> list[str]:
    """Return the names of a database's tables."""
    from keyfold.transfer._calls import CallEnvironment, Caller
    from keyfold.transfer._calls import list_tables as list_all

    return list_all(Caller(database, CallEnvironment()))


def leave_leases_out(database: Executor, names: list[str]) -> tuple[list[str], list[str]]:
    """Return the tables of a database without those of followers, and those."""
    from keyfold.transfer._calls import CallEnvironment, Caller
    from keyfold.transfer._leases import find_lease_tables

    leases = find_lease_tables(Caller(database, CallEnvironment()), names)
    return [name for name in names if name not in leases], leases


def find_only_table(database: Executor, url: str) -> str:
    """Return the name of a database's only table; raises TableMissing if it has another number.

    Lease tables do not count.
    """
    from keyfold.errors import TableMissing

    names, _ = leave_leases_out(database, list_tables(database))
    if len(names) == 1:
        return names[0]
    fact = f"it has {len(names)} tables: {', '.join(names)}" if names else "it has no tables"
    raise TableMissing(url, fact, "Say which with --table or --name.")


# Progress.


class ProgressDisplay:
    """Shows progress on standard error: a bar for a terminal, a line now and then otherwise."""

    def __init__(self, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        from keyfold.cli._terminal import make_progress_console

        self._title, self._clock = title, clock
        self._console = make_progress_console()
        self._bar: Bar | None = None
        self._task: Any = None
        self._printed_at = clock()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            words, told = TextColumn("{task.description}"), TextColumn("{task.fields[told]}")
            self._bar = Bar(words, BarColumn(), told, console=self._console, transient=True)
            self._task = self._bar.add_task(self._title, total=None, told="")
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Show one look at the job."""
        told = show_progress(progress)
        if self._bar is not None:
            title = f"{self._title}, {progress.phase}"
            total = progress.expected_items
            self._bar.update(
                self._task, description=title, completed=progress.items, total=total, told=told
            )
        elif self._clock() - self._printed_at >= _LINE_SECONDS:
            self._printed_at = self._clock()
            print(f"{self._title}, {progress.phase}: {told}", file=sys.stderr, flush=True)


def show_progress(progress: Progress) -> str:
    """Return one look at a job as a line."""
    items = count_of(progress.items, "item")
    if progress.expected_items is not None:
        items = f"{progress.items:,} of {count_of(progress.expected_items, 'item')}"
    parts = [
        items,
        show_size(progress.size_bytes),
        f"{progress.items_per_second:,.0f} items/s",
    ]
    if progress.seconds_left is not None:
        parts.append(f"{show_seconds(progress.seconds_left)} left")
    if progress.read_units:
        parts.append(f"{progress.read_units:,.0f} read units")
    if progress.write_units:
        parts.append(f"{progress.write_units:,.0f} write units")
    if progress.rejects:
        parts.append(f"{progress.rejects:,} rejected")
    return ", ".join(parts)


# Summaries.


def print_summaries(verb: str, summaries: Sequence[Summary], *, as_json: bool, **more: Any) -> None:
    """Print how jobs have ended, and exit with 1 if one of them did not end well.

    `more` is told with them as JSON.
    """
    if as_json:
        from keyfold.cli._plain import to_json_text

        print(to_json_text({"tables": [each.to_json() for each in summaries], **more}))
    else:
        for each in summaries:
            _print_summary(verb, each)
    raise typer.Exit(0 if all(each.is_good for each in summaries) else 1)


def _print_summary(verb: str, summary: Summary) -> None:
    from keyfold.cli._terminal import make_console, make_table

    console = make_console()
    again = ", going on from an earlier run" if summary.is_resumed else ""
    units = show_units(summary.read_units, summary.write_units)
    console.print(
        f"{summary.table}: {verb} {count_of(summary.items, 'item')}, "
        f"{show_size(summary.size_bytes)}, "
        f"in {summary.seconds:.2f} s{units}{again}"
    )
    compared = {each.entity: each for each in summary.comparisons}
    table = make_table()
    for heading in ("entity", "items", "verified"):
        table.add_column(heading, justify="right" if heading == "items" else "left")
    for entity in dict.fromkeys([*summary.entities, *compared]):
        found = compared.get(entity)
        if found is None:
            verdict = "no: nobody compared"
        elif found.is_wrong:
            verdict = f"WRONG: {found.fact}"
        elif found.written == found.held:
            verdict = "same count and checksum"
        else:
            verdict = f"not verified: {found.fact}"
        table.add_row(entity, f"{summary.entities.get(entity, 0):,}", verdict)
    if table.row_count:
        console.print(table)
    print_rejects(summary.rejects, summary.rejects_file, "not taken")


def print_rejects(count: int, file: str | None, fact: str) -> None:
    """Say what became of items that were not taken, and where they are."""
    if count:
        where = "" if file is None else f"; {file} has the reasons"
        print(f"{count_of(count, 'item')} {fact}{where}.", file=sys.stderr)


def print_backfill(summary: BackfillSummary, *, as_json: bool) -> None:
    """Print how a backfill has ended, and exit with 1 if some items fit no entity."""
    from keyfold.cli._terminal import make_console, make_table

    if as_json:
        from keyfold.cli._plain import to_json_text

        print(to_json_text(summary.to_json()))
        raise typer.Exit(0 if summary.is_good else 1)
    console = make_console()
    total = sum(summary.looked_at.values())
    verb = "would change" if summary.is_dry else "changed"
    units = show_units(summary.read_units, summary.write_units)
    console.print(
        f"{summary.table}: {verb} {sum(summary.changed.values()):,} of {count_of(total, 'item')}, "
        f"in {summary.seconds:.2f} s{units}"
    )
    table = make_table()
    for heading in ("entity", "items", verb):
        table.add_column(heading, justify="left" if heading == "entity" else "right")
    for entity, count in summary.looked_at.items():
        table.add_row(entity, f"{count:,}", f"{summary.changed.get(entity, 0):,}")
    if table.row_count:
        console.print(table)
    if summary.is_dry:
        for change in summary.examples:
            console.print(_show_change(change))
    fact = "without an entity" if summary.is_dry else "without an entity, left as is"
    print_rejects(summary.rejects, summary.rejects_file, fact)
    raise typer.Exit(0 if summary.is_good else 1)


def _show_change(change: Any) -> str:
    from keyfold.model._showing import show_item

    parts = [f"set {show_item(change.sets)}"] if change.sets else []
    if change.removes:
        parts.append(f"remove {', '.join(change.removes)}")
    return f"{change.entity} {show_item(change.key)}: {'; '.join(parts)}"


def make_options(
    show: ProgressDisplay,
    *,
    checkpoint: Path,
    rejects: Path,
    segments: int,
    read_rate: float | None = None,
    write_rate: float | None = None,
    merges: bool = False,
    creates: bool = False,
    verifies: bool = True,
    keeps: bool = False,
) -> Options:
    """Return the options of a job."""
    from keyfold.transfer import Options

    return Options(
        rejects=rejects,
        checkpoint=checkpoint,
        segments=segments,
        read_rate=read_rate,
        write_rate=write_rate,
        merges=merges,
        creates=creates,
        verifies=verifies,
        keeps=keeps,
        watch=show,
    )
