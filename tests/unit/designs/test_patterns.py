"""Every access pattern of every design has a test of its name, which also runs with stale reads."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
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


def modules_of(design: str) -> list[ModuleType]:
    """Return the modules with the tests of a design."""
    paths = sorted(Path(__file__).parent.glob(f"test_{design}*.py"))
    return [importlib.import_module(f"tests.unit.designs.{path.stem}") for path in paths]


def test_a_pattern_has_a_test_of_its_name(subtests: pytest.Subtests) -> None:
    for design, pattern in PATTERNS:
        with subtests.test(design=design, pattern=pattern):
            name = name_of_test(pattern)
            tests = next(each for each in modules_of(design) if hasattr(each, name))
            test = getattr(tests, name)
            first = next(iter(inspect.signature(test).parameters))
            fixture: Any = getattr(tests, first)
            marker = fixture._fixture_function_marker
            assert list(marker.params) == [LATE_EXPIRY, STALE_READS]


def test_a_pattern_says_which_index_may_lag_and_no_index_decides_a_write() -> None:
    lagging: dict[str, list[str]] = {}
    for design, name in PATTERNS:
        pattern = MODULES[design].table.patterns[name]
        explained = pattern.explain()
        assert ("may lag" in pattern.description) == bool(explained.lagging_indexes), name
        assert not explained.writes_after_lag, name
        if explained.lagging_indexes:
            lagging.setdefault(design, []).append(pattern.__name__)
    assert lagging == {
        "exchange_rates": ["get_by_base"],
        "market": ["order_by_id", "find_by_key", "find_by_id"],
        "pantry": [
            "list_of_users",
            "list_of_expired_join_links",
            "list_of_expired_join_links_of_group",
        ],
    }


def test_stale_reads_include_late_indexes() -> None:
    assert (STALE_READS.index_lag, STALE_READS.stale_reads) == (1.0, 1.0)
