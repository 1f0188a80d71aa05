from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.program import Run


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_project_is_started_without_questions(run: Run) -> None:
    outcome = run("init", "shop", "--yes")
    assert outcome.code == 0
    assert "wrote shop/tables.py" in outcome.out
    assert 'Table("Shop"' in Path("shop/tables.py").read_text("utf-8")
    assert "make" in outcome.out


def test_a_project_is_started_from_a_design(run: Run) -> None:
    shown = json.loads(run("init", "shop", "--design", "market", "--json").out)
    assert shown["table"] == "Market"
    assert len(shown["entities"]) == 11
    assert {each.name for each in Path("shop").iterdir()} == {*shown["files"]}


def test_names_can_be_given(run: Run) -> None:
    run("init", "clubs", "--name", "Clubs", "--owner", "Club", "--item", "Member", "--yes")
    text = Path("clubs/tables.py").read_text("utf-8")
    assert 'key=("CLUB#{club}", "MEMBER#{member}")' in text


def test_a_project_that_exists_is_kept(run: Run) -> None:
    run("init", "shop", "--yes")
    outcome = run("init", "shop", "--yes")
    assert outcome.code == 2
    assert "[file-taken]" in outcome.err


def test_a_short_name_of_a_folder_is_made_a_valid_one(run: Run) -> None:
    assert json.loads(run("init", "p1", "--json").out)["table"] == "P1Table"


def test_an_invalid_name_is_refused_before_anything_is_written(run: Run) -> None:
    outcome = run("init", "shop", "--name", "a b", "--yes")
    assert outcome.code == 2
    assert "'a b' is not a valid name of a table" in outcome.err
    assert not Path("shop").exists()


def test_an_entity_may_have_the_name_of_a_keyword(run: Run) -> None:
    assert run("init", "school", "--owner", "class", "--item", "import", "--yes").code == 0
    assert "def put_class(class_: Class)" in Path("school/tables.py").read_text("utf-8")


def test_an_unknown_design_is_named_with_its_option(run: Run) -> None:
    outcome = run("init", "shop", "--design", "nope")
    assert outcome.code == 2
    assert "--design: there is no table 'nope'" in outcome.err


def test_a_folder_that_cannot_be_written_is_reported_in_one_line(run: Run) -> None:
    Path("file").write_text("taken")
    outcome = run("init", "file/shop", "--yes")
    assert outcome.code == 2
    assert "file/shop cannot be written: Not a directory." in " ".join(outcome.err.split())
