"""Lint: a review of a table's declaration, its patterns and its data.

Rules are small functions, in one module for each family: `keys`, `indexes`, `patterns`, `items`,
`operations` and others. `review_table` runs them. `rule` declares one, also in other packages.
"""

from __future__ import annotations

from keyfold.analysis.lint._edits import SourceFix, make_fixes
from keyfold.analysis.lint._examples import RuleExample, read_examples
from keyfold.analysis.lint._findings import (
    Finding,
    Place,
    RemoveIgnore,
    RenameIgnore,
    SetArgument,
    Severity,
)
from keyfold.analysis.lint._review import Review, review, review_table
from keyfold.analysis.lint._rules import Design, DesignProblem, Rule, list_rules, rule
from keyfold.analysis.lint._sarif import to_sarif
from keyfold.analysis.lint._sources import describe_source

__all__ = [
    "Design",
    "DesignProblem",
    "Finding",
    "Place",
    "RemoveIgnore",
    "RenameIgnore",
    "Review",
    "Rule",
    "RuleExample",
    "SetArgument",
    "Severity",
    "SourceFix",
    "describe_source",
    "list_rules",
    "make_fixes",
    "read_examples",
    "review",
    "review_table",
    "rule",
    "to_sarif",
]
