"""What is suppressed, skipped and found."""

from __future__ import annotations

from keyfold import Entity, Key, Scan, Table
from keyfold.analysis import find_sample, profile_table, read_workload
from keyfold.analysis.lint import Design, Review, Severity, review


def review_table(table: Table) -> Review:
    """Run the rules on a table alone."""
    workload, sample = read_workload(table), find_sample(table)
    return review(Design(table, workload, profile_table(table, sample, workload)))


def make_table(ignored: dict[str, str] | None = None) -> Table:
    """Return a table with a pattern that scans."""
    notes = Table("Notes", key=Key("pk"))

    class Note(Entity, table=notes, key="NOTE#{note}"):
        note: str

    @notes.pattern("All notes", lint_ignore=ignored)
    def all_notes() -> Scan[Note]:
        return Note.scan()

    assert all_notes.name
    return notes


def test_a_finding_says_what_where_and_how_to_mend_it() -> None:
    [found] = [each for each in review_table(make_table()).findings if each.code == "P01"]
    assert found.severity is Severity.WARNING
    assert found.place.subject == "pattern 'All notes'"
    assert found.place.file == __file__
    assert found.message == "It scans the table."
    assert found.fix.startswith("Query by a key")
    assert found.to_json()["place"] == f"pattern 'All notes' ({__file__}:{found.place.line})"


def test_what_is_ignored_is_kept_with_its_reason() -> None:
    found = review_table(make_table({"P01": "a nightly job"}))
    assert [each.code for each in found.findings if each.code == "P01"] == []
    assert [(each.code, each.ignored) for each in found.ignored] == [("P01", "a nightly job")]
