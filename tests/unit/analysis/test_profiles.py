"""Patterns are measured on samples, as large as the workload says."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import keyfold
from keyfold.analysis import (
    TableProfile,
    find_sample,
    profile_table,
    read_workload,
    sample_database,
)
from keyfold.connect import open_executor
from keyfold.model import Entity, Get, Key, Query, Table
from tests.unit.analysis import forest
from tests.unit.analysis.library import Book, Loan, examples, table


def profile(workload: str = "", folder: Path | None = None) -> TableProfile:
    file = None
    if folder is not None:
        file = folder / "workload.toml"
        file.write_text(workload)
    return profile_table(table, find_sample(table), read_workload(table, file))


def test_every_pattern_is_measured_with_arguments_from_the_examples() -> None:
    found = profile()
    assert not [each.problem for each in found.patterns.values() if each.problem]
    assert {name: (each.read_units, each.write_units) for name, each in found.patterns.items()} == {
        "Get reader": (0.5, 0.0),
        "Loans of reader": (0.5, 0.0),
        "Last loans": (0.5, 0.0),
        # The table and the index.
        "Add book": (0.0, 2.0),
        # The index key changes: its entry is deleted, and a new one is inserted.
        "Rename book": (0.0, 3.0),
        "Annotate book": (0.0, 2.0),
        "Remove book": (0.0, 2.0),
        "All books": found.patterns["All books"].read_units
        and (
            found.patterns["All books"].read_units,
            0.0,
        ),
    }


def test_units_are_known_by_index() -> None:
    rename = profile().patterns["Rename book"]
    assert rename.units_of(None, is_read=False) == 1.0
    assert rename.units_of("ByTitle", is_read=False) == 2.0
    assert rename.units_of("ByTitle", is_read=True) == 0.0


def test_partitions_have_as_many_items_of_the_size_that_the_workload_says(tmp_path: Path) -> None:
    text = "[entities.Loan]\nper_partition = 40\nbytes = 1024\n"
    found = profile(text, tmp_path)
    loans = [each for each in found.items if str(each["sk"]["S"]).startswith("LOAN#")]
    assert len(loans) == 40
    # 40 KiB, of which an eventually consistent read takes half a unit for each 4 KiB.
    assert found.patterns["Loans of reader"].read_units == 5.0
    assert found.patterns["Loans of reader"].items_read == 40
    # A tenth as many: 10 KiB.
    assert found.patterns["Last loans"].read_units == 1.5


def test_a_written_entity_has_the_size_that_the_workload_says(tmp_path: Path) -> None:
    found = profile("[entities.Book]\nbytes = 3000\n", tmp_path)
    assert found.patterns["Add book"].write_units == 6.0
    assert found.patterns["Annotate book"].write_units == 6.0


def test_scans_grow_with_the_table(tmp_path: Path) -> None:
    text = "[entities]\nReader.items = 0\nLoan.items = 0\nBook.items = 100_000\n"
    found = profile(text, tmp_path)
    assert found.sizes.total().items == 100_000
    units = found.sizes.total().bytes / 4096 / 2
    assert found.patterns["All books"].read_units == pytest.approx(units, abs=0.5)


def test_nothing_that_a_pattern_writes_is_left() -> None:
    found = profile()
    keys = sorted(str(each["pk"]["S"]) for each in found.items)
    assert keys == ["BOOK#978", "READER#ada", "READER#ada"]


def test_a_database_is_sampled_in_whole_partitions(tmp_path: Path) -> None:
    url = tmp_path / "library.db"
    with keyfold.open(table, url) as store:
        for each in examples():
            store.run(each.put())
        for number in range(30):
            store.run(Loan(reader="ada", number=number + 2, due=examples()[1].due).put())  # type: ignore[attr-defined]
            store.run(Book(isbn=f"{number}", title="x").put())
    with open_executor(url) as executor:
        sample = sample_database(table, executor, most=25)
    assert sample.counted == {"Reader": 1, "Loan": 31, "Book": 31}
    # Some of the books, which are partitions of about the same size.
    assert [each for each in sample.items if each["pk"]["S"] == "READER#ada"] == []
    assert len(sample.items) == 25
    with open_executor(url) as executor:
        whole = sample_database(table, executor)
    assert len(whole.items) == 63
    assert sample.assumptions == (f"Measured on {len(sample.items)} of 63 items of the database.",)


def test_a_pattern_that_cannot_run_says_why() -> None:
    lonely = Table("Lonely", key=Key("pk"))

    class Note(Entity, table=lonely, key="NOTE#{note}"):
        note: str

    @lonely.pattern("Fails")
    def fails(note: str) -> Get[Note]:
        raise ValueError(f"no {note}")

    @lonely.pattern("Works")
    def works(note: str) -> Query[Note]:
        return Note.query(note=note)

    found = profile_table(lonely, find_sample(lonely), read_workload(lonely))
    assert found.patterns["Fails"].problem == "ValueError: no note"
    assert found.patterns["Works"].problem is None
    assert "Fails: not measured: ValueError: no note" in found.assumptions
    assert fails.name, works.name


def test_what_a_database_has_no_items_for_is_measured_on_the_examples(tmp_path: Path) -> None:
    url = tmp_path / "library.db"
    with keyfold.open(table, url) as store:
        store.run(Loan(reader="bob", number=1, due=date(2026, 1, 1)).put())
    with open_executor(url) as executor:
        sample = sample_database(table, executor)
    found = profile_table(table, sample, read_workload(table))
    assert not found.patterns["Loans of reader"].is_on_examples
    assert found.patterns["Rename book"].is_on_examples
    assert (
        found.patterns["Rename book"].write_units == profile().patterns["Rename book"].write_units
    )
    (note,) = (each for each in found.assumptions if "table's examples" in each)
    assert "Rename book" in note
    assert not any("not measured" in each for each in found.assumptions)


def test_lists_of_entities_belong_to_the_entity_that_is_passed() -> None:
    found = profile_table(forest.table, find_sample(forest.table), read_workload(forest.table))
    plant = [
        [change for call in run.calls for change in call.changes]
        for run in found.patterns["Plant"].runs
        if getattr(run.arguments["tree"], "tree", None) == "elm"
    ]
    assert [len(changes) for changes in plant] == [4]


def test_values_of_another_entity_are_tried_if_an_entity_s_own_fail() -> None:
    found = profile_table(forest.table, find_sample(forest.table), read_workload(forest.table))
    run = found.patterns["Graft"].runs[0]
    assert run.arguments["branch"].number != run.arguments["number"]


def test_a_parameter_for_which_there_is_no_value_may_be_none() -> None:
    found = profile_table(forest.table, find_sample(forest.table), read_workload(forest.table))
    assert found.patterns["Branches"].problem is None
    assert found.patterns["Branches"].runs[0].arguments["cursor"] is None
