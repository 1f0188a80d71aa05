from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from keyfold.cli.export import FORMATS, ExportFormat
from tests.unit.cli.program import Run

each_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
PROJECT = '[tool.keyfold]\ntables = ["shops:one", "shops:two"]\n'
SHOPS = """
from keyfold import Entity, Key, Table

one, two = (Table(name, key=Key("id")) for name in ("One", "Two"))


class First(Entity, table=one, key="F#{number:03}"):
    number: int


class Second(Entity, table=two, key="S#{number:03}"):
    number: int
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@each_format
def test_a_design_is_printed(run: Run, form: ExportFormat) -> None:
    name = form.name
    outcome = run("export", name, "market")
    assert outcome.code == 0
    assert "Market" in outcome.out
    assert outcome.out.endswith("\n")


@each_format
def test_a_file_has_what_would_be_printed(run: Run, form: ExportFormat) -> None:
    name = form.name
    printed = run("export", name, "pantry")
    written = run("export", name, "--table", "pantry", "--output", "exported")
    assert (written.code, written.out, written.err) == (0, "", printed.err)
    assert Path("exported").read_text("utf-8") == printed.out


@each_format
def test_json_has_the_document_and_its_gaps(run: Run, form: ExportFormat) -> None:
    name = form.name
    printed = run("export", name, "market").out
    outcome = run("export", name, "market", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    shown = json.loads(outcome.out)
    document = shown["document"]
    assert document == (printed if isinstance(document, str) else json.loads(printed))
    for gap in shown["gaps"]:
        assert gap.keys() == {"subject", "fact", "advice"}


def test_gaps_are_listed_on_stderr(run: Run) -> None:
    outcome = run("export", "cloudformation", "market")
    assert outcome.err.startswith("Not in the document:\n  Market: it has unique fields")
    assert run("export", "cloudformation", "letsgo").err == ""


@each_format
def test_all_tables_of_a_project_are_exported_together(
    run: Run, form: ExportFormat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Path("pyproject.toml").write_text(PROJECT, "utf-8")
    Path("shops.py").write_text(SHOPS, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "shops", raising=False)
    outcome = run("export", form.name)
    if form.takes_several:
        assert outcome.code == 0
        assert "One" in outcome.out
        assert "Two" in outcome.out
    else:
        assert outcome.code == 2
        assert "name one of One, Two." in outcome.err


def test_a_file_that_cannot_be_written_is_a_usage_error(run: Run) -> None:
    outcome = run("export", "terraform", "market", "--output", "absent/market.tf.json")
    assert outcome.code == 2
    assert "absent/market.tf.json cannot be written: No such file or directory." in outcome.err


def test_an_unknown_format_is_a_usage_error(run: Run) -> None:
    outcome = run("export", "pulumi", "market")
    assert outcome.code == 2
    assert "No such command 'pulumi'" in outcome.err
