"""Exactly the marked lines of `cases/` fail to type-check, with pyright and with mypy, both strict.

A line that must not type-check ends with a comment that names the rules of pyright it breaks:

    rate.stale = True  # error: reportAttributeAccessIssue

Where mypy finds less, the comment goes on with `; not mypy`. Where mypy alone finds an error, which is
a limit of mypy, the comment is `# mypy: error`.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CASES = sorted((ROOT / "tests" / "typing" / "cases").glob("*.py"))

EXPECTED = re.compile(r"# error: (?P<rules>\w+(?:, \w+)*)(?P<not_mypy>; not mypy)?$")
MYPY_ALONE = re.compile(r"# mypy: error$")
MYPY_ERROR = re.compile(r"^tests/typing/cases/(?P<case>\w+\.py:\d+): error: ", re.MULTILINE)

# Cases use values only for their types.
NOT_THE_POINT = ("reportUnusedClass", "reportUnusedExpression", "reportUnusedVariable")


def write_project(folder: Path) -> Path:
    """Write pyright's settings: the repository's, limited to the cases."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        settings: dict[str, Any] = tomllib.load(file)["tool"]["pyright"]
    for name in ("executionEnvironments", "venv", "venvPath"):
        del settings[name]
    # Pyright accepts no absolute paths here.
    settings["include"] = [os.path.relpath(case, folder) for case in CASES]
    settings["exclude"] = []
    settings |= dict.fromkeys(NOT_THE_POINT, False)
    settings["extraPaths"] = [str(ROOT), str(ROOT / "src")]
    project = folder / "pyrightconfig.json"
    project.write_text(json.dumps(settings), "utf-8")
    return project


def find_errors(project: Path) -> set[str]:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    checked = subprocess.run(
        [*command, "--project", project],
        capture_output=True,
        check=False,
        text=True,
        # Its launcher may print a note about newer versions first.
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    report = json.loads(checked.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(CASES)
    return {
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: "
        + each.get("rule", each["message"])
        for each in report["generalDiagnostics"]
    }


def read_expected() -> set[str]:
    return {
        f"{case.name}:{number}: {rule}"
        for case in CASES
        for number, line in enumerate(case.read_text("utf-8").splitlines(), 1)
        for expected in EXPECTED.finditer(line)
        for rule in expected["rules"].split(", ")
    }


def test_exactly_the_marked_lines_fail_to_type_check(tmp_path: Path) -> None:
    found, expected = find_errors(write_project(tmp_path)), read_expected()
    assert (sorted(found - expected), sorted(expected - found)) == ([], [])


def find_mypy_errors(cache: Path) -> set[str]:
    command = [sys.executable, "-m", "mypy", "--explicit-package-bases", "--cache-dir", cache]
    checked = subprocess.run(
        [*command, *(case.relative_to(ROOT) for case in CASES)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        text=True,
        env={**os.environ, "MYPYPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )
    assert f"checked {len(CASES)} source files" in checked.stdout, checked.stdout + checked.stderr
    return {found["case"] for found in MYPY_ERROR.finditer(checked.stdout)}


def test_mypy_finds_the_same_lines(tmp_path: Path) -> None:
    lines = {
        f"{case.name}:{number}": line
        for case in CASES
        for number, line in enumerate(case.read_text("utf-8").splitlines(), 1)
    }
    marked = {place: EXPECTED.search(line) for place, line in lines.items()}
    expected = {place for place, mark in marked.items() if mark and not mark["not_mypy"]}
    expected |= {place for place, line in lines.items() if MYPY_ALONE.search(line)}
    found = find_mypy_errors(tmp_path)
    assert (sorted(found - expected), sorted(expected - found)) == ([], [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_can_be_imported(case: Path) -> None:
    importlib.import_module(f"tests.typing.cases.{case.stem}")
