"""The examples and the workload of each design measure every one of its patterns."""

from __future__ import annotations

from importlib import import_module
from itertools import chain

import pytest

from keyfold.analysis import find_sample, profile_table, read_workload
from keyfold.model import Table

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")


@pytest.mark.parametrize("design", DESIGNS)
def test_every_pattern_of_a_design_is_measured(design: str) -> None:
    table: Table = import_module(f"keyfold.designs.{design}").table
    workload = read_workload(table)
    assert workload.source is not None
    found = profile_table(table, find_sample(table), workload)
    assert [each.problem for each in found.patterns.values() if each.problem] == []
    for each in found.patterns.values():
        assert each.items_returned > 0, each.pattern
        assert sum(call.units for call in chain(*(run.calls for run in each.runs))) > 0


@pytest.mark.parametrize("design", DESIGNS)
def test_examples_cover_every_entity(design: str) -> None:
    table: Table = import_module(f"keyfold.designs.{design}").table
    covered = {type(each).__name__ for each in table.example_entities()}
    own = {
        name
        for name, schema in table.entities.items()
        if schema.entity.__module__.startswith(f"keyfold.designs.{design}._")
    }
    assert own <= covered
