"""Figures as Markdown, and their place in README.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from rich.console import Console

README = Path(__file__).with_name("README.md")
WIDTH = 132


class MarkersMissing(RuntimeError):
    """README.md has no markers for the figures of a benchmark."""


def describe_machine() -> dict[str, str]:
    """Return the facts about the machine that all figures depend on."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{memory_gib:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def write_readme(name: str, show: Callable[[Console], None], readme: Path = README) -> None:
    """Write what `show` prints between the markers of a benchmark in README.md.

    The markers are the lines `<!-- NAME: begin -->` and `<!-- NAME: end -->`. Raises
    MarkersMissing.
    """
    printed = StringIO()
    show(Console(file=printed, width=WIDTH))
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = readme.read_text().partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise MarkersMissing(f"{readme} has no lines {begin} and {end}.")
    readme.write_text("\n".join([before + begin, "", *lines, "", end + after]))
