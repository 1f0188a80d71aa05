"""Every access pattern of every design has a test of its name, which also runs with stale reads."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

from keyfold.designs import exchange_rates, market, pantry
from keyfold.designs.letsgo import shop
from tests.unit.designs.stale_databases import LATE_EXPIRY, STALE_READS

MODULES = {
    "exchange_rates": exchange_rates,
    "letsgo": shop,
    "market": market,
    "pantry": pantry,
}
PATTERNS = [(design, name) for design, module in MODULES.items() for name in module.table.patterns]


def name_of_test(pattern: str) -> str:
    """Return the name of a pattern's test: GetByBase is tested by test_get_by_base."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", pattern).lower()
    return "test_" + re.sub(r"\W+", "_", words)


def test_a_pattern_has_a_test_of_its_name(subtests: pytest.Subtests) -> None:
    for design, pattern in PATTERNS:
        with subtests.test(design=design, pattern=pattern):
            tests = importlib.import_module(f"tests.unit.designs.test_{design}")
            test = getattr(tests, name_of_test(pattern))
            first = next(iter(inspect.signature(test).parameters))
            fixture: Any = getattr(tests, first)
            marker = fixture._fixture_function_marker
            assert list(marker.params) == [LATE_EXPIRY, STALE_READS]


def test_stale_reads_include_late_indexes() -> None:
    assert (STALE_READS.index_lag, STALE_READS.stale_reads) == (1.0, 1.0)
