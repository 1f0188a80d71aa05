"""`keyfold cost`: what a table costs in a month, by pattern."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keyfold.cli._analysis import PricesFile, SampleUrl, WorkloadFile, make_profile
from keyfold.cli._options import AsJson, OneTableArgument, TableOption
from keyfold.cli._output_files import write_output

if TYPE_CHECKING:
    # Imported when the command runs, so that --help does not load the model.
    from rich.console import Console

    from keyfold.analysis import TableProfile
    from keyfold.analysis.cost import CostComparison, CostReport, PatternCost, Prices

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
    prices: PricesFile = None,
    sample: SampleUrl = None,
    compare: Annotated[
        str | None,
        typer.Option(
            help="Another table, to compare the costs of both under the same workload.",
            metavar="TABLE",
        ),
    ] = None,
    chart: Annotated[
        Path | None,
        typer.Option(help="Write a chart here, as SVG, of both tables if two.", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast what a table costs in a month, by access pattern.

    Every pattern runs on sample items in memory, and its read and write units are counted, those
    of indexes included. Rates, counts and sizes come from the declaration and the workload file.
    Prices are data with a date; --prices replaces them. What is not given is assumed, and said.

    With --compare, the other table is used like the first: patterns and entities of the same name
    have the same rates and numbers of items. Its items are those of its own examples.
    """
    from keyfold.analysis.cost import compare_costs, read_prices, report_cost
    from keyfold.cli._tables import find_table
    from keyfold.cli._terminal import make_console

    known = read_prices(prices)
    report = report_cost(make_profile(find_table(name, table), workload, sample), known)
    compared = None
    if compare is not None:
        compared = compare_costs(report, _price_alike(compare, report.profile, known))
    if chart is not None:
        _write_chart(chart, report, compared)
    if as_json:
        document: dict[str, Any] = report.to_json()
        if compared is not None:
            document["compared"] = compared.to_json()
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return
    console = make_console()
    if compared is None:
        _print_report(console, report)
    else:
        _print_comparison(console, compared)


def _price_alike(name: str, model: TableProfile, prices: Prices) -> CostReport:
    """Return the report of a table that is used as another one is."""
    from keyfold.analysis import (
        find_same_partitions,
        find_sample,
        profile_table,
        read_workload,
        use_alike,
    )
    from keyfold.analysis.cost import report_cost
    from keyfold.cli._tables import find_named_table

    table = find_named_table(name, "--compare")
    same = find_same_partitions(table, model.table)
    own = use_alike(read_workload(table), model.workload, same_partitions=same)
    return report_cost(profile_table(table, find_sample(table), own), prices)


def _write_chart(file: Path, report: CostReport, compared: CostComparison | None) -> None:
    from keyfold.analysis.cost import draw_chart, draw_comparison

    text = draw_chart(report) if compared is None else draw_comparison(compared)
    write_output(file, text, "--chart")


def _print_report(console: Console, report: CostReport) -> None:
    from keyfold.cli._terminal import join_styled

    forecast, is_used = report.forecast, report.profile.workload.has_rates
    mode = "on demand" if is_used else "without requests"
    console.print(
        join_styled(
            (forecast.table, "bold"),
            f"  ${forecast.month_usd:,.2f} a month, {mode}, {forecast.prices.region} ",
            (f"(prices of {forecast.prices.date})", "dim"),
        )
    )
    console.print()
    if forecast.patterns:
        _print_patterns(console, report)
    _print_parts(console, report)
    if is_used:
        _print_modes(console, report)
    _print_assumptions(console, forecast.assumptions)


