"""Each rule finds its example, and not the near miss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.analysis import SampleData, find_sample, profile_table, read_workload
from keyfold.analysis.lint import Design, Review, list_rules, review
from keyfold.analysis.lint._examples import IMPORTS, RuleExample, read_examples
from keyfold.model import Table

CODES = sorted(read_examples())


def load_table(source: str) -> Table:
    """Run the module of an example, and return its table."""
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(IMPORTS + source, "<example>", "exec", dont_inherit=True), namespace)
    return namespace["table"]


def review_example(example: RuleExample, folder: Path, *, is_fine: bool) -> Review:
    """Review the design of an example, with its workload and data."""
    table = load_table(example.fine if is_fine else example.found)
    file = None
    given = example.workload
    if is_fine and example.fine_workload is not None:
        given = example.fine_workload
    if given is not None:
        file = folder / "workload.toml"
        file.write_text(given, "utf-8")
    workload, sample = read_workload(table, file), find_sample(table)
    data = None
    if example.data:
        data = sample = SampleData(table, sample.items, "database")
    profile = profile_table(table, sample, workload)
    if is_fine or not example.fails:
        assert [each.problem for each in profile.patterns.values() if each.problem] == []
    return review(Design(table, workload, profile, data))


@pytest.mark.parametrize("code", CODES)
def test_a_rule_finds_its_example(code: str, tmp_path: Path) -> None:
    example = read_examples()[code]
    found = review_example(example, tmp_path, is_fine=False)
    assert code not in found.skipped
    assert code in {each.code for each in found.findings}


@pytest.mark.parametrize("code", CODES)
def test_a_rule_passes_over_the_near_miss(code: str, tmp_path: Path) -> None:
    example = read_examples()[code]
    found = review_example(example, tmp_path, is_fine=True)
    assert code not in found.skipped
    assert [each for each in (*found.findings, *found.ignored) if each.code == code] == []


def test_each_rule_has_an_example() -> None:
    own = [code for code, each in list_rules().items() if each.is_own]
    assert own == CODES


@pytest.mark.parametrize("code", sorted(list_rules()))
def test_a_rule_is_explained_in_sentences(code: str) -> None:
    rule = list_rules()[code]
    assert rule.title[0].isupper()
    assert rule.why.endswith(".")
    assert "\n" not in rule.why
    assert rule.fix.endswith(".")
