"""`keyfold demo`: run every access pattern of the four included designs."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from keyfold.cli._options import AsJson
from keyfold.cli._quantities import count_of

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the engine.
    from rich.console import Console
    from rich.text import Text

    from keyfold.cli._demo import DesignReport, Row
    from keyfold.cli._stories import StoryReport

EXAMPLES = (
    "keyfold demo",
    "keyfold demo --db demo.db",
    "keyfold demo --story",
    "keyfold demo --index-lag 3",
    "keyfold demo --json",
)

_PATTERN_WIDTH = 29


def demo(
    *,
    db: Annotated[
        str | None,
        typer.Option(
            help="A file to create and keep, a folder for it, or a server; by default a temporary "
            "file.",
            metavar="URL",
        ),
    ] = None,
    story: Annotated[
        bool,
        typer.Option("--story", help="Tell a story of each design, step by step, by its roles."),
    ] = False,
    index_lag: Annotated[
        int | None,
        typer.Option(
            "--index-lag",
            min=1,
            max=9,
            help="Run in memory, with global indexes that lack this many of the last writes, as "
            "those of DynamoDB may.",
            metavar="WRITES",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every access pattern of the four included designs.

    Creates their tables and loads several thousand items, some of them expired. For each pattern it
    shows the request that was sent, the number of items returned, the capacity consumed and the
    time taken.

    With --story, the tables are empty at first. People with the roles of each design run its
    patterns one after another: what they may do succeeds, and what they may not do is refused.

    On a service, and with --index-lag, reads may lag behind writes: a pattern that only reads then
    runs again until it returns what is expected, up to ten times.

    Exits with 1 if a pattern returns something other than expected.
    """
    from keyfold.cli._terminal import make_console

    if db is not None and index_lag is not None:
        raise typer.BadParameter(
            "give it without --db: it runs in memory.", param_hint="--index-lag"
        )
    kept = None if db is None else _check_new(db)
    now = datetime.now(UTC).replace(microsecond=0)
    started = time.perf_counter()
    if story:
        from keyfold.cli._stories import tell_stories
        from keyfold.cli._stories.printing import print_stories

        with _database(kept) as (url, on_design):
            stories = tell_stories(url, now=now, on_design=on_design, index_lag=index_lag or 0)
        seconds = time.perf_counter() - started
        if not as_json:
            print_stories(make_console(), stories, seconds)
        _finish("stories", stories, seconds, as_json=as_json)
    else:
        from keyfold.cli._demo import run_demo

        with _database(kept) as (url, on_design):
            designs = run_demo(url, now=now, on_design=on_design, index_lag=index_lag or 0)
        seconds = time.perf_counter() - started
        if not as_json:
            _print_designs(make_console(), designs, seconds, kept=kept)
        _finish("designs", designs, seconds, as_json=as_json)


def _check_new(db: str) -> str:
    """Return the URL of the database to create and keep; refuse a file that exists."""
    if "://" in db:
        return db
    if db == ":memory:":
        fact = "memory deletes expired items after 10 seconds, and patterns need them. Omit --db."
        raise typer.BadParameter(fact, param_hint="--db")
    file = Path(db) / "demo.db" if Path(db).is_dir() else Path(db)
    if file.exists():
        fact = f"{file} already exists; the demo creates a new file."
        raise typer.BadParameter(fact, param_hint="--db")
    return str(file)


@contextmanager
def _database(kept: str | None) -> Generator[tuple[str, Callable[[str], None]]]:
    """Yield the URL of a database, and a function that shows which design is running."""
    from keyfold.cli._terminal import make_progress_console

    with (
        tempfile.TemporaryDirectory(prefix="keyfold-") as folder,
        make_progress_console().status("Loading …") as status,
    ):
        url = kept or str(Path(folder) / "demo.db")
        yield url, lambda name: status.update(f"Running {name} …")


def _finish(
    kind: str, reports: Sequence[DesignReport | StoryReport], seconds: float, *, as_json: bool
) -> NoReturn:
    holds = all(report.holds for report in reports)
    if as_json:
        document = {
            kind: [report.to_json() for report in reports],
            "as_expected": holds,
            "seconds": round(seconds, 3),
        }
        print(json.dumps(document, indent=2, ensure_ascii=False))
    raise typer.Exit(0 if holds else 1)


def _print_designs(
    console: Console, reports: list[DesignReport], seconds: float, *, kept: str | None
) -> None:
    for report in reports:
        _print_design(console, report)
    _print_summary(console, reports, seconds, kept=kept)


def _print_design(console: Console, report: DesignReport) -> None:
    from keyfold.cli._terminal import join_styled, make_table

    indexes = ", ".join(index.name for index in report.table.indexes)
    about = f"table {report.table.name}" + (f" with {indexes}" if indexes else "")
    expired = f", {report.expired:,} of them expired" if report.expired else ""
    console.print(
        join_styled((report.design, "bold"), f"  {about}; {report.loaded:,} items{expired}")
    )
    table = make_table()
    table.add_column("", no_wrap=True)
    table.add_column("pattern", width=_PATTERN_WIDTH, overflow="fold")
    table.add_column("request", ratio=1, overflow="fold")
    for name in ("items", "units", "ms"):
        table.add_column(name, justify="right", no_wrap=True, min_width=5)
    table.expand = True
    for row in report.rows:
        table.add_row(*_cells_of(row))
    console.print(table)
    for row in report.rows:
        for problem in row.problems:
            console.print(f"✗ {row.pattern}: {problem}", style="red")
    for problem in report.problems:
        console.print(f"✗ {problem}", style="red")
    console.print()


def _cells_of(row: Row) -> tuple[str | Text, ...]:
    from keyfold.cli._terminal import join_styled, show_calls

    first = row.runs[0]
    mark = join_styled(("✗", "bold red") if row.problems else ("✓", "green"))
    return (
        mark,
        row.pattern,
        show_calls(first.calls),
        f"{first.items}",
        f"{first.consumed:g}",
        f"{first.milliseconds:.2f}",
    )


def _print_summary(
    console: Console, reports: list[DesignReport], seconds: float, *, kept: str | None
) -> None:
    rows = [row for report in reports for row in report.rows]
    runs = [run for row in rows for run in row.runs]
    right = sum(not row.problems for row in rows)
    loaded = sum(report.loaded for report in reports)
    units = sum(run.consumed for run in runs)
    spent = sum(run.milliseconds for run in runs)
    holds = all(report.holds for report in reports)
    repeated = sum(run.attempts > 1 for run in runs)
    if repeated:
        told = count_of(repeated, "read")
        console.print(f"{told} ran again until the last writes were there.")
    console.print(
        f"{right} of {len(rows)} patterns as expected; {len(runs)} runs took {units:g} capacity "
        f"units and {spent:.0f} ms; {loaded:,} items, {seconds:.1f} s in all.",
        style="bold green" if holds else "bold red",
    )
    if kept is not None:
        console.print(
            f"The data is in {kept}. Try:\n"
            "  keyfold patterns market\n"
            f'  keyfold run market "Get user profile" --user rabinovich --db {kept}'
        )
