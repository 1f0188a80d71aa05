"""The findings of lint for the browser: each with what it is about, and how to mend it."""

from __future__ import annotations

from typing import Any

from keyfold.analysis import TableProfile, find_sample, profile_table, read_workload
from keyfold.analysis.lint import Design, Finding, Review, describe_source, list_rules, review
from keyfold.analysis.lint._findings import Subject, list_subjects, place_of
from keyfold.model import Index, Pattern, Table
from keyfold.model._schemas import EntitySchema
from keyfold.studio._workspace import StudioTable, Workspace
from keyfold.studio.rooms._profiles import ProfileCache
from keyfold.studio.rooms._remembering import remember_for
from keyfold.studio.rooms._source_text import name_file


def profile_once(workspace: Workspace, subject: StudioTable) -> TableProfile:
    """Return the profile of a table's patterns on its examples, which takes a second or two.

    It is that of the room Cost and heat.
    """
    table = subject.table
    cache: ProfileCache = workspace.remember(("costs", "profiles"), ProfileCache)

    def make() -> TableProfile:
        return profile_table(table, find_sample(table), read_workload(table))

    return cache.find(
        (table.name, "examples", 0), make, is_current=lambda found: found.table is table
    )


def review_once(workspace: Workspace, subject: StudioTable) -> Review:
    """Return the review of a table; raises WorkloadInvalid and LintRulesInvalid."""

    def make() -> Review:
        profile = profile_once(workspace, subject)
        return review(Design(subject.table, profile.workload, profile, None))

    return remember_for(workspace, subject, "review", make)


def show_review(table: Table, found: Review) -> dict[str, Any]:
    """Return a review for the browser: findings, accepted ones with their reasons, and what was skipped."""
    subjects = {place_of(each).subject: _name_subject(each) for each in list_subjects(table)}
    listed = [*found.findings, *found.ignored]
    counts = {"error": 0, "warning": 0, "note": 0}
    for each in found.findings:
        counts[str(each.severity)] += 1
    return {
        "counts": counts,
        "findings": [_show_finding(each, subjects) for each in listed],
        "skipped": [{"code": code, "reason": why} for code, why in found.skipped.items()],
    }


def _name_subject(subject: Subject) -> dict[str, str]:
    match subject:
        case Table(name=name):
            return {"kind": "table", "name": name}
        case Index(name=name):
            return {"kind": "index", "name": name}
        case EntitySchema(name=name):
            return {"kind": "entity", "name": name}
        case Pattern(__name__=name):
            return {"kind": "pattern", "name": name}


def _show_finding(finding: Finding, subjects: dict[str, dict[str, str]]) -> dict[str, Any]:
    rule = list_rules()[finding.code]
    place = finding.place
    return {
        "code": finding.code,
        "severity": str(finding.severity),
        "title": rule.title,
        "message": finding.message,
        "why": rule.why,
        "fix": finding.fix,
        "source": describe_source(rule.source),
        "subject": subjects[place.subject],
        "place": None if place.file is None else f"{name_file(place.file)}:{place.line}",
        "accepted": finding.ignored,
        "accepted_by": finding.ignored_by,
    }
