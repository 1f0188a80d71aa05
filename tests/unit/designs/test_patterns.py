"""Every access pattern of every design has a test of its name, which also runs with answers that lag."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

from keyfold.designs import exchange_rates, letsgo, market, pantry
from tests.unit.designs.stale_databases import KEPT, LAGGING

MODULES = {
    "exchange_rates": exchange_rates,
    "letsgo": letsgo,
    "market": market,
    "pantry": pantry,
}
PATTERNS = [(design, name) for design, module in MODULES.items() for name in module.table.patterns]


def name_of_test(pattern: str) -> str:
    """Return what the test of a pattern is called: GetByBase is tested by test_get_by_base."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", pattern).lower()
    return "test_" + re.sub(r"\W+", "_", words)


@pytest.mark.parametrize(("design", "pattern"), PATTERNS)
def test_a_pattern_has_a_test_of_its_name(design: str, pattern: str) -> None:
    tests = importlib.import_module(f"tests.unit.designs.test_{design}")
    test = getattr(tests, name_of_test(pattern))
    first = next(iter(inspect.signature(test).parameters))
    fixture: Any = getattr(tests, first)
    marker = fixture._fixture_function_marker
    assert list(marker.params) == [KEPT, LAGGING]


def test_lagging_means_late_indexes_and_late_reads() -> None:
    assert (LAGGING.index_lag, LAGGING.stale_reads) == (1.0, 1.0)
