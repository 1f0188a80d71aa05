"""The designs to compare do what those that they are compared with do."""

from __future__ import annotations

import market_reverse_index
import pantry_by_index
import pytest

from keyfold import Table
from keyfold.analysis import TableProfile, find_sample, profile_table, read_workload, use_alike
from keyfold.designs import market, pantry


def profile(table: Table, model: Table | None = None) -> TableProfile:
    workload = read_workload(table)
    if model is not None:
        workload = use_alike(workload, read_workload(model))
    return profile_table(table, find_sample(table), workload)


@pytest.mark.parametrize("table", [pantry_by_index.by_copy, pantry_by_index.by_keys])
def test_every_pattern_of_the_pantry_that_has_a_rate_is_there(table: Table) -> None:
    found, design = profile(table, pantry.table), profile(pantry.table)
    rated = {name for name, use in design.workload.patterns.items() if use.rate is not None}
    assert found.patterns.keys() == rated
    assert [each.problem for each in found.patterns.values() if each.problem] == []
    # What is not about containers costs the same.
    for name in ("GetUser", "ListOfUsersGroup", "ListOfUsres", "CreateGroup", "JoinByLink"):
        mine, theirs = found.patterns[name], design.patterns[name]
        assert (mine.read_units, mine.write_units) == (theirs.read_units, theirs.write_units)


def test_the_orders_with_the_reverse_index_cost_what_those_of_the_market_do() -> None:
    found, design = profile(market_reverse_index.with_keys), profile(market.table)
    for name, pattern in found.patterns.items():
        assert pattern.problem is None
        assert pattern.write_units == design.patterns[name].write_units
        assert found.workload.patterns[name].rate == design.workload.patterns[name].rate
