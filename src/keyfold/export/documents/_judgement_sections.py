"""The sections about the review and the cost of a table."""

from __future__ import annotations

from keyfold.analysis.cost import CostReport
from keyfold.analysis.lint import Finding, Review
from keyfold.export.documents._access_sections import show_units
from keyfold.export.documents._blocks import (
    Block,
    BulletList,
    Code,
    DocumentSection,
    Grid,
    Paragraph,
    Prose,
    read_prose,
)


def describe_review(review: Review) -> DocumentSection:
    """Return the section about the findings of lint, open and suppressed ones.

    Places are subjects without lines of files, so that the document does not change with those.
    """
    blocks: list[Block] = []
    if review.findings:
        rows = tuple((*_show_finding(each), read_prose(each.fix)) for each in review.findings)
        blocks.append(Grid(("rule", "severity", "place", "finding", "to mend it"), rows))
    else:
        blocks.append(Paragraph(("There are no open findings.",)))
    if review.ignored:
        blocks.append(Paragraph(("Accepted, with the reasons that the declaration gives:",)))
        rows = tuple(
            (*_show_finding(each), read_prose(each.ignored or "")) for each in review.ignored
        )
        blocks.append(Grid(("rule", "severity", "place", "finding", "reason"), rows))
    if review.skipped:
        reasons: dict[str, list[str]] = {}
        for code, reason in review.skipped.items():
            reasons.setdefault(reason, []).append(code)
        items: list[Prose] = [
            (f"Not reviewed ({', '.join(codes)}): {reason}",) for reason, codes in reasons.items()
        ]
        blocks.append(BulletList(tuple(items)))
    return DocumentSection("Review", tuple(blocks))


def _show_finding(finding: Finding) -> tuple[Prose, ...]:
    return (
        (Code(finding.code),),
        (str(finding.severity),),
        (finding.place.subject,),
        read_prose(finding.message),
    )


def describe_cost(report: CostReport) -> DocumentSection:
    """Return the section about the cost of a month."""
    forecast = report.forecast
    prices = f"{forecast.prices.region}, prices of {forecast.prices.date}"
    blocks: list[Block] = []
    if report.profile.workload.has_rates:
        month = f"${forecast.month_usd:,.2f} a month, on demand ({prices})."
        blocks += [Paragraph((month,)), _list_patterns(report)]
    else:
        text = f"No pattern has a rate, so only storage has a price ({prices})."
        blocks.append(Paragraph((text,)))
    blocks.append(_list_parts(report))
    if report.profile.workload.has_rates:
        modes = [((each.mode,), (f"{each.month_usd:,.2f}",)) for each in report.modes]
        blocks.append(Grid(("billing mode", "$ a month"), tuple(modes), frozenset({"$ a month"})))
    if forecast.assumptions:
        blocks.append(Paragraph(("Assumed:",)))
        blocks.append(BulletList(tuple(map(read_prose, forecast.assumptions))))
    return DocumentSection("Cost", tuple(blocks))


def _list_patterns(report: CostReport) -> Grid:
    forecast = report.forecast
    rows: list[tuple[Prose, ...]] = []
    for each in sorted(forecast.patterns, key=lambda one: -one.month_usd):
        rate = report.profile.workload.patterns[each.name].rate
        if rate is None:
            continue
        if report.profile.patterns[each.name].problem is not None:
            rows.append(((each.name,), (rate.text,), (), (), ("not measured",), ()))
            continue
        rows.append(
            (
                (each.name,),
                (rate.text,),
                (show_units(each.read_units),) if each.read_units else (),
                (show_units(each.write_units),) if each.write_units else (),
                (f"{each.month_usd:,.2f}",),
                (f"{each.share:.0%}",),
            )
        )
    numeric = ("read units", "write units", "$ a month", "share")
    grid = Grid(("pattern", "rate", *numeric), tuple(rows), frozenset(numeric))
    return grid.without_empty_columns()


def _list_parts(report: CostReport) -> Grid:
    """Return what the table and each index cost, and what the table has besides."""
    rows: list[tuple[Prose, ...]] = []
    for each in report.forecast.parts:
        where: Prose = ("table",) if each.index is None else ("index ", Code(each.index))
        dollars = (each.storage_usd, each.read_usd, each.write_usd, each.month_usd)
        amounts = tuple((f"{usd:,.2f}",) for usd in dollars)
        rows.append((where, (f"{each.items:,.0f}",), (f"{each.gigabytes:,.3f}",), *amounts))
    for name, usd in report.forecast.extras.items():
        rows.append(((name,), (), (), (), (), (), (f"{usd:,.2f}",)))
    numeric = ("items", "GB", "storage", "reads", "writes", "$ a month")
    return Grid(("part", *numeric), tuple(rows), frozenset(numeric))
