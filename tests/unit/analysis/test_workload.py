"""Workload files, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyfold.analysis import PatternUse, find_same_partitions, read_workload, use_alike
from keyfold.errors import WorkloadInvalid
from keyfold.model._expected_use import CallRate, Volume
from tests.unit.analysis.library import table


def test_without_a_file_a_workload_is_what_is_declared() -> None:
    found = read_workload(table)
    assert found.patterns["Get reader"] == PatternUse(CallRate(10, "10/s"), CallRate(40, "40/s"))
    assert found.patterns["Add book"] == PatternUse()
    assert found.volumes["Book"] == Volume()
    assert found.source is None
    assert found.has_rates


def test_a_file_replaces_what_is_declared(tmp_path: Path) -> None:
    file = tmp_path / "use.toml"
    file.write_text(
        '[patterns."Get reader"]\nrate = "1M/month"\nskew = 1.1\narguments = { reader = "bob" }\n'
        '[entities.Book]\nitems = "20k"\n'
    )
    found = read_workload(table, file)
    use = found.patterns["Get reader"]
    assert use.rate is not None
    assert use.rate.per_month == 1_000_000
    assert use.peak == CallRate(40, "40/s")
    assert (use.skew, use.arguments) == (1.1, {"reader": "bob"})
    assert found.volumes["Book"] == Volume(items=20_000)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "[patterns.'Get raeder']",
            r"patterns: 'Get raeder' is unknown. Did you mean 'Get reader'",
        ),
        ("[entities.Author]", "entities: 'Author' is unknown. There are Reader, Loan, Book"),
        ("[pattern]", "'pattern' is unknown. Did you mean 'patterns'"),
        ("[patterns.'Get reader']\nrates = 1", "'rates' is unknown. Did you mean 'rate'"),
        ("[patterns.'Get reader']\nrate = 'often'", "'often' is not a rate"),
        ("[patterns.'Get reader']\nrate = '90/s'", "its peak .40/s. is lower than its rate .90/s."),
        ("[patterns.'Get reader']\nrate = '999999999999999G/s'", "too large"),
        ("[entities.Book]\nitems = 1e300", "too large. Write a number up to 1e18"),
        ("[entities.Book]\nitems = nan", "not a count"),
        ("[entities.Book]\nitems = -1", "not a count"),
        ("[settings]\nbackups = 'two'", "settings: 'two' is not a count"),
        ("[settings]\nvectors = 1", "'vectors' is unknown"),
        ("[entities.Book]\nitems = [1]", "entities.Book"),
        ("patterns = 3", "patterns: got 3. Write a TOML table"),
        ("[", "it is not TOML"),
    ],
)
def test_faults_name_the_place_and_the_nearest_name(tmp_path: Path, text: str, fact: str) -> None:
    file = tmp_path / "use.toml"
    file.write_text(text)
    with pytest.raises(WorkloadInvalid, match=fact):
        read_workload(table, file)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkloadInvalid, match=r"none.toml: it cannot be read: No such file"):
        read_workload(table, tmp_path / "none.toml")


def test_a_compared_table_is_used_like_the_first(tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(
        '[patterns."Get reader"]\nrate = "1M/month"\narguments = { reader = "bob" }\n'
        "[entities.Book]\nitems = 500\nbytes = 300\nper_partition = 7\n"
        "[settings]\nbackups = 2\n"
    )
    second.write_text(
        '[patterns."Get reader"]\nrate = "7/s"\narguments = { reader = "eve" }\n'
        '[patterns."Add book"]\nrate = "1/s"\n'
        "[entities.Book]\nitems = 9\nbytes = 900\nper_partition = 2\n"
    )
    found = use_alike(read_workload(table, second), read_workload(table, first))
    use = found.patterns["Get reader"]
    assert use.rate == CallRate.parse("1M/month")
    assert use.arguments == {"reader": "eve"}
    # What the first does not say is the second's own.
    assert found.patterns["Add book"].rate == CallRate(1, "1/s")
    assert found.volumes["Book"] == Volume(items=500, bytes=900, per_partition=2)
    assert found.settings.backups == 2


def test_a_compared_table_has_as_many_items_in_the_same_partitions(tmp_path: Path) -> None:
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text("[entities.Book]\nper_partition = 7\n[entities.Loan]\nper_partition = 3\n")
    second.write_text("")
    same = find_same_partitions(table, table)
    assert same == {*table.entities}
    own, model = read_workload(table, second), read_workload(table, first)
    found = use_alike(own, model, same_partitions=same - {"Loan"})
    assert found.volumes["Book"].per_partition == 7
    assert found.volumes["Loan"] == own.volumes["Loan"]
