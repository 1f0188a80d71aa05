"""Runs the rules on a design, and sorts out what is suppressed or could not be decided."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from keyfold.analysis.lint._findings import Finding, Severity, find_ignore, place_of
from keyfold.analysis.lint._rules import Design, DesignProblem, Need, Rule, list_rules
from keyfold.analysis.profiles import profile_table
from keyfold.analysis.samples import SampleData, find_sample
from keyfold.analysis.workload import read_workload
from keyfold.errors import LintRulesInvalid
from keyfold.model import Table

_NOT_GIVEN: dict[Need, str] = {
    "rates": "no pattern has a rate; declare rate=… or give a workload file",
    "data": "no database was given; name one with --db",
}


@dataclass(frozen=True, slots=True)
class Review:
    """The findings of all rules: open ones, suppressed ones, and the rules that were skipped."""

    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    # The rules that could not be decided, by code, with the reason.
    skipped: dict[str, str]

    def worst(self) -> Severity | None:
        """Return the severity of the most serious finding; None if there are none."""
        return max((each.severity for each in self.findings), default=None)


def review_table(
    table: Table,
    workload: Path | None = None,
    *,
    data: SampleData | None = None,
    codes: Collection[str] | None = None,
) -> Review:
    """Review a table: its patterns run on `data`, the sample of a database, or on examples.

    `workload` is a workload file, by default the one beside the declaration. With `codes`, return
    the findings of these rules alone. Raises WorkloadInvalid and
    LintRulesInvalid.
    """
    use = read_workload(table, workload)
    profile = profile_table(table, data or find_sample(table), use)
    return review(Design(table, use, profile, data), codes)


def review(design: Design, codes: Collection[str] | None = None) -> Review:
    """Run every rule on a design; with `codes`, return the findings of these rules alone."""
    given: set[Need] = set()
    if design.workload.has_rates:
        given.add("rates")
    if design.data is not None:
        given.add("data")
    rules = list_rules().values()
    skipped = {each.code: _NOT_GIVEN[need] for each in rules for need in _find_missing(each, given)}
    run = [each for each in rules if each.code not in skipped]
    findings = [
        found for each in run if "findings" not in each.needs for found in _run(each, design)
    ]
    whole = replace(design, findings=tuple(findings), undecided=frozenset(skipped))
    findings += (found for each in run if "findings" in each.needs for found in _run(each, whole))
    findings.sort(key=lambda each: (-each.severity, each.code, each.place.subject))
    shown = [each for each in findings if codes is None or each.code in codes]
    return Review(
        tuple(each for each in shown if each.ignored is None),
        tuple(each for each in shown if each.ignored is not None),
        {code: why for code, why in skipped.items() if codes is None or code in codes},
    )


def _find_missing(rule: Rule, given: Collection[Need]) -> Iterator[Need]:
    """Yield the first thing that a rule needs and a design does not have."""
    yield from sorted(rule.needs.difference(given, ("findings",)))[:1]


def _run(rule: Rule, design: Design) -> Iterator[Finding]:
    for problem in _check(rule, design):
        reason, ignored_by = find_ignore(problem.subject, design.table, rule.code) or (None, None)
        yield Finding(
            rule.code,
            rule.severity,
            place_of(problem.subject),
            problem.message,
            problem.fix or rule.fix,
            reason,
            ignored_by,
            problem.edit,
        )


def _check(rule: Rule, design: Design) -> list[DesignProblem]:
    try:
        return list(rule.check(design))
    except Exception as error:
        fact = f"it failed on table {design.table.name}: {type(error).__name__}: {error}"
        raise LintRulesInvalid(f"lint rule {rule.code}", fact, "") from error
