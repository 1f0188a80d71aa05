"""Options, progress display and summaries of the copy, dump, load and backfill commands."""

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
    # Imported when a command runs, so that --help does not load the engine.
    from rich.progress import Progress as Bar

    from keyfold.model import Table
    from keyfold.store import Executor
    from keyfold.transfer import BackfillSummary, Progress, Summary

# How often to print a line if standard error is not a terminal.
_LINE_SECONDS = 5.0


def _check_rate(rate: float | None) -> float | None:
    # Checked here, before anything is opened or created.
    if rate is not None and not rate > 0:
        raise typer.BadParameter(f"got {rate:g}; give capacity units per second, above 0.")
    return rate


NameOption = Annotated[
    str | None,
    typer.Option(
        help="The table's name in the database; by default the declared one.", metavar="NAME"
    ),
]
SegmentsOption = Annotated[
    int, typer.Option(help="How many segments to process in parallel.", min=1, max=1000)
]
ReadRateOption = Annotated[
    float | None,
    typer.Option(
        help="Read at most UNITS capacity units per second.", metavar="UNITS", callback=_check_rate
    ),
]
WriteRateOption = Annotated[
    float | None,
    typer.Option(
        help="Write at most UNITS capacity units per second.", metavar="UNITS", callback=_check_rate
    ),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="The file to resume from after an interruption; by default next to the data file, or "
        "in the current directory if there is none."
    ),
]
RejectsOption = Annotated[
    Path | None,
    typer.Option(
        help="The file for rejected items; by default next to the data file, or in the current "
        "directory if there is none."
    ),
]
MergeOption = Annotated[
    bool, typer.Option("--merge", help="Allow a target table that already holds items.")
]
CreateOption = Annotated[
    bool,
    typer.Option("--create", help="Create a missing table. Database files do not need this."),
]
NoVerifyOption = Annotated[
    bool, typer.Option("--no-verify", help="Do not compare counts and checksums at the end.")
]


def find_declared(text: str | None) -> Table | None:
    """Return the declared table that --table names; raises BadParameter."""
    from keyfold.cli._tables import find_table

    return None if text is None else find_table(None, text)


def is_file(url: str) -> bool:
    """Return whether a URL is the path of a file."""
    return "://" not in url and url != ":memory:"


def open_source(url: str) -> AbstractContextManager[Executor]:
    """Open an existing database; raises FileUnreachable."""
    from keyfold.connect import open_executor

    return open_executor(url, keeps_expired=True)


def open_target(url: str) -> AbstractContextManager[Executor]:
    """Open a database to write to; a missing file is created."""
    from keyfold.connect import open_executor

    return open_executor(url, may_make=True, keeps_expired=True)


def path_beside(kind: str, table: str, ending: str, *locations: str) -> Path:
    """Return a path for a job's file: beside the first location that is a file, or here.

    >>> path_beside("copy", "Market", "checkpoint", "http://localhost:8000", "data/shop.db")
    PosixPath('data/shop.db.copy-Market.checkpoint')
    """
    ending = f"{kind}-{table}.{ending}"
    for location in locations:
        if is_file(location):
            path = Path(location)
            return path.with_name(f"{path.name}.{ending}")
    return Path(f"keyfold.{ending}")


def choose_path(given: Path | None, table: str, other: Path, *, is_one_of_several: bool) -> Path:
    """Return the path that an option gives, with the table's name added if there are several.

    Without the option, return `other`.
    """
    if given is None:
        return other
    return given.with_name(f"{given.name}.{table}") if is_one_of_several else given


def list_tables(database: Executor) -> list[str]:
    """Return the names of a database's tables."""
    from keyfold.transfer._calls import CallEnvironment, MeteredCaller
    from keyfold.transfer._calls import list_tables as list_all

    return list_all(MeteredCaller(database, CallEnvironment()))


def split_off_lease_tables(database: Executor, names: list[str]) -> tuple[list[str], list[str]]:
    """Return the tables that are not lease tables, and the lease tables."""
    from keyfold.transfer._calls import CallEnvironment, MeteredCaller
    from keyfold.transfer._leases import find_lease_tables

    leases = find_lease_tables(MeteredCaller(database, CallEnvironment()), names)
    return [name for name in names if name not in leases], leases


def choose_table(name: str | None, declared: Table | None, database: Executor, url: str) -> str:
    """Return the name that an option gives, or the declared table's, or that of the only table.

    Lease tables do not count. Raises TableMissing if there is no table, or if there are several.
    """
    from keyfold.errors import TableMissing

    if declared is not None:
        name = name or declared.name
    if name:
        return name
    names, _ = split_off_lease_tables(database, list_tables(database))
    if len(names) == 1:
        return names[0]
    fact = f"it has {len(names)} tables: {', '.join(names)}" if names else "it has no tables"
    raise TableMissing(url, fact, "Name one with --table or --name.")


