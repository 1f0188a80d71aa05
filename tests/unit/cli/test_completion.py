"""Completion in the user's shell: commands, options, tables and patterns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.project import write_project

PROGRAM = "import sys; sys.argv[0] = 'keyfold'; from keyfold.cli import main; main()"


def complete(folder: Path, line: str) -> list[str]:
    """Return what bash would offer at the end of a line."""
    environment = {
        **os.environ,
        "_KEYFOLD_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    settings = '[tool.keyfold]\ntables = ["corner_shop:shop"]\n'
    write_project(tmp_path, "corner_shop", settings=settings)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("keyfold pat", ["patterns"]),
        ("keyfold stream f", ["follow"]),
        ("keyfold patterns --tab", ["--table"]),
        ("keyfold patterns mar", ["market"]),
        ("keyfold patterns --table corner", ["corner_shop:shop"]),
        ("keyfold backfill pan", ["pantry"]),
        ("keyfold run market last", ["last-orders"]),
        ("keyfold run --table market last", ["last-orders"]),
        ("keyfold run cou", ["count-orders"]),
    ],
)
def test_words_are_completed(project: Path, line: str, offered: list[str]) -> None:
    assert complete(project, line) == offered


def test_a_broken_project_completes_designs(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.keyfold\n", "utf-8")
    assert complete(tmp_path, "keyfold patterns p") == ["pantry"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(tmp_path: Path, shell: str) -> None:
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM, "--show-completion", shell],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=True,
        text=True,
    )
    assert "_KEYFOLD_COMPLETE=complete_" in shown.stdout
