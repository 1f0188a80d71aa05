"""The pytest fixtures, used in test files as users write them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from textwrap import dedent

import pytest

import keyfold.testing
from keyfold.testing import _exports

pytest_plugins = ["pytester"]

PLUGIN = "keyfold.testing._pytest_plugin"

PREAMBLE = """
import pytest

TABLE = dict(
    TableName="Music",
    BillingMode="PAY_PER_REQUEST",
    AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}],
    KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}],
)
NINA = {"artist": {"S": "Nina"}}
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> RunTests:
    # Only this plugin is loaded, and no other that is installed here.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return RunTests(pytester)


class RunTests:
    """Runs a test file; a call expects all of its tests to pass."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def __call__(self, code: str, *, passed: int) -> None:
        self.run(code).assert_outcomes(passed=passed)

    def run(self, code: str) -> pytest.RunResult:
        """Return what running the tests has printed."""
        self._pytester.makepyfile(PREAMBLE + dedent(code))
        return self._pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider")


def test_the_plugin_is_registered() -> None:
    (entry,) = entry_points(group="pytest11", name="keyfold")
    assert entry.value == PLUGIN


def test_loading_the_plugin_loads_nothing_else() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules)\n"
        f"import {PLUGIN}\n"
        "print(*sorted(name for name in set(sys.modules) - before))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True
    ).stdout.split()
    assert loaded == ["keyfold", "keyfold.testing", PLUGIN]


def test_the_package_exports_its_names_when_they_are_used() -> None:
    exported: dict[str, object] = {}
    exec("from keyfold.testing import *", exported)
    assert exported.keys() - {"__builtins__"} == {*_exports.__all__}
    assert {*_exports.__all__} <= set(dir(keyfold.testing))
    assert exported["dynamodb"] is keyfold.testing.dynamodb
    with pytest.raises(
        AttributeError, match=r"module 'keyfold\.testing' has no attribute 'absent'"
    ):
        getattr(keyfold.testing, "absent")  # noqa: B009 - type checkers know that there is none


def test_a_client_and_a_resource_share_the_service(run: RunTests) -> None:
    run(
        """
        def test_it(keyfold_client, keyfold_resource, keyfold_dynamodb, keyfold_engine):
            keyfold_client.create_table(**TABLE)
            keyfold_resource.Table("Music").put_item(Item={"artist": "Nina"})
            assert keyfold_client.scan(TableName="Music")["Items"] == [NINA]
            assert keyfold_engine.execute("Scan", {"TableName": "Music"})["Items"] == [NINA]
            keyfold_dynamodb.reset()
            assert keyfold_client.list_tables()["TableNames"] == []
        """,
        passed=1,
    )


def test_every_test_starts_empty(run: RunTests) -> None:
    run(
        """
        @pytest.mark.parametrize("time", range(2))
        def test_it(keyfold_client, time):
            keyfold_client.create_table(**TABLE)
        """,
        passed=2,
    )


def test_code_that_creates_its_own_client_uses_the_service(run: RunTests) -> None:
    run(
        """
        import boto3

        @pytest.fixture
        def table(keyfold_dynamodb):
            return boto3.resource("dynamodb").create_table(**TABLE)

        def test_it(table):
            table.put_item(Item={"artist": "Nina"})
            assert boto3.client("dynamodb").scan(TableName="Music")["Count"] == 1
        """,
        passed=1,
    )


def test_the_endpoint_serves_other_processes(run: RunTests) -> None:
    run(
        """
        import json, urllib.request
        from keyfold.testing import FaultProfile

        def ask(url, operation, request):
            headers = {
                "X-Amz-Target": f"DynamoDB_20120810.{operation}",
                "Content-Type": "application/x-amz-json-1.0",
                "Authorization": "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/"
                "aws4_request, SignedHeaders=host, Signature=0",
                "X-Amz-Date": "20260101T000000Z",
            }
            sent = urllib.request.Request(url, json.dumps(request).encode(), headers)
            with urllib.request.urlopen(sent, timeout=60) as response:
                return json.load(response)

        def test_it(keyfold_endpoint, keyfold_client, keyfold_dynamodb):
            keyfold_client.create_table(**TABLE)
            ask(keyfold_endpoint, "PutItem", {"TableName": "Music", "Item": NINA})
            assert keyfold_client.scan(TableName="Music")["Items"] == [NINA]
            assert ask(keyfold_endpoint, "Scan", {"TableName": "Music"})["Count"] == 1
            keyfold_dynamodb.faults = FaultProfile(throttling=1.0)
            with pytest.raises(urllib.error.HTTPError) as caught:
                ask(keyfold_endpoint, "Scan", {"TableName": "Music"})
            error = json.load(caught.value)
            assert error["__type"].endswith("#ProvisionedThroughputExceededException")
        """,
        passed=1,
    )


NOTES = """
from keyfold import Entity, Key, OnDemand, Scan, Table

notes = Table("Notes", key=Key("pk"), deletion_protection=True, billing=OnDemand(9, 9))

class Note(Entity, table=notes, key="NOTE#{note}"):
    note: str

@notes.pattern("All notes")
def all_notes() -> Scan[Note]:
    return Note.scan()
"""


def test_a_table_is_held_to_lint(run: RunTests) -> None:
    result = run.run(NOTES + "def test_design(keyfold_lint): keyfold_lint(notes)")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "keyfold lint: Notes has 1 finding",
            "P01 Scan (warning)",
            "  pattern 'All notes' (*.py:*)",
            "  It scans the table.",
            "  Fix: Query by a key*",
        ]
    )


def test_the_items_of_a_store_are_reviewed(run: RunTests) -> None:
    code = """
    def test_database(keyfold_lint):
        with notes.open(":memory:") as store:
            for number in range(20):
                store.run(Note(note=("x" * 1800) + str(number)).put())
            with pytest.raises(pytest.fail.Exception, match="K12 Key may become too long"):
                keyfold_lint(notes, ignore=["P01"], store=store)
    """
    run(NOTES + dedent(code), passed=1)


def test_severity_and_ignored_rules_decide_what_counts(run: RunTests) -> None:
    code = """
    def test_errors_alone(keyfold_lint):
        keyfold_lint(notes, severity="error")

    def test_without_a_rule(keyfold_lint):
        keyfold_lint(notes, ignore=["P01"])

    def test_notes_too(keyfold_lint):
        with pytest.raises(pytest.fail.Exception, match="P04 No declared rate"):
            keyfold_lint(notes, severity="note")

    def test_a_code_that_no_rule_has(keyfold_lint):
        with pytest.raises(pytest.fail.Exception, match="'P99', which no rule has"):
            keyfold_lint(notes, ignore={"P99"})
    """
    run(NOTES + dedent(code), passed=4)


def test_a_workload_is_given_to_lint(run: RunTests) -> None:
    code = """
    def test_rates(keyfold_lint, tmp_path):
        file = tmp_path / "workload.toml"
        file.write_text(
            '[patterns]\\n"All notes" = { rate = "1/day" }\\n[entities]\\nNote = { items = 10 }\\n'
            '[settings]\\npoint_in_time_recovery = true\\n'
        )
        keyfold_lint(notes, severity="note", ignore=["P01", "P05"], workload=file)
    """
    run(NOTES + dedent(code), passed=1)
