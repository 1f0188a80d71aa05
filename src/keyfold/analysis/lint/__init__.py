"""Lint: a review of a table's declaration, its patterns and its data.

Rules are small functions, in one module for each family: `keys`, `indexes`, `patterns`, `items`
and `operations`. `review` runs them.
"""

from __future__ import annotations

from keyfold.analysis.lint._findings import Finding, Place, Severity
from keyfold.analysis.lint._review import Review, review, review_table
from keyfold.analysis.lint._rules import Design, DesignProblem, Rule, list_rules, rule

__all__ = [
    "Design",
    "DesignProblem",
    "Finding",
    "Place",
    "Review",
    "Rule",
    "Severity",
    "list_rules",
    "review",
    "review_table",
    "rule",
]
