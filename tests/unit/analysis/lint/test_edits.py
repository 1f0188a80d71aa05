"""Edits of declarations, as `keyfold lint --fix` makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyfold.analysis.lint import (
    Finding,
    Place,
    RemoveIgnore,
    RenameIgnore,
    SetArgument,
    Severity,
    make_fixes,
)

Edit = RemoveIgnore | RenameIgnore | SetArgument

# For each edit: the source before, the line of the declaration, the edits, and the source after.
CASES: dict[str, tuple[str, int, tuple[Edit, ...], str]] = {
    "the only code of a pattern": (
        '@notes.pattern("All", lint_ignore={"P01": "nightly"})\ndef all_notes(): ...\n',
        1,
        (RemoveIgnore("P01"),),
        '@notes.pattern("All")\ndef all_notes(): ...\n',
    ),
    "the first of two codes": (
        'notes = Table("Notes", lint_ignore={"P01": "a", "P02": "b"}, key=Key("pk"))\n',
        1,
        (RemoveIgnore("P01"),),
        'notes = Table("Notes", lint_ignore={"P02": "b"}, key=Key("pk"))\n',
    ),
    "the last of two codes": (
        'notes = Table("Notes", lint_ignore={"P01": "a", "P02": "b"}, key=Key("pk"))\n',
        1,
        (RemoveIgnore("P02"),),
        'notes = Table("Notes", lint_ignore={"P01": "a"}, key=Key("pk"))\n',
    ),
    "both codes": (
        'notes = Table("Notes", lint_ignore={"P01": "a", "P02": "b"}, key=Key("pk"))\n',
        1,
        (RemoveIgnore("P01"), RemoveIgnore("P02")),
        'notes = Table("Notes", key=Key("pk"))\n',
    ),
    "a keyword on lines of its own": (
        'index = Index(\n    "ByDay",\n    key=Key("day"),\n    lint_ignore={\n        "K02": "1 °C",\n    },\n)\n',
        1,
        (RemoveIgnore("K02"),),
        'index = Index(\n    "ByDay",\n    key=Key("day"),\n)\n',
    ),
    "an entity with a decorator": (
        '@final\nclass Note(Entity, table=notes, lint_ignore={"K01": "é"}, key="N"):\n    pass\n',
        1,
        (RemoveIgnore("K01"),),
        '@final\nclass Note(Entity, table=notes, key="N"):\n    pass\n',
    ),
    "a code that is misspelt": (
        'notes = Table("Notes", lint_ignore={"p1": "small"})\n',
        1,
        (RenameIgnore("p1", "P01"),),
        'notes = Table("Notes", lint_ignore={"P01": "small"})\n',
    ),
    "a new argument": (
        'import keyfold\n\nnotes = keyfold.Table("Notes", key=Key("pk"))\n',
        3,
        (SetArgument("deletion_protection", "True"),),
        'import keyfold\n\nnotes = keyfold.Table("Notes", key=Key("pk"), deletion_protection=True)\n',
    ),
    "a new argument on a line of its own": (
        'notes = Table(\n    "Notes",\n    key=Key("pk"),\n)\n',
        1,
        (SetArgument("deletion_protection", "True"),),
        'notes = Table(\n    "Notes",\n    key=Key("pk"),\n    deletion_protection=True,\n)\n',
    ),
    "an argument with another value": (
        'notes = Table("Notes", deletion_protection=False, key=Key("pk"))\n',
        1,
        (SetArgument("deletion_protection", "True"),),
        'notes = Table("Notes", deletion_protection=True, key=Key("pk"))\n',
    ),
}
# What is not written out at its place, or is not there any more.
LEFT_ALONE: dict[str, tuple[str, int, Edit]] = {
    "a variable": ('notes = Table("Notes", lint_ignore=IGNORED)\n', 1, RemoveIgnore("P01")),
    "another code": ('notes = Table("Notes", lint_ignore={"P02": ""})\n', 1, RemoveIgnore("P01")),
    "another line": ('\nnotes = Table("N", lint_ignore={"P01": ""})\n', 1, RemoveIgnore("P01")),
    "before others": (
        'notes = Table("N", lint_ignore={"P01": "", **OTHERS})\n',
        1,
        RemoveIgnore("P01"),
    ),
    "no source": ("notes = Table(\n", 1, RemoveIgnore("P01")),
}


def make_finding(file: Path, line: int, edit: Edit) -> Finding:
    """Return a finding that an edit mends."""
    place = Place("table Notes", str(file), line)
    return Finding("L03", Severity.NOTE, place, "It is so.", "Mend it.", edit=edit)


@pytest.mark.parametrize("case", CASES)
def test_a_declaration_is_edited(case: str, tmp_path: Path) -> None:
    before, line, edits, after = CASES[case]
    file = tmp_path / "notebook.py"
    file.write_text(before, "utf-8")
    findings = [make_finding(file, line, edit) for edit in edits]
    [fix] = make_fixes(findings, tmp_path)
    assert fix.after == after
    assert fix.findings == tuple(findings)
    fix.write()
    assert file.read_text("utf-8") == after


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_what_is_not_written_out_is_left_alone(case: str, tmp_path: Path) -> None:
    source, line, edit = LEFT_ALONE[case]
    file = tmp_path / "notebook.py"
    file.write_text(source, "utf-8")
    assert make_fixes([make_finding(file, line, edit)], tmp_path) == []


def test_files_elsewhere_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notebook.py"
    file.write_text('notes = Table("N", lint_ignore={"P01": ""})\n', "utf-8")
    (tmp_path / "project").mkdir()
    assert make_fixes([make_finding(file, 1, RemoveIgnore("P01"))], tmp_path / "project") == []


def test_several_declarations_of_a_file_are_edited(tmp_path: Path) -> None:
    file = tmp_path / "notebook.py"
    file.write_text(
        'one = Index("One",\n    lint_ignore={"I12": ""})\ntwo = Index("Two", lint_ignore={"I12": ""})\n',
        "utf-8",
    )
    findings = [make_finding(file, line, RemoveIgnore("I12")) for line in (1, 3)]
    [fix] = make_fixes(findings, tmp_path)
    assert fix.after == 'one = Index("One")\ntwo = Index("Two")\n'
    assert '-two = Index("Two", lint_ignore={"I12": ""})\n' in fix.diff()
