"""Runs the rules on a design, and sorts out what is suppressed or could not be decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from keyfold.analysis.lint._findings import Finding, Severity, ignored_by, place_of
from keyfold.analysis.lint._rules import Design, Need, Rule, list_rules

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


def review(design: Design) -> Review:
    """Run every rule on a design."""
    findings: list[Finding] = []
    skipped: dict[str, str] = {}
    given: set[Need] = set()
    if design.workload.has_rates:
        given.add("rates")
    if design.data is not None:
        given.add("data")
    for rule in list_rules().values():
        missing = next(iter(sorted(rule.needs - given)), None)
        if missing is None:
            findings += _run(rule, design)
        else:
            skipped[rule.code] = _NOT_GIVEN[missing]
    findings.sort(key=lambda each: (-each.severity, each.code, each.place.subject))
    return Review(
        tuple(each for each in findings if each.ignored is None),
        tuple(each for each in findings if each.ignored is not None),
        skipped,
    )


def _run(rule: Rule, design: Design) -> Iterator[Finding]:
    for problem in rule.check(design):
        yield Finding(
            rule.code,
            rule.severity,
            place_of(problem.subject),
            problem.message,
            problem.fix or rule.fix,
            ignored_by(problem.subject).get(rule.code),
        )
