"""The document of the clinic, made once."""

from __future__ import annotations

from functools import cache

import pytest

from keyfold.analysis import find_sample, profile_table, read_workload
from keyfold.analysis.cost import read_prices, report_cost
from keyfold.analysis.lint import Design, review
from keyfold.export.documents import DesignDocument, describe_design
from keyfold.model import Table
from tests.unit.export.documents import clinic


@cache
def describe(table: Table) -> DesignDocument:
    """Return the document of a table, as `keyfold doc` does."""
    use = read_workload(table)
    profile = profile_table(table, find_sample(table), use)
    found = review(Design(table, use, profile))
    return describe_design(profile, found, report_cost(profile, read_prices()))


@pytest.fixture
def document() -> DesignDocument:
    return describe(clinic.table)
