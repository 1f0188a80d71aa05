"""What every benchmark does with its figures: tables in Markdown, JSON, a section of README.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._rounds import Figure, Row, Target

README = Path(__file__).with_name("README.md")

JUDGED = ("middle half", "target", "")


class MarkersMissing(RuntimeError):
    """README.md has no markers for the figures of a benchmark."""


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a benchmark: facts about the machine, Markdown, and the same as JSON data."""

    name: str
    facts: Mapping[str, str]
    parts: Sequence[str]
    data: Mapping[str, Any]

    def publish(self, options: argparse.Namespace) -> None:
        """Print the tables or JSON; with --write-readme also put the tables into README.md."""
        if options.json:
            print(json.dumps({"machine": self.facts, **self.data}, indent=2))
        else:
            print(self.to_markdown())
        if options.write_readme:
            self.write_readme()

    def to_markdown(self) -> str:
        """Return the facts and all parts."""
        facts = "\n".join(f"- {name}: {value}" for name, value in self.facts.items())
        return "\n\n".join((facts, *self.parts))

    def write_readme(self, readme: Path = README) -> None:
        """Write the results between the lines `<!-- NAME: begin -->` and `<!-- NAME: end -->`.

        Raises MarkersMissing.
        """
        begin, end = f"<!-- {self.name}: begin -->", f"<!-- {self.name}: end -->"
        before, found, rest = readme.read_text().partition(begin)
        _, found_end, after = rest.partition(end)
        if not found or not found_end:
            raise MarkersMissing(f"{readme} has no lines {begin} and {end}.")
        readme.write_text(f"{before}{begin}\n\n{self.to_markdown()}\n\n{end}{after}")


def make_parser(name: str, description: str | None, *, rounds: int) -> argparse.ArgumentParser:
    """Return a parser with the options that all benchmarks have."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument(
        "--rounds",
        type=int,
        default=rounds,
        help="how often each case is measured (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write-readme", action="store_true", help="put the tables into README.md")
    return parser


def describe_machine(*packages: str) -> dict[str, str]:
    """Return the facts that figures depend on: date, machine, and versions of packages."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{memory_gib:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version(name) for name in packages if find_spec(name)},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def make_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", *, texts: int = 1
) -> str:
    """Return a table in Markdown, below its title; no cell is ever cut off.

    The first `texts` columns are aligned to the left, the figures to the right.
    """
    widths = [max(3, *map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    rule = ["-" * width for width in widths[:texts]]
    rule += ["-" * (width - 1) + ":" for width in widths[texts:]]
    lines = [
        " | ".join(
            cell.ljust(width) if place < texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        for cells in (columns, rule, *rows)
    ]
    heading = f"#### {title}\n\n" if title else ""
    return heading + "\n".join(f"| {line} |" for line in lines)


def make_case_table(
    rows: Sequence[Row], columns: Mapping[str, str], ratio: str, title: str = ""
) -> str:
    """Return a table of cases: labels, medians of contestants, their ratio and its target.

    `columns` maps labels and then contestants to headings; `ratio` is the heading of the ratio.
    """
    labels = [name for name in columns if name in rows[0].labels]
    contestants = [name for name in columns if name not in labels]
    cells = [
        [
            *(str(row.labels[name]) for name in labels),
            *(show(row.figure(name)) for name in contestants),
            *judge(row.ratio(), row.target),
        ]
        for row in rows
    ]
    return make_table([*columns.values(), ratio, *JUDGED], cells, title, texts=len(labels))


def judge(figure: Figure | None, target: Target | None) -> list[str]:
    """Return the cells of a figure with a target: median, middle half, target, verdict."""
    if figure is None:
        return [""] * (1 + len(JUDGED))
    low, high = figure.quartiles
    middle = f"{show(low)} to {show(high)}" if len(figure.rounds) > 1 else ""
    if target is None:
        return [show(figure), middle, "", ""]
    sign = "≥" if target.is_least else "≤"
    verdict = "met" if target.is_met(figure) else "missed"
    return [show(figure), middle, f"{sign} {target.limit:g}", verdict]


def show(figure: Figure | float | None) -> str:
    """Return a figure with as many digits as are of use."""
    if figure is None:
        return ""
    value = figure.median if isinstance(figure, Figure) else figure
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{digits}f}"


def to_json(row: Row) -> dict[str, Any]:
    """Return a row as JSON data."""
    figures = {name: row.figure(name) for name in row.contestants}
    described: dict[str, Any] = {
        **row.labels,
        **{f"{name}_{row.unit}": round(each.median, 2) for name, each in figures.items() if each},
        "rounds": len(row.rounds),
    }
    ratio = row.ratio()
    if ratio is not None:
        described["rounds_counted"] = len(ratio.rounds)
        described["ratio"] = round(ratio.median, 3)
        described["ratio_quartiles"] = [round(each, 3) for each in ratio.quartiles]
        if row.target is not None:
            described["target"] = row.target.limit
            described["is_met"] = row.target.is_met(ratio)
    return described
