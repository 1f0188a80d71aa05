"""`keyfold lint`: what it prints, and its exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.unit.cli.program import Run

NOTES = """
from keyfold import Entity, Get, Key, Scan, Table

notes = Table("Notes", key=Key("pk"), lint_ignore={TABLE})

class Note(Entity, table=notes, key="NOTE#{{note}}"):
    note: str

@notes.pattern("All notes", lint_ignore={PATTERN})
def all_notes() -> Scan[Note]:
    return Note.scan()

@notes.pattern("Note")
def get_note(note: str) -> Get[Note]:
    return Note.get(note=note)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory; modules imported from it are unloaded after the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def write_notes(
    folder: Path, *, table: dict[str, str] | None = None, pattern: dict[str, str] | None = None
) -> str:
    """Write a module with a table, and return its path for --table."""
    source = NOTES.format(TABLE=table, PATTERN=pattern)
    (folder / "notebook.py").write_text(source, "utf-8")
    return "notebook:notes"


def test_json_is_a_list_of_findings(run: Run) -> None:
    outcome = run("lint", "pantry", "--rule", "P01", "--json")
    assert (outcome.code, outcome.err) == (1, "")
    [found] = json.loads(outcome.out)
    assert list(found) == ["code", "severity", "place", "message", "fix"]
    assert (found["code"], found["severity"]) == ("P01", "warning")
    assert found["place"].startswith("pattern 'ListOfExpiredJoinLinks' (")
    assert found["message"] == "It scans index JoinLinkIndex."


