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
