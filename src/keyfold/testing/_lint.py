"""Lint in tests: a test fails with the text of the findings."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from keyfold.analysis import sample_database
from keyfold.analysis.lint import Finding, Severity, list_rules, review_table
from keyfold.model import Table
from keyfold.store import Store
from keyfold.testing._lint_options import SeverityName


def lint_table(
    table: Table,
    /,
    *,
    severity: SeverityName = "warning",
    ignore: Collection[str] = (),
    workload: Path | None = None,
    store: Store | None = None,
) -> None:
    """Fail the test if lint finds something in a table; see `LintTable`."""
    __tracebackhide__ = True
    ignored = {ignore} if isinstance(ignore, str) else {*ignore}
    unknown = sorted(ignored.difference(list_rules()))
    if unknown:
        pytest.fail(f"keyfold_lint: ignore has {unknown[0]!r}, which no rule has", pytrace=False)
    least = Severity.parse(severity)
    data = None if store is None else sample_database(table, store)
    found = [
        each
        for each in review_table(table, workload, data=data).findings
        if each.severity >= least and each.code not in ignored
    ]
    if found:
        count = "1 finding" if len(found) == 1 else f"{len(found)} findings"
        text = "\n".join(map(_show, found))
        pytest.fail(f"keyfold lint: {table.name} has {count}\n{text}", pytrace=False)


def _show(finding: Finding) -> str:
    title = list_rules()[finding.code].title
    return (
        f"\n{finding.code} {title} ({finding.severity})\n"
        f"  {finding.place}\n"
        f"  {finding.message}\n"
        f"  Fix: {finding.fix}"
    )
