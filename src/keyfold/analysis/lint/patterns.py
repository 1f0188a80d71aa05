"""Rules about access patterns: P01 to P14."""

from __future__ import annotations

from collections.abc import Iterator

from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.errors import PatternFailed, PatternUnexplained


@rule(
    "P01",
    "Scan",
    severity=Severity.WARNING,
    fix="Query by a key, of an index if necessary; for a rare job, ignore the rule and say so.",
    source="ME16",
)
def scan(design: Design) -> Iterator[DesignProblem]:
    """A scan reads and pays for every item of the table or index, so it grows with the data."""
    for pattern in design.table.patterns.values():
        try:
            steps = pattern.explain().steps
        except (PatternFailed, PatternUnexplained):
            continue
        for step in steps:
            if step.scans:
                read = "the table" if step.index is None else f"index {step.index}"
                yield DesignProblem(pattern, f"It scans {read}.")