def _print_patterns(console: Console, report: CostReport) -> None:
    from keyfold.cli._terminal import make_table

    listed = make_table()
    listed.add_column("pattern", overflow="fold")
    for title in ("read units", "write units", "calls a month", "$ a month", "share"):
        listed.add_column(title, justify="right", no_wrap=True)
    for each in sorted(report.forecast.patterns, key=lambda one: -one.month_usd):
        listed.add_row(
            each.name,
            f"{each.read_units:,.6g}" if each.read_units else "",
            f"{each.write_units:,.6g}" if each.write_units else "",
            f"{each.calls:,.0f}" if each.calls else "",
            _show_month(each),
            f"{each.share:.0%}" if each.calls else "",
        )
    console.print(listed)
    console.print()


def _show_month(cost: PatternCost) -> str:
    if not cost.calls:
        return ""
    return f"{cost.month_usd:,.2f}" if cost.problem is None else "not measured"


def _print_parts(console: Console, report: CostReport) -> None:
    from keyfold.cli._terminal import make_table

    listed = make_table()
    listed.add_column("part", overflow="fold")
    for title in ("items", "GB", "$ storage", "$ reads", "$ writes", "$ a month"):
        listed.add_column(title, justify="right", no_wrap=True)
    for each in report.forecast.parts:
        dollars = (each.storage_usd, each.read_usd, each.write_usd, each.month_usd)
        listed.add_row(
            "table" if each.index is None else f"index {each.index}",
            f"{each.items:,.0f}",
            f"{each.gigabytes:,.3f}",
            *(f"{usd:,.2f}" for usd in dollars),
        )
    for name, usd in report.forecast.extras.items():
        listed.add_row(name, "", "", "", "", "", f"{usd:,.2f}")
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
    console.print()
    for each in report.break_even:
        if each.share is not None and each.utilisation is not None:
            console.print(
                f"Capacity for {each.kind}s is cheaper than on demand if {each.share:.0%} of it is in "
                f"use; of capacity for the peak, {each.utilisation:.0%} is."
            )
    now, *later = (each for each in report.growth if each.month in (0, 12, 36))
    if later[-1].gigabytes > now.gigabytes:
        grown = ", ".join(
            f"${each.month_usd:,.2f} in {each.month} months ({each.gigabytes:,.3f} GB)"
            for each in later
        )
        console.print(f"As the table grows: {grown}.")


def _print_comparison(console: Console, comparison: CostComparison) -> None:
    from keyfold.cli._terminal import join_styled, make_table

    prices = comparison.one.forecast.prices
    console.print(
        join_styled(
            (" and ".join(comparison.names), "bold"),
            f"  $ a month, on demand, {prices.region} ",
            (f"(prices of {prices.date})", "dim"),
        )
    )
    console.print()
    listed = make_table()
    listed.add_column("", overflow="fold")
    one, other = comparison.names
    for title in ("units", one, "units", other, "difference"):
        listed.add_column(title, justify="right")
    for row in comparison.rows:
        listed.add_row(
            row.name,
            _show_units(row.units),
            _show_dollars(row.one),
            _show_units(row.other_units),
            _show_dollars(row.other),
            _show_difference(row.difference) if row.is_measured else "not measured",
        )
    console.print(listed)
    console.print("Units are those of one call: R to read, W to write.")
    _print_assumptions(console, comparison.assumptions)


def _show_dollars(usd: float | None) -> str:
    return "" if usd is None else f"{usd:,.2f}"


def _show_difference(usd: float) -> str:
    shown = f"{usd:+,.2f}"
    return "0.00" if shown in ("+0.00", "-0.00") else shown


def _show_units(units: tuple[float, float] | None) -> str:
    """Return the units of a call in a few characters.

    >>> _show_units((1.5, 0.0)), _show_units((1.0, 14.0))
    ('1.5 R', '1 R + 14 W')
    """
    if units is None:
        return ""
    kinds = zip(units, ("R", "W"), strict=True)
    return " + ".join(f"{count:,.6g} {kind}" for count, kind in kinds if count) or "0"


def _print_assumptions(console: Console, assumptions: tuple[str, ...]) -> None:
    from keyfold.cli._terminal import join_styled, print_points

    console.print()
    console.print(join_styled(("Assumed:", "dim")))
    print_points(console, assumptions, "dim")
