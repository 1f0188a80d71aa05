"""CloudFormation templates pass the validators of others, and make the declared tables in moto."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from keyfold import OnDemand
from keyfold.export import export_cloudformation
from tests.clients.environments import Unavailable, make_python
from tests.exports.deployed import RecordedAnswers, find_differences
from tests.exports.tables import TABLES

FOLDER = Path(__file__).parent

pytestmark = pytest.mark.exports


@pytest.fixture(scope="session")
def python() -> str:
    try:
        return make_python("validators", FOLDER / "requirements-validators.txt")
    except Unavailable as reason:
        # Without a network, or without Node, the tools cannot be installed.
        pytest.skip(str(reason))


@pytest.fixture
def templates(tmp_path: Path) -> list[str]:
    paths: list[str] = []
    for number, tables in enumerate([*((table,) for table in TABLES), TABLES]):
        path = tmp_path / f"{number}.json"
        path.write_text(export_cloudformation(*tables).to_text(), "utf-8")
        paths.append(str(path))
    return paths


def run_script(python: str, script: str, *arguments: str) -> str:
    command = [python, str(FOLDER / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_templates_are_valid(python: str, templates: list[str]) -> None:
    assert run_script(python, "validate_templates.py", *templates) == ""


def test_a_fault_would_be_found(python: str, tmp_path: Path) -> None:
    template: Any = export_cloudformation(TABLES[0]).content
    [resource] = template["Resources"].values()
    del resource["Properties"]["KeySchema"]
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(template), "utf-8")
    found = run_script(python, "validate_templates.py", str(path))
    assert "cfn-lint: [E" in found
    assert "cloudformation-validate: F" in found


def test_moto_makes_the_declared_tables(
    python: str, templates: list[str], subtests: pytest.Subtests
) -> None:
    answers = json.loads(run_script(python, "apply_template.py", *templates[:-1]))
    assert len(answers) == len(TABLES)
    for table, answer in zip(TABLES, answers, strict=True):
        with subtests.test(table=table.name):
            # moto leaves a template's TimeToLiveSpecification and OnDemandThroughput out.
            lacking = [] if table.ttl is None else [f"let items expire by {table.ttl}"]
            found = find_differences(RecordedAnswers(answer), table)
            limits = [each for each in found if each.startswith("limit ")]
            assert [each for each in found if each not in limits] == lacking
            assert bool(limits) is isinstance(table.billing, OnDemand)
