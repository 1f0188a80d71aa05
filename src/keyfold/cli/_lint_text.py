"""Findings of lint as text: by severity, then by rule."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from rich.console import Console

from keyfold.analysis.lint import (
    Finding,
    Place,
    Review,
    Rule,
    Severity,
    describe_source,
    list_rules,
    read_examples,
)
from keyfold.cli._quantities import count_of
from keyfold.cli._terminal import join_styled

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_WIDTH = 80


def print_review(console: Console, table: str, review: Review) -> None:
    """Print the findings of a table, then what was ignored and skipped."""
    counts = [
        count_of(count, str(severity))
        for severity in sorted(Severity, reverse=True)
        if (count := sum(each.severity is severity for each in review.findings))
    ]
    console.print(join_styled((table, "bold"), f"  {', '.join(counts) or 'no findings'}"))
    for severity, found in groupby(review.findings, key=lambda each: each.severity):
        console.print()
        console.print(join_styled((f"{severity}s".capitalize(), f"bold {_STYLES[severity]}")))
        for code, findings in groupby(found, key=lambda each: each.code):
            console.print()
            _print_findings(console, list_rules()[code], list(findings))
    if review.ignored:
        console.print()
        console.print(join_styled(("Ignored", "bold")))
        for each in review.ignored:
            by = "" if each.ignored_by == each.place.subject else f" ({each.ignored_by})"
            _print_text(console, f"{each.code} {each.place.subject}: {each.ignored}{by}", 2)
    if review.skipped:
        console.print()
        console.print(join_styled(("Skipped", "bold")))
        by_reason: dict[str, list[str]] = {}
        for code, reason in review.skipped.items():
            by_reason.setdefault(reason, []).append(code)
        for reason, codes in by_reason.items():
            _print_text(console, f"{', '.join(codes)}: {reason}.", 2)
    console.print()


def _print_findings(console: Console, rule: Rule, findings: list[Finding]) -> None:
    console.print(join_styled((f"{rule.code} {rule.title}", _STYLES[rule.severity])))
    _print_text(console, f"Why: {rule.why}", 2)
    if any(each.fix == rule.fix for each in findings):
        _print_text(console, f"Fix: {rule.fix}", 2)
    _print_text(console, f"Source: {describe_source(rule.source)}", 2)
    for each in findings:
        _print_text(console, show_place(each.place), 2, style="bold")
        _print_text(console, each.message, 4)
        if each.fix != rule.fix:
            _print_text(console, f"Fix: {each.fix}", 4)


def print_rule(console: Console, code: str) -> None:
    """Print what there is to know about a rule, with its example and the near miss."""
    rule = list_rules()[code]
    console.print(join_styled((f"{rule.code} {rule.title}", "bold"), f" ({rule.severity})"))
    _print_text(console, f"Why: {rule.why}", 2)
    _print_text(console, f"Fix: {rule.fix}", 2)
    _print_text(console, f"Source: {describe_source(rule.source)}", 2)
    example = read_examples().get(code)
    if example is None:
        return
    shown = {"Found": example.found, "Fine": example.fine, "Workload": example.workload}
    for title, source in shown.items():
        if source is not None:
            console.print()
            console.print(join_styled((title, "bold")))
            for line in source.strip().splitlines():
                console.print(join_styled(f"  {line}".rstrip()), soft_wrap=True)


def describe_rule(code: str) -> dict[str, str]:
    """Return what there is to know about a rule, as a JSON object."""
    rule = list_rules()[code]
    facts = {
        "code": rule.code,
        "title": rule.title,
        "severity": str(rule.severity),
        "why": rule.why,
        "fix": rule.fix,
        "source": describe_source(rule.source),
    }
    example = read_examples().get(code)
    if example is None:
        return facts
    return {**facts, "found": example.found.strip(), "fine": example.fine.strip()}


def show_place(place: Place) -> str:
    """Return a place as text, with a path that is relative to the current folder if it is below."""
    if place.file is None:
        return place.subject
    file = Path(place.file)
    here = Path.cwd()
    shown = file.relative_to(here) if file.is_relative_to(here) else file
    return f"{place.subject}  {shown}:{place.line}"


def _print_text(console: Console, text: str, indent: int, *, style: str = "") -> None:
    """Print text in lines that are easy to read at any width."""
    width = min(console.width, _WIDTH) - indent
    for line in join_styled((" ".join(text.split()), style)).wrap(console, width):
        line.rstrip()
        console.print(join_styled(" " * indent) + line, soft_wrap=True)
