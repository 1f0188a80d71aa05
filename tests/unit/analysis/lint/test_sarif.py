"""SARIF logs have what the schema of version 2.1.0 requires."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keyfold.analysis.lint import Finding, Place, Review, Severity, to_sarif

FOLDER = Path("/project")
FOUND = Finding(
    "P01",
    Severity.WARNING,
    Place("pattern 'All notes'", "/project/notes/table.py", 12),
    "It scans the table.",
    "Query by a key.",
)
IGNORED = Finding(
    "I12",
    Severity.NOTE,
    Place("index GSI1", "/elsewhere/table.py", 3),
    "'GSI1' does not say what it finds.",
    "Name it after what it finds.",
    "the name is deployed",
    "index GSI1",
)


@pytest.fixture
def run() -> dict[str, Any]:
    """Return the run of a log with a finding, an ignored one and a skipped rule."""
    log = to_sarif(
        [Review((FOUND,), (IGNORED,), {"K03": "no pattern has a rate"})], FOLDER, "1.2.3"
    )
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    assert log["$schema"].endswith("sarif-2.1.0.json")
    return log["runs"][0]


def test_a_run_has_a_tool_with_the_rules_of_its_results(run: dict[str, Any]) -> None:
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("keyfold", "1.2.3")
    rules = driver["rules"]
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
    for each in rules:
        assert all(each[name]["text"] for name in ("shortDescription", "fullDescription", "help"))
        assert each["defaultConfiguration"]["level"] in ("note", "warning", "error")


def test_a_result_has_a_message_a_level_and_a_place(run: dict[str, Any]) -> None:
    found = next(each for each in run["results"] if each["ruleId"] == "P01")
    text = "pattern 'All notes': It scans the table. Query by a key."
    assert (found["message"], found["level"]) == ({"text": text}, "warning")
    [location] = found["locations"]
    assert location == {
        "logicalLocations": [{"fullyQualifiedName": "pattern 'All notes'"}],
        "physicalLocation": {
            "artifactLocation": {"uri": "notes/table.py", "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": 12},
        },
    }
    assert "suppressions" not in found


def test_what_is_ignored_is_a_suppressed_result(run: dict[str, Any]) -> None:
    found = next(each for each in run["results"] if each["ruleId"] == "I12")
    reason = {"kind": "inSource", "justification": "the name is deployed"}
    assert found["suppressions"] == [reason]
    artifact = found["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "file:///elsewhere/table.py"}


def test_a_skipped_rule_is_a_notification(run: dict[str, Any]) -> None:
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is True
    [note] = invocation["toolExecutionNotifications"]
    assert note["message"]["text"] == "K03 was skipped: no pattern has a rate."


def test_a_place_without_a_file_has_its_subject_alone() -> None:
    found = Finding("P01", Severity.WARNING, Place("table Notes"), "It scans.", "Query.")
    log = to_sarif([Review((found,), (), {})], FOLDER, "1.2.3")
    [location] = log["runs"][0]["results"][0]["locations"]
    assert location == {"logicalLocations": [{"fullyQualifiedName": "table Notes"}]}
