"""Each rule finds what it is about, and leaves a near miss alone."""

from __future__ import annotations

import pytest

from keyfold.analysis.lint import list_rules
from tests.unit.analysis.lint.cases import RuleCase, RuleCases, find
from tests.unit.analysis.lint.index_cases import cases as index_cases
from tests.unit.analysis.lint.item_cases import cases as item_cases
from tests.unit.analysis.lint.key_cases import cases as key_cases
from tests.unit.analysis.lint.operation_cases import cases as operation_cases
from tests.unit.analysis.lint.pattern_cases import cases as pattern_cases
from tests.unit.analysis.lint.write_cases import cases as write_cases

# The cases of the rules whose codes begin with a letter.
FAMILIES: dict[str, tuple[RuleCases, ...]] = {
    "P": (pattern_cases, write_cases),
    "S": (item_cases,),
    "O": (operation_cases,),
}
# The other families have a design and a near miss for each rule in the documentation's examples.
MORE = (key_cases, index_cases)
EVERY = (*(cases for family in FAMILIES.values() for cases in family), *MORE)
CASES = [case for cases in EVERY for case in cases.listed]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_finds_what_it_is_about(case: RuleCase) -> None:
    assert tuple(each.place.subject for each in find(case)) == case.subjects


@pytest.mark.parametrize("family", FAMILIES)
def test_each_rule_has_a_design_with_a_finding_and_a_near_miss(family: str) -> None:
    codes = [code for code in list_rules() if code.startswith(family)]
    every = RuleCases([case for cases in FAMILIES[family] for case in cases.listed])
    assert every.find_incomplete(codes) == []
