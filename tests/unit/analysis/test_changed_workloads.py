"""Another workload for a profile: the same figures as if the patterns had run again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from keyfold.analysis import (
    TableProfile,
    Workload,
    change_workload,
    find_sample,
    profile_table,
    read_workload,
)
from keyfold.analysis.cost import read_prices, report_cost
from keyfold.designs import exchange_rates, pantry
from keyfold.model import Table
from keyfold.model._expected_use import CallRate

_TABLES = (exchange_rates.table, pantry.table)


def measure(table: Table, workload: Workload) -> TableProfile:
    return profile_table(table, find_sample(table), workload)


def use_more(workload: Workload) -> Workload:
    """Return a workload with other rates and numbers of items."""
    patterns = {
        name: replace(use, rate=CallRate.parse(number + 1), peak=None)
        for number, (name, use) in enumerate(workload.patterns.items())
    }
    volumes = {name: replace(each, items=12_345.0) for name, each in workload.volumes.items()}
    return replace(workload, patterns=patterns, volumes=volumes)


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: table.name)
def test_a_changed_profile_costs_what_a_new_one_costs(table: Table) -> None:
    workload = read_workload(table)
    other = use_more(workload)
    prices = read_prices()
    changed = report_cost(change_workload(measure(table, workload), other), prices)
    anew = report_cost(measure(table, other), prices)
    assert changed.forecast.month_usd == pytest.approx(anew.forecast.month_usd)
    assert changed.to_json()["patterns"] == anew.to_json()["patterns"]
    assert set(changed.forecast.assumptions) == set(anew.forecast.assumptions)


def test_a_profile_can_be_changed_back() -> None:
    table = exchange_rates.table
    workload = read_workload(table)
    first = measure(table, workload)
    back = change_workload(change_workload(first, use_more(workload)), workload)
    assert back.patterns == first.patterns
    assert back.sizes == first.sizes
