"""Rules of lint: functions that look at one design, with what a reader needs to know about each.

A rule is a generator of `DesignProblem`s. Its docstring is one sentence of why the problem matters; its
page in the documentation is generated from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Literal

from keyfold.analysis.lint._findings import Finding, Severity, SourceEdit, Subject
from keyfold.analysis.profiles import TableProfile
from keyfold.analysis.samples import SampleData
from keyfold.analysis.workload import Workload
from keyfold.errors import LintRulesInvalid
from keyfold.model import Table
from keyfold.model._patterns import PatternStep

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
    # The steps of patterns by name, which several rules look at: kept by `explain_all`.
    explained: dict[str, tuple[PatternStep, ...] | None] = field(
        default_factory=dict[str, "tuple[PatternStep, ...] | None"], repr=False, compare=False
    )


@dataclass(frozen=True, slots=True)
class DesignProblem:
    """What a rule found: the subject, a sentence about it, and how to mend it if not as usual.

    `edit` is the edit of the subject's declaration that mends it, if that is mechanical.
    """

    subject: Subject
    message: str
    fix: str | None = None
    edit: SourceEdit | None = None


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

    @property
    def is_own(self) -> bool:
        """Whether it is one of Keyfold's own, and not of another package."""
        return self.check.__module__.startswith("keyfold.")


# The entry points by which other packages add rules.
GROUP = "keyfold.lint"

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
        known = _RULES.get(code)
        # A module may be loaded again, as in a notebook.
        if known is not None and _name_of(known.check) != _name_of(check):
            raise ValueError(f"lint rule {code} is declared twice")
        _RULES[code] = Rule(code, title, severity, fix, source, needs, check)
        return check

    return decorate


def _name_of(check: Check) -> tuple[str, str]:
    return check.__module__, getattr(check, "__qualname__", "")


def list_rules() -> Mapping[str, Rule]:
    """Return every rule by its code, in the order of the codes.

    Those of other packages are among them: an entry point of the group `keyfold.lint` names a
    module that declares rules. Raises LintRulesInvalid if one cannot be imported.
    """
    # The families register their rules when they are imported.
    for family in FAMILIES:
        import_module(f"keyfold.analysis.lint.{family}")
    load_entry_points()
    return dict(sorted(_RULES.items()))


@cache
def load_entry_points() -> None:
    """Import the modules with rules that installed packages have; raises LintRulesInvalid."""
    for each in entry_points(group=GROUP):
        try:
            each.load()
        except Exception as error:
            owner = each.value if each.dist is None else f"{each.dist.name} ({each.value})"
            fact = f"its lint rules cannot be loaded: {type(error).__name__}: {error}"
            raise LintRulesInvalid(owner, fact, "Correct or uninstall it.") from error