# Progress.


class ProgressDisplay:
    """Shows progress on standard error: a bar on a terminal, otherwise a line every few seconds."""

    def __init__(self, title: str, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        from keyfold.cli._terminal import make_progress_console

        self._title, self._monotonic = title, monotonic
        self._console = make_progress_console()
        self._bar: Bar | None = None
        self._task: Any = None
        self._printed_at = monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            words, status = TextColumn("{task.description}"), TextColumn("{task.fields[status]}")
            self._bar = Bar(words, BarColumn(), status, console=self._console, transient=True)
            self._task = self._bar.add_task(self._title, total=None, status="")
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
        """Show the progress."""
        status = show_progress(progress)
        if self._bar is not None:
            title = f"{self._title}, {progress.phase}"
            total = progress.expected_items
            self._bar.update(
                self._task, description=title, completed=progress.items, total=total, status=status
            )
        elif self._monotonic() - self._printed_at >= _LINE_SECONDS:
            self._printed_at = self._monotonic()
            print(f"{self._title}, {progress.phase}: {status}", file=sys.stderr, flush=True)


def show_progress(progress: Progress) -> str:
    """Return the progress of a job as a line of text."""
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
    """Print the summaries of jobs, and exit with 1 if one has rejects or a failed comparison.

    `more` is added to the JSON object.
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
    resumed = ", resumed from an earlier run" if summary.is_resumed else ""
    units = show_units(summary.read_units, summary.write_units)
    renewed = f" ({summary.renewed:,} brought up to date)" if summary.renewed else ""
    console.print(
        f"{summary.table}: {verb} {count_of(summary.items, 'item')}{renewed}, "
        f"{show_size(summary.size_bytes)}, "
        f"in {summary.seconds:.2f} s{units}{resumed}"
    )
    compared = {each.entity: each for each in summary.comparisons}
    table = make_table()
    for heading in ("entity", "items", "verified"):
        table.add_column(heading, justify="right" if heading == "items" else "left")
    for entity in dict.fromkeys([*summary.entities, *compared]):
        found = compared.get(entity)
        if found is None:
            verdict = "not verified"
        elif found.is_wrong:
            verdict = f"WRONG: {found.fact}"
        elif found.written == found.held:
            verdict = "same count and checksum"
        else:
            verdict = f"not verified: {found.fact}"
        table.add_row(entity, f"{summary.entities.get(entity, 0):,}", verdict)
    if table.row_count:
        console.print(table)
    print_rejects(summary.rejects, summary.rejects_file, "rejected")


def print_rejects(count: int, file: str | None, fact: str) -> None:
    """Print the number of rejected items, and the file that has them."""
    if count:
        where = "" if file is None else f"; see {file} for the reasons"
        print(f"{count_of(count, 'item')} {fact}{where}.", file=sys.stderr)


def print_backfill(summary: BackfillSummary, *, as_json: bool) -> None:
    """Print the summary of a backfill, and exit with 1 if it is not good."""
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
        for patch in summary.examples:
            console.print(_show_patch(patch))
    _print_guards(summary)
    fact = "matching no entity" if summary.is_dry else "matching no entity, left unchanged"
    print_rejects(summary.rejects, summary.rejects_file, fact)
    raise typer.Exit(0 if summary.is_good else 1)


def _print_guards(summary: BackfillSummary) -> None:
    if summary.unique is None:
        return
    for problem in summary.unique.problems:
        if problem.kind == "duplicate":
            print(f"x {problem}")
    made = summary.unique.found if summary.is_dry else summary.unique.repaired
    counts = [count_of(made.get(kind, 0), what) for kind, what in _GUARDS if made.get(kind)]
    if summary.has_duplicates:
        print("Nothing was changed: a unique value must have one owner.")
    elif counts:
        print(f"{'would repair' if summary.is_dry else 'repaired'}: {', '.join(counts)}")


_GUARDS = (
    ("missing guard", "missing guard"),
    ("wrong owner", "wrong owner"),
    ("stale guard", "stale guard"),
    ("former format", "former guard"),
)


def _show_patch(patch: Any) -> str:
    from keyfold.model._formatting import show_item

    parts = [f"set {show_item(patch.sets)}"] if patch.sets else []
    if patch.removes:
        parts.append(f"remove {', '.join(patch.removes)}")
    return f"{patch.entity} {show_item(patch.key)}: {'; '.join(parts)}"