def test_text_names_the_place_the_reason_the_fix_and_the_source(run: Run, folder: Path) -> None:
    outcome = run("lint", "--table", write_notes(folder), "--rule", "p01")
    assert (outcome.code, outcome.err) == (1, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "Notes  1 warning"
    assert lines[2] == "Warnings"
    assert lines[4] == "P01 Scan"
    assert lines[5].startswith("  Why: A scan reads")
    assert any(each.startswith("  Fix: Query by a key") for each in lines)
    assert any(each.startswith("  Source: AWS agent toolkit") for each in lines)
    assert "  pattern 'All notes' notebook.py:9" in lines
    assert "    It scans the table." in lines
    assert max(map(len, lines)) <= 80


def test_what_is_ignored_is_listed_with_its_reason(run: Run, folder: Path) -> None:
    path = write_notes(folder, pattern={"P01": "a nightly job"})
    outcome = run("lint", "--table", path, "--rule", "P01")
    assert outcome.code == 0
    assert "Notes  no findings" in outcome.out
    assert "  P01 pattern 'All notes': a nightly job" in outcome.out
    assert json.loads(run("lint", "--table", path, "--rule", "P01", "--json").out) == []


def test_the_table_may_ignore_for_all_that_it_has(run: Run, folder: Path) -> None:
    path = write_notes(folder, table={"P01": "it stays small"})
    outcome = run("lint", "--table", path, "--rule", "P01")
    assert outcome.code == 0
    assert "  P01 pattern 'All notes': it stays small (table Notes)" in outcome.out


def test_ignores_are_reviewed_too(run: Run, folder: Path) -> None:
    path = write_notes(folder, pattern={"P01": " ", "P99": "old", "L01": "new"})
    found = json.loads(run("lint", "--table", path, "--json").out)
    texts = {each["code"]: each["message"] for each in found if each["code"].startswith("L")}
    assert texts == {"L02": "It ignores P01 without a reason."}
    ignored = run("lint", "--table", path).out
    assert "  L01 pattern 'All notes': new" in ignored


def test_a_code_that_is_unknown_or_not_needed_is_reported(run: Run, folder: Path) -> None:
    path = write_notes(folder, table={"P01": "small"}, pattern={"P01": "nightly", "p1": "old"})
    found = json.loads(run("lint", "--table", path, "--json").out)
    texts = {each["code"]: each["message"] for each in found if each["code"].startswith("L")}
    assert texts == {
        "L01": "Its lint_ignore has 'p1', not a rule. Did you mean P01?",
        "L03": "It ignores P01, which finds nothing here.",
    }


def test_the_exit_code_follows_the_severity(run: Run) -> None:
    arguments = ("lint", "pantry", "--rule", "P01")
    codes = {each: run(*arguments, "--severity", each).code for each in ("note", "warning")}
    assert codes == {"note": 1, "warning": 1}
    assert run(*arguments, "--severity", "error").code == 0


def test_a_rule_is_explained(run: Run) -> None:
    outcome = run("lint", "--explain", "P01")
    assert outcome.code == 0
    assert outcome.out.startswith("P01 Scan (warning)\n")


def test_an_unknown_rule_is_refused(run: Run) -> None:
    outcome = run("lint", "--explain", "X99")
    assert outcome.code == 2
    assert "there is no rule 'X99'" in outcome.err


def test_a_rule_is_explained_in_json(run: Run) -> None:
    found = json.loads(run("lint", "--explain", "K01", "--json").out)
    assert list(found) == ["code", "title", "severity", "why", "fix", "source", "found", "fine"]


def test_rules_that_are_skipped_are_listed_by_reason(run: Run, folder: Path) -> None:
    skipped = run("lint", "--table", write_notes(folder)).out.partition("Skipped\n")[2]
    assert skipped.count("no pattern has a rate") == 1
    assert skipped.count("no database was given") == 1


def test_sarif_is_a_format(run: Run) -> None:
    outcome = run("lint", "pantry", "--rule", "P01", "--format", "sarif")
    assert outcome.code == 1
    log = json.loads(outcome.out)
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["P01"]


def test_json_contradicts_other_formats(run: Run) -> None:
    outcome = run("lint", "pantry", "--json", "--format", "sarif")
    assert outcome.code == 2
    assert "it contradicts --format sarif" in outcome.err


def test_fix_edits_the_source_and_shows_the_changes(run: Run, folder: Path) -> None:
    path = write_notes(folder, table={"P01": "small"}, pattern={"P01": "a nightly job"})
    outcome = run("lint", "--table", path, "--fix", "--json", "--rule", "L03")
    assert (outcome.code, json.loads(outcome.out)) == (0, [])
    assert outcome.err.startswith("--- notebook.py\n+++ notebook.py\n")
    assert "-notes = Table(" in outcome.err
    assert outcome.err.endswith("Fixed 1 finding.\n")
    assert "lint_ignore={'P01': 'small'}" not in (folder / "notebook.py").read_text("utf-8")
    assert "lint_ignore={'P01': 'a nightly job'}" in (folder / "notebook.py").read_text("utf-8")


def test_fix_protects_a_table_from_deletion(run: Run, folder: Path) -> None:
    outcome = run("lint", "--table", write_notes(folder), "--fix", "--rule", "O01")
    assert outcome.code == 0
    source = (folder / "notebook.py").read_text("utf-8")
    assert 'Table("Notes", key=Key("pk"), lint_ignore=None, deletion_protection=True)' in source


def test_a_database_is_reviewed(run: Run, folder: Path) -> None:
    path = write_notes(folder)
    run("apply", "--table", path, "--db", "notes.db")
    outcome = run("lint", "--table", path, "--db", "notes.db", "--rule", "P01")
    assert (outcome.code, outcome.err) == (1, "")


def test_a_database_without_the_table_is_refused(run: Run, folder: Path) -> None:
    run("apply", "pantry", "--db", "pantry.db")
    outcome = run("lint", "--table", write_notes(folder), "--db", "pantry.db")
    assert outcome.code == 2
    assert "there is no table Notes" in outcome.err


def test_a_workload_is_for_one_table(run: Run, folder: Path) -> None:
    write_notes(folder)
    (folder / "more.py").write_text(
        NOTES.format(TABLE=None, PATTERN=None).replace('"Notes"', '"More"')
    )
    tables = '[tool.keyfold]\ntables = ["notebook:notes", "more:notes"]\n'
    (folder / "pyproject.toml").write_text(tables, "utf-8")
    outcome = run("lint", "--workload", "w.toml")
    assert outcome.code == 2
    assert "name one of Notes, More" in outcome.err
    both = run("lint", "--rule", "P01")
    assert both.out.count("1 warning") == 2
