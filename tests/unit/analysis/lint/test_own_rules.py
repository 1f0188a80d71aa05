"""Rules of other packages, by entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from keyfold import Entity, Key, Table
from keyfold.analysis.lint import _rules, list_rules, review_table
from keyfold.errors import LintRulesInvalid

RULES = '''
from keyfold.analysis.lint import DesignProblem, Severity, rule


@rule("X01", "Plural name", severity=Severity.ERROR, fix="Use the singular.", source="Acme")
def plural(design):
    """Acme names entities in the singular."""
    for schema in design.table.entities.values():
        if schema.name.endswith("s"):
            yield DesignProblem(schema, f"{schema.name} is a plural.")
'''
FAILING = RULES.replace("X01", "X02").replace("design.table.entities", "design.table.people")


@pytest.fixture
def own_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the file of a module whose rules an entry point names."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    point = EntryPoint("acme", "acme_rules", "keyfold.lint")
    list_rules()  # our own
    _rules.load_entry_points.cache_clear()

    def find_points(*, group: str) -> list[EntryPoint]:
        return [point] if group == "keyfold.lint" else []

    monkeypatch.setattr(_rules, "entry_points", find_points)
    monkeypatch.setattr(_rules, "_RULES", dict(_rules._RULES))
    yield tmp_path / "acme_rules.py"
    _rules.load_entry_points.cache_clear()


def make_table() -> Table:
    """Return a table with an entity whose name is a plural."""
    table = Table("Notes", key=Key("pk"))

    class Notes(Entity, table=table, key="NOTE#{note}"):
        note: str

    assert Notes.keyfold_schema()
    return table


def test_rules_of_other_packages_are_run(own_rules: Path) -> None:
    own_rules.write_text(RULES, "utf-8")
    assert list_rules()["X01"].why == "Acme names entities in the singular."
    [found] = review_table(make_table(), codes=["X01"]).findings
    assert (found.place.subject, found.message) == ("entity Notes", "Notes is a plural.")


def test_a_module_that_cannot_be_imported_is_named(own_rules: Path) -> None:
    own_rules.write_text("1 / 0", "utf-8")
    with pytest.raises(LintRulesInvalid, match="acme_rules: its lint rules cannot be loaded"):
        list_rules()


def test_a_code_that_is_taken_is_refused(own_rules: Path) -> None:
    own_rules.write_text(RULES.replace("X01", "P01"), "utf-8")
    with pytest.raises(LintRulesInvalid, match="lint rule P01 is declared twice"):
        list_rules()


def test_a_rule_that_fails_is_named(own_rules: Path) -> None:
    own_rules.write_text(FAILING, "utf-8")
    with pytest.raises(LintRulesInvalid, match="lint rule X02: it failed on table Notes"):
        review_table(make_table())
