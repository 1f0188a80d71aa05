from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keyfold.errors import FileTaken
from keyfold.imports import copy_design, load_tables, make_project, make_starter, write_project
from tests.exports.tables import DESIGNS
from tests.unit.imports.comparing import key_of


def test_a_starter_has_two_entities() -> None:
    [table] = load_tables(make_project(make_starter("Shop", "Customer", "Order"))["tables.py"])
    assert {name: key_of(each) for name, each in table.entities.items()} == {
        "Customer": ("CUSTOMER#<0>", "CUSTOMER"),
        "Order": ("CUSTOMER#<0>", "ORDER#<1>"),
    }


@pytest.mark.parametrize("design", DESIGNS, ids=lambda table: table.name)
def test_a_design_is_copied(design: object) -> None:
    [source] = [each for each in DESIGNS if each is design]
    [table] = load_tables(make_project(copy_design(source, "Mine"))["tables.py"])
    assert table.name == "Mine"
    assert {name: key_of(each) for name, each in table.entities.items()} == {
        name: key_of(each) for name, each in source.entities.items()
    }


def test_the_tests_of_a_project_pass(tmp_path: Path) -> None:
    write_project(tmp_path / "shop", make_project(make_starter("Shop", "Team", "Match")))
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"],
        cwd=tmp_path / "shop",
        capture_output=True,
        check=False,
        text=True,
    )
    assert "3 passed" in tested.stdout, tested.stdout + tested.stderr


def test_no_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("mine", "utf-8")
    with pytest.raises(FileTaken, match="Makefile"):
        write_project(tmp_path, make_project(make_starter("Shop", "Team", "Match")))
    assert [each.name for each in tmp_path.iterdir()] == ["Makefile"]
