"""`keyfold cost`: what a table costs in a month, by pattern."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._analysis import SampleUrl, WorkloadFile, make_profile
from keyfold.cli._options import AsJson, OneTableArgument, TableOption

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from rich.console import Console

    from keyfold.analysis.cost import CostComparison, CostReport

EXAMPLES = (
    "keyfold cost market",
    "keyfold cost pantry --json",
    "keyfold cost --table shop.tables:market --workload summer.toml --prices frankfurt.toml",
    "keyfold cost --table shop.tables:market --sample shop.db --chart cost.svg",
    "keyfold cost market --compare shop.tables:market",
)


def cost(
    name: OneTableArgument = None,
    *,
    table: TableOption = None,
    workload: WorkloadFile = None,
    prices: Annotated[
        Path | None,
        typer.Option(help="A TOML file of prices; by default those of us-east-1.", metavar="FILE"),
    ] = None,
    sample: SampleUrl = None,
    compare: Annotated[
        str | None,
        typer.Option(help="Another table, to compare the costs of both.", metavar="TABLE"),
    ] = None,
    chart: Annotated[
        Path | None, typer.Option(help="Write a chart here, as SVG.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast what a table costs in a month, by access pattern.

    Every pattern runs on sample items in memory, and its read and write units are counted, those
    of indexes included. Rates, counts and sizes come from the declaration and the workload file.
    Prices are data with a date; --prices replaces them. What is not given is assumed, and said.
    """
    from keyfold.analysis.cost import compare_costs, draw_chart, read_prices, report_cost
    from keyfold.cli._tables import find_table
    from keyfold.cli._terminal import make_console

    known = read_prices(prices)
    report = report_cost(make_profile(find_table(name, table), workload, sample), known)
    other = None
    if compare is not None:
        other = report_cost(make_profile(find_table(compare), None, None), known)
    if chart is not None:
        chart.write_text(draw_chart(report), "utf-8")
    if as_json:
        document: dict[str, Any] = report.to_json()
        if other is not None:
            document["compared"] = compare_costs(report, other).to_json()
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return
    console = make_console()
    if other is None:
        _print_report(console, report)
    else:
        _print_comparison(console, compare_costs(report, other))


def _print_report(console: Console, report: CostReport) -> None:
    from keyfold.cli._terminal import join_styled, make_table

    forecast = report.forecast
    console.print(
        join_styled(
            (forecast.table, "bold"),
            f"  ${forecast.month_usd:,.2f} a month, on demand, {forecast.prices.region} ",
            (f"(prices of {forecast.prices.date})", "dim"),
        )
    )
    console.print()
    listed = make_table()
    listed.add_column("pattern", overflow="fold")
    for title in ("read units", "write units", "calls a month", "$ a month", "share"):
        listed.add_column(title, justify="right", no_wrap=True)
    for each in sorted(forecast.patterns, key=lambda one: -one.month_usd):
        share = each.month_usd / forecast.month_usd if forecast.month_usd else 0.0
        listed.add_row(
            each.name,
            f"{each.read_units:g}" if each.read_units else "",
            f"{each.write_units:g}" if each.write_units else "",
            f"{each.calls:,.0f}" if each.calls else "",
            f"{each.month_usd:,.2f}" if each.calls else "",
            f"{share:.0%}" if each.calls else "",
        )
    console.print(listed)
    _print_storage(console, report)
    _print_modes(console, report)
    _print_assumptions(console, forecast.assumptions)


def _print_storage(console: Console, report: CostReport) -> None:
    from keyfold.cli._terminal import make_table

    console.print()
    listed = make_table()
    listed.add_column("storage")
    for title in ("items", "GB", "$ a month"):
        listed.add_column(title, justify="right")
    for each in report.forecast.storage:
        where = "table" if each.index is None else f"index {each.index}"
        listed.add_row(
            where, f"{each.items:,.0f}", f"{each.gigabytes:,.3f}", f"{each.month_usd:,.2f}"
        )
    for name, usd in report.forecast.extras.items():
        listed.add_row(name, "", "", f"{usd:,.2f}")
    console.print(listed)


def _print_modes(console: Console, report: CostReport) -> None:
    from keyfold.cli._terminal import make_table

    console.print()
    listed = make_table()
    listed.add_column("billing mode")
    listed.add_column("$ a month", justify="right")
    for each in report.modes:
        listed.add_row(each.mode, f"{each.month_usd:,.2f}")
    console.print(listed)
    shares = ", ".join(f"{share:.0%} for {kind}s" for kind, share in report.break_even.items())
    console.print(f"Provisioned capacity is cheaper from a utilisation of {shares}.")
    later = [each for each in report.growth if each.month in (12, 36)]
    grown = ", ".join(f"${each.month_usd:,.2f} in {each.month} months" for each in later)
    console.print(f"With the growth of the workload: {grown}.")


def _print_comparison(console: Console, comparison: CostComparison) -> None:
    from keyfold.cli._terminal import make_table

    one, other = comparison.one.forecast, comparison.other.forecast
    listed = make_table()
    listed.add_column("", overflow="fold")
    for title in (comparison.names[0], comparison.names[1], "difference"):
        listed.add_column(title, justify="right")
    for row in comparison.rows:
        shown = ["" if each is None else f"{each:,.2f}" for each in (row.one, row.other)]
        listed.add_row(row.name, *shown, f"{row.difference:+,.2f}")
    console.print(listed)
    _print_assumptions(console, tuple(dict.fromkeys((*one.assumptions, *other.assumptions))))


def _print_assumptions(console: Console, assumptions: tuple[str, ...]) -> None:
    from keyfold.cli._terminal import join_styled

    console.print()
    console.print(join_styled(("Assumed:", "dim")))
    for each in assumptions:
        console.print(join_styled((f"- {each}", "dim")))
