"""`keyfold backup` and `keyfold restore`, also while the file is served."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keyfold.engine import Engine
from keyfold.wire.server import Server
from tests.unit.cli.program import Run
from tests.unit.engine.storage.tables import create, names, put


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with Engine.open(path, upkeep_seconds=None) as engine:
        create(engine)
        put(engine, "first")
    return path


def read(path: Path) -> set[str]:
    with Engine.open(path, upkeep_seconds=None) as engine:
        return names(engine)


def test_a_served_file_is_backed_up_and_put_back(run: Run, file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with Engine.open(file, upkeep_seconds=None) as engine, Server(engine).running():
        put(engine, "second")
        outcome = run("backup", file, copy)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out == f"{copy}: {copy.stat().st_size / 1024:.1f} KB, no problems\n"
        put(engine, "third")
        outcome = run("restore", copy, file)
        assert outcome.code == 2
        assert outcome.err.endswith(
            "Stop the processes that use it, such as servers. [file-in-use]\n"
        )
    outcome = run("restore", copy, file)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{file}: ")
    assert read(file) == {"first", "second"}


def test_results_in_json(run: Run, file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    outcome = run("backup", file, copy, "--json")
    assert json.loads(outcome.out) == {"file": str(copy), "size_bytes": copy.stat().st_size}
    outcome = run("restore", copy, file, "--json")
    assert json.loads(outcome.out) == {"file": str(file), "size_bytes": file.stat().st_size}


def test_a_target_that_exists_needs_overwrite(run: Run, file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("a letter")
    outcome = run("backup", file, copy)
    assert outcome.code == 2
    assert outcome.err.endswith("[file-taken]\n")
    assert copy.read_text() == "a letter"
    assert run("backup", file, copy, "--overwrite").code == 0
    assert read(copy) == {"first"}


def test_a_file_of_another_kind_needs_force(run: Run, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "letter.txt"
    other.write_text("Dear reader, " * 1_000)
    outcome = run("restore", file, other)
    assert outcome.code == 2
    assert outcome.err.endswith("[file-not-keyfold]\n")
    assert run("restore", file, other, "--force").code == 0
    assert read(other) == {"first"}


def test_a_missing_file_is_not_created(run: Run, tmp_path: Path) -> None:
    for command in ("backup", "restore"):
        outcome = run(command, tmp_path / "missing.db", tmp_path / "copy.db")
        assert outcome.code == 2
        assert outcome.err.endswith("there is no such file. [file-unreachable]\n")
    assert list(tmp_path.iterdir()) == []
