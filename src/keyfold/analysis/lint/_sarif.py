"""Reviews as SARIF 2.1.0, the format in which code hosts and editors take findings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from keyfold.analysis.lint._findings import Finding, Place
from keyfold.analysis.lint._review import Review
from keyfold.analysis.lint._rules import Rule, list_rules
from keyfold.analysis.lint._sources import describe_source

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# The folder that paths are relative to, which the reader of the log knows.
_ROOT = "%SRCROOT%"


def to_sarif(reviews: Iterable[Review], folder: Path, version: str) -> dict[str, Any]:
    """Return reviews as a SARIF log of one run by this version of the tool.

    Paths below the folder are relative to it.
    """
    listed = list(reviews)
    rules = list_rules()
    findings = [found for each in listed for found in (*each.findings, *each.ignored)]
    used = sorted({each.code for each in findings})
    skipped = {code: why for each in listed for code, why in each.skipped.items()}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "keyfold",
                "semanticVersion": version,
                "rules": [_write_rule(rules[code]) for code in used],
            }
        },
        "results": [_write_result(each, used.index(each.code), folder) for each in findings],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": f"{code} was skipped: {why}."}}
                    for code, why in skipped.items()
                ],
            }
        ],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _write_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.fix} Source: {describe_source(rule.source)}."},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _write_result(finding: Finding, rule_index: int, folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": str(finding.severity),
        "message": {"text": f"{finding.place.subject}: {finding.message} {finding.fix}"},
        "locations": [_write_location(finding.place, folder)],
        # What stays the same when lines move.
        "partialFingerprints": {"subject/v1": f"{finding.code}:{finding.place.subject}"},
    }
    if finding.ignored is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.ignored}]
    return result


def _write_location(place: Place, folder: Path) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": place.subject}]}
    if place.file is None:
        return location
    file, root = Path(place.file).resolve(), folder.resolve()
    if file.is_relative_to(root):
        artifact = {"uri": file.relative_to(root).as_posix(), "uriBaseId": _ROOT}
    else:
        artifact = {"uri": file.as_uri()}
    location["physicalLocation"] = {
        "artifactLocation": artifact,
        "region": {"startLine": place.line},
    }
    return location
