"""Rules of lint: functions that look at one design, with what a reader needs to know about each.

A rule is a generator of `DesignProblem`s. Its docstring is one sentence of why the problem matters; its
page in the documentation is generated from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from keyfold.analysis.lint._findings import Finding, Severity, Subject
from keyfold.analysis.profiles import TableProfile
from keyfold.analysis.samples import SampleData
from keyfold.analysis.workload import Workload
from keyfold.model import Table

# What a rule needs besides the declaration: rates of the workload, the data of a database, or the
# findings of all rules that do not need them.
Need = Literal["rates", "data", "findings"]


@dataclass(frozen=True, slots=True)
class Design:
    """What rules look at: a table, how it is used, and what its patterns do on a sample.

    `data` is the sample of a database; None if none was given, so that the sample is of examples.
    `findings` are those of the other rules, for rules that need them, and `undecided` the codes of
    rules that could not be decided.
    """

    table: Table
    workload: Workload
    profile: TableProfile
    data: SampleData | None = None
    findings: tuple[Finding, ...] = ()
    undecided: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DesignProblem:
    """What a rule found: the subject, a sentence about it, and how to mend it if not as usual."""

    subject: Subject
    message: str
    fix: str | None = None


Check = Callable[[Design], Iterator[DesignProblem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its code, title, severity, why it matters, how to mend it, and its source."""

    code: str
    title: str
    severity: Severity
    fix: str
    source: str
    needs: frozenset[Need]
    check: Check

    @property
    def why(self) -> str:
        """Why the problem matters, in one sentence."""
        return " ".join((inspect.getdoc(self.check) or "").split())


FAMILIES = (
    "hot_keys",
    "ignores",
    "index_use",
    "indexes",
    "item_values",
    "items",
    "key_order",
    "keys",
    "operations",
    "pattern_writes",
    "patterns",
)

_RULES: dict[str, Rule] = {}


def rule(
    code: str,
    title: str,
    *,
    severity: Severity,
    fix: str,
    source: str,
    needs: frozenset[Need] = frozenset(),
) -> Callable[[Check], Check]:
    """Return the decorator that registers a rule; raises ValueError if its code is taken."""

    def decorate(check: Check) -> Check:
        if code in _RULES:
            raise ValueError(f"lint rule {code} is declared twice")
        _RULES[code] = Rule(code, title, severity, fix, source, needs, check)
        return check

    return decorate


def list_rules() -> Mapping[str, Rule]:
    """Return every rule by its code, in the order of the codes."""
    # The families register their rules when they are imported.
    for family in FAMILIES:
        import_module(f"keyfold.analysis.lint.{family}")
    return dict(sorted(_RULES.items()))
