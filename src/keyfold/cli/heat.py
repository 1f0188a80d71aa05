"""`keyfold heat`: which keys and partitions get hot, and when throttling begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfold.cli._analysis import SampleUrl, WorkloadFile, make_profile
from keyfold.cli._options import AsJson, OneTableArgument, TableOption

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from collections.abc import Sequence

    from rich.console import Console

    from keyfold.analysis.heat import HeatReport, HotSpot

EXAMPLES = (
    "keyfold heat market",
    "keyfold heat exchange_rates --factor 50 --json",
    "keyfold heat --table shop.tables:market --workload summer.toml --skew 1.1",
    "keyfold heat --table shop.tables:market --replay traffic.jsonl --factor 1 --factor 5",
)

_MOST_SHOWN = 8
# Keys that are asked for less than this share of the hottest are not hot.
_LEAST_SHARE = 0.01
_FACTORS = (1.0, 10.0, 100.0)


def heat(
    name: OneTableArgument = None,
    *,
    table: TableOption = None,
    workload: WorkloadFile = None,
    sample: SampleUrl = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            help="Traffic to replay instead of a workload, recorded by `keyfold serve --record`.",
            metavar="FILE",
        ),
    ] = None,
    factor: Annotated[
        list[float] | None,
        typer.Option(
            help="How many times the load; by default 1, 10 and 100. Repeatable.",
            metavar="NUMBER",
            min=0.001,
            max=1_000_000,
        ),
    ] = None,
    seconds: Annotated[
        int,
        typer.Option(
            help="How long to simulate the workload. Its peak lasts for three fifths of that time.",
            min=10,
            max=86_400,
        ),
    ] = 600,
    skew: Annotated[
        float,
        typer.Option(
            help="The Zipf exponent of keys of patterns for which the workload gives none; 0 for "
            "keys that are used alike.",
            min=0,
            max=5,
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Another seed draws other keys.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Simulate a table's load on partitions: hot keys, and when requests are throttled.

    Every pattern runs on sample items in memory, and its calls are multiplied to the rates of the
    workload, with skewed keys, over partitions as DynamoDB splits them. The same at 10 and 100
    times the load, with what write sharding or warm throughput would change. Exits with 1 if the
    load itself (1x, or the lowest --factor) is throttled.
    """
    from keyfold.analysis.heat import replay_traffic, simulate_workload
    from keyfold.cli._tables import find_table
    from keyfold.cli._terminal import make_console

    found = find_table(name, table)
    factors = sorted(set(factor or _FACTORS))
    if replay is None:
        report = simulate_workload(
            make_profile(found, workload, sample),
            factors=factors,
            seconds=seconds,
            seed=seed,
            skew=skew,
        )
    else:
        if workload is not None or sample is not None:
            fact = "recorded traffic needs neither. Omit --workload and --sample, or --replay."
            raise typer.BadParameter(fact, param_hint="--replay")
        report = replay_traffic(found, replay, factors=factors)
    if as_json:
        print(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        _print_report(make_console(), report)
    if report.runs[0].refused:
        raise typer.Exit(1)


def _print_report(console: Console, report: HeatReport) -> None:
    from keyfold.cli._terminal import join_styled, print_points

    seconds = report.runs[0].seconds
    peak = ""
    if report.peak is not None:
        peak = f", with the peak from {_clock(report.peak[0])} to {_clock(report.peak[1])}"
    console.print(join_styled((report.table, "bold"), f"  {_clock(seconds)} minutes{peak}"))
    _print_throttling(console, report)
    keys = [run.keys for run in report.runs]
    _print_spots(console, report, "hottest keys", keys)
    _print_spots(console, report, "hottest partitions", [run.partitions for run in report.runs])
    advice = [*(each.text for each in report.remedies), *report.advice]
    if advice:
        console.print()
        console.print(join_styled(("Advice:", "bold")))
        print_points(console, advice)
    if report.assumptions:
        console.print()
        console.print(join_styled(("Assumed:", "dim")))
        print_points(console, report.assumptions, "dim")


def _print_throttling(console: Console, report: HeatReport) -> None:
    from keyfold.cli._terminal import make_table

    console.print()
    listed = make_table()
    listed.add_column("load", justify="right", no_wrap=True)
    listed.add_column("calls/s", justify="right", no_wrap=True)
    listed.add_column("throttling", overflow="fold")
    listed.add_column("of", overflow="fold")
    listed.add_column("begins", justify="right", no_wrap=True)
    listed.add_column("refused", justify="right", no_wrap=True)
    for run in report.runs:
        load, rate = f"{run.factor:g}x", f"{run.calls / max(1, run.seconds):,.0f}"
        if not run.throttling:
            listed.add_row(load, rate, "none", "", "", "")
        for each in run.throttling:
            share = f"{each.calls / run.calls:.1%}"
            where = f"index {each.name}" if each.name else "table"
            listed.add_row(load, rate, each.reason, where, _clock(each.at), share)
            load = rate = ""
    console.print(listed)


def _print_spots(
    console: Console, report: HeatReport, title: str, ranked: Sequence[Sequence[HotSpot]]
) -> None:
    """Print the hottest keys or partitions, with what is asked of them at each factor."""
    from keyfold.cli._terminal import make_table
    from keyfold.terminals import escape_controls

    console.print()
    listed = make_table()
    listed.add_column(title, overflow="fold")
    listed.add_column("of", overflow="fold")
    for run in report.runs:
        listed.add_column(f"units/s at {run.factor:g}x", justify="right", no_wrap=True)
    by_name = [{(each.name, each.kind, each.label): each for each in spots} for spots in ranked]
    least = ranked[0][0].peak * _LEAST_SHARE if ranked[0] else 0.0
    for spot in [each for each in ranked[0] if each.peak >= least][:_MOST_SHOWN]:
        where = f"index {spot.name}" if spot.name else "table"
        shown: list[str] = []
        for spots in by_name:
            found = spots.get((spot.name, spot.kind, spot.label))
            shown.append("" if found is None else _show_units(found))
        label = escape_controls(spot.label)
        listed.add_row(label, f"{where}, {spot.kind.lower()}s", *shown)
    console.print(listed)


def _show_units(spot: HotSpot) -> str:
    shown = f"{spot.peak:,.1f}" if spot.peak < 10 else f"{spot.peak:,.0f}"  # noqa: PLR2004 - one digit
    return f"{shown} (throttled)" if spot.refused else shown


def _clock(seconds: float) -> str:
    """Return a time as minutes and seconds.

    >>> _clock(61.5)
    '1:01'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
