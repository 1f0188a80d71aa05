"""Patterns as code: what is copied runs, and finds what the pattern finds."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from keyfold.analysis import SampleData, find_sample
from keyfold.clocks import Clock
from keyfold.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    KeyfoldError,
    TransactionCanceledException,
)
from keyfold.model import Pattern, Table
from keyfold.studio._actions import make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import make_workspace
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms._code_partiql import PartiqlUnavailable, make_statements
from keyfold.studio.rooms._code_plans import find_values
from keyfold.studio.rooms._code_targets import CodeTarget, strip_credentials
from keyfold.studio.rooms._pattern_calls import describe_pattern
from keyfold.studio.rooms._pattern_code import make_plan
from keyfold.studio.rooms._profiles import ProfileCache
from keyfold.studio.rooms.overview import find_writing
from keyfold.studio.rooms.patterns import code_pattern, run_pattern, show_pattern, write_pattern
from keyfold.testing import Service, dynamodb

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")
TABLES: list[Table] = [import_module(f"keyfold.designs.{name}").table for name in DESIGNS]
PATTERNS = [
    pytest.param(table, pattern, id=f"{table.name}-{pattern.__name__}")
    for table in TABLES
    for pattern in table.patterns.values()
]
READS = [each for each in PATTERNS if not find_writing(cast(Any, each.values[1]))]
# One of each kind of write: put, create, update, delete, transactions, sets, and an expiry.
WRITES = (
    "Market-save_address",
    "Market-grant_reward",
    "Market-rename_account",
    "Market-put_in_cart",
    "Market-delete_address",
    "Market-pay_bill",
    "Pantry-remove_member",
    "Pantry-add_food",
    "letsgo-update_tenant",
    "ExchangeRates-save",
    "ExchangeRates-mark_stale",
)
URL = "dynamodb://us-east-1"
# Patterns are measured once: it takes a second or two.
PROFILES = ProfileCache(20)
# Values of what is found are made up for statements that need them.
_MADE_UP = {"S": "made up"}


@cache
def sample_of(table: Table) -> SampleData:
    """Return the examples of a table, completed once."""
    return find_sample(table)


def fill(service: Service, table: Table) -> None:
    """Write the examples of a table; none of them expires."""
    service.execute("CreateTable", table.to_dynamodb())
    for item in sample_of(table).items:
        lasting = {name: value for name, value in item.items() if name != table.ttl}
        service.execute("PutItem", {"TableName": table.name, "Item": lasting})


@pytest.fixture
def service() -> Iterator[Service]:
    """An engine that all clients of DynamoDB use."""
    with dynamodb() as service:
        yield service


def open_all(service: Service) -> tuple[Service, Workspace]:
    for table in TABLES:
        fill(service, table)
    workspace = make_workspace(service, TABLES, url=URL)
    workspace.remember(("costs", "profiles"), lambda: PROFILES)
    return service, workspace


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Service, Workspace]]:
    """All designs with their examples, which tests of it only read."""
    with dynamodb() as service:
        yield open_all(service)


@pytest.fixture(scope="module")
def written() -> Iterator[tuple[Service, Workspace]]:
    """The same, for tests that write, and do not depend on what others write."""
    with dynamodb() as service:
        yield open_all(service)


def open_workspace(service: Service, table: Table, clock: Clock = time.time) -> Workspace:
    fill(service, table)
    workspace = make_workspace(service, [table], url=URL, clock=clock)
    workspace.remember(("costs", "profiles"), lambda: PROFILES)
    return workspace


def ask(workspace: Workspace, action: Any, table: Table, **body: Any) -> Any:
    return action(make_call(workspace, StudioBody({"table": table.name, **body})))


def run_text(text: str) -> dict[str, Any]:
    """Run code, and return its names."""
    names: dict[str, Any] = {"__name__": "copied"}
    exec(compile(text, "copied.py", "exec"), names)
    return names


def list_keys(table: Table, items: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(item[name] for name in table.key.names) for item in items]


def shown_keys(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the keys of the rows of a result; those of projections are not known."""
    rows = [row for group in result["groups"] for row in group["rows"]]
    return [
        tuple(next(iter(value.values())) for value in row["key"].values())
        for row in rows
        if row["key"] is not None
    ]


def find_items(names: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the code found: `items` or `item`."""
    if "items" in names:
        return names["items"]
    return [] if names.get("item") is None else [names["item"]]


@pytest.mark.parametrize(("table", "pattern"), READS)
def test_python_and_boto3_find_what_the_pattern_finds(
    shared: tuple[Service, Workspace],
    table: Table,
    pattern: Pattern[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, workspace = shared
    name = pattern.__name__
    form = ask(workspace, show_pattern, table, pattern=name, measured=True)
    given = json.dumps(form["sample"])
    result = ask(workspace, run_pattern, table, pattern=name, arguments=given)
    code = ask(workspace, code_pattern, table, pattern=name, arguments=given)
    assert "result" in run_text(code["python"]["text"])
    assert capsys.readouterr().out.strip() or result["count"] == 0
    names = run_text(code["boto3"]["text"])
    found = find_items(names)
    keys = shown_keys(result)
    if "function of its own" in code["boto3"]["text"]:
        # What the function leaves out, the code does not.
        assert set(keys) <= set(list_keys(table, found))
    elif keys:
        assert sorted(list_keys(table, found)) == sorted(keys)
    else:
        assert len(found) == result["count"]


@pytest.mark.parametrize("named", WRITES)
def test_boto3_writes_what_the_pattern_writes(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 1_800_000_000.5
    monkeypatch.setattr("time.time", lambda: moment)
    name, _, function = named.partition("-")
    [table] = [each for each in TABLES if each.name == name]
    states: list[Any] = []
    for way in ("pattern", "boto3"):
        with dynamodb(clock=lambda: moment) as service:
            workspace = open_workspace(service, table, lambda: moment)
            form = ask(workspace, show_pattern, table, pattern=function, measured=True)
            asked = {"pattern": function, "arguments": json.dumps(form["sample"])}
            before = scan(service, table)
            try:
                if way == "pattern":
                    ask(workspace, write_pattern, table, **asked)
                else:
                    run_text(ask(workspace, code_pattern, table, **asked)["boto3"]["text"])
            except (KeyfoldError, ClientError):
                assert scan(service, table) == before
            states.append(scan(service, table))
    assert states[0] == states[1]


def make_plan_of(table: Table, pattern: Pattern[..., Any], given: str) -> Any:
    found = describe_pattern(table, pattern)
    return make_plan(found, found.read(given), datetime(2027, 1, 15, tzinfo=UTC))


def scan(service: Service, table: Table) -> list[str]:
    items = cast("list[Any]", service.execute("Scan", {"TableName": table.name})["Items"])
    return sorted(json.dumps(each, sort_keys=True) for each in items)


@pytest.mark.parametrize(("table", "pattern"), PATTERNS)
def test_partiql_statements_execute(
    written: tuple[Service, Workspace], table: Table, pattern: Pattern[..., Any]
) -> None:
    service, workspace = written
    form = ask(workspace, show_pattern, table, pattern=pattern.__name__, measured=True)
    plan = make_plan_of(table, pattern, json.dumps(form["sample"]))
    target = CodeTarget(table, URL, None)
    for step in plan.steps:
        try:
            made = make_statements(target, step, 1_800_000_000)
        except PartiqlUnavailable:
            continue
        for text in made.statements:
            check_statement(service, text, is_alone=made.kind != "transaction")


def check_statement(service: Service, text: str, *, is_alone: bool) -> None:
    """Run a statement; only its condition may fail."""
    member: dict[str, Any] = {"Statement": text}
    if text.count("?"):
        member["Parameters"] = [_MADE_UP] * text.count("?")
    operation, request = "ExecuteStatement", member
    if not is_alone:
        operation, request = "ExecuteTransaction", {"TransactStatements": [member]}
    conditions = (
        ConditionalCheckFailedException,
        DuplicateItemException,
        TransactionCanceledException,
    )
    with suppress(*conditions):
        service.execute(operation, request)


@pytest.mark.parametrize(("table", "pattern"), PATTERNS)
def test_arguments_of_commands_are_json(
    shared: tuple[Service, Workspace], table: Table, pattern: Pattern[..., Any]
) -> None:
    _, workspace = shared
    form = ask(workspace, show_pattern, table, pattern=pattern.__name__, measured=True)
    given = json.dumps(form["sample"])
    plan = make_plan_of(table, pattern, given)
    code = ask(workspace, code_pattern, table, pattern=pattern.__name__, arguments=given)
    text = code["cli"]["text"]
    if not any([*find_values(step.body)] for step in plan.steps):
        [command] = [each for each in text.split("\n\n") if each.startswith("aws ")]
        words = shlex.split(command)
        bodies = [json.loads(each) for each in words if each.startswith(("{", "["))]
        assert bodies or "scan" in words
    # The shell itself can read all of it.
    for each in (text, code["curl"]["text"]):
        read = subprocess.run(
            ["bash", "-n"], input=each, text=True, capture_output=True, check=True
        )
        assert read.stderr == ""


def test_what_one_command_finds_is_handed_to_the_next(service: Service) -> None:
    from keyfold.designs.market import table

    workspace = open_workspace(service, table)
    asked = {"pattern": "order_by_id", "arguments": '{"id": "2025-0001"}'}
    text = ask(workspace, code_pattern, table, **asked)["cli"]["text"]
    assert """'{":0": $found["pk"], ":1": $found["sk"]}'""" in text
    assert "--output json" in text


def test_code_leaves_out_expired_items_and_other_entities(service: Service) -> None:
    from keyfold.designs.market import table

    workspace = open_workspace(service, table)
    asked = {"pattern": "last_orders", "arguments": '{"user": "rabinovich", "count": 50}'}
    whole = ask(workspace, run_pattern, table, **asked)
    expired = whole["groups"][0]["rows"][0]["key"]
    service.execute(
        "UpdateItem",
        {
            "TableName": "Market",
            "Key": expired,
            "UpdateExpression": "SET #0 = :0",
            "ExpressionAttributeNames": {"#0": "ttl"},
            "ExpressionAttributeValues": {":0": {"N": "1000000000"}},
        },
    )
    text = ask(workspace, code_pattern, table, **asked)["boto3"]["text"]
    found = run_text(text)["items"]
    assert len(found) == whole["count"] - 1
    assert all(item["sk"].count("#") == 1 for item in found)


def test_code_has_no_credentials_and_names_the_principal(service: Service) -> None:
    from keyfold.designs.market import table

    fill(service, table)
    workspace = make_workspace(service, [table], url="http://key:hush@localhost:8000")
    principal = {"roles": ["customer"], "ids": {"user": "rabinovich"}}
    asked: dict[str, Any] = {"pattern": "last_orders", "as": principal}
    asked["arguments"] = '{"user": "rabinovich", "count": 3}'
    code = ask(workspace, code_pattern, table, **asked)
    assert "hush" not in json.dumps(code)
    assert 'whole.as_principal("customer", user="rabinovich")' in code["python"]["text"]
    assert 'endpoint_url="http://localhost:8000"' in code["boto3"]["text"]
    assert "--endpoint-url http://localhost:8000" in code["cli"]["text"]
    assert "--as customer --id user=rabinovich" in code["curl"]["text"].replace("\n#", "")
    asked.pop("as")
    assert (
        '"Authorization: Bearer $TOKEN"'
        in ask(workspace, code_pattern, table, **asked)["curl"]["text"]
    )


def test_hostile_arguments_stay_text(service: Service) -> None:
    from keyfold.designs.letsgo import table

    workspace = open_workspace(service, table)
    hostile = "'; DROP\" $(touch x) `id` \\ {found.x} </script>\n#"
    asked = {"pattern": "get_item", "arguments": json.dumps({"category": hostile, "key": "a'b"})}
    code = ask(workspace, code_pattern, table, **asked)
    assert code["boto3"]["text"] is None
    asked["arguments"] = json.dumps({"category": hostile.replace("{found", "{f"), "key": "a'b"})
    code = ask(workspace, code_pattern, table, **asked)
    assert run_text(code["boto3"]["text"])["item"] is None
    assert run_text(code["python"]["text"])["result"] is None
    [command] = [each for each in code["cli"]["text"].split("\n\n") if each.startswith("aws ")]
    words = shlex.split(command)
    key = json.loads(words[words.index("--key") + 1])
    assert key["category"] == {"S": hostile.replace("{found", "{f")}
    statement = code["partiql"]["text"].split("\n\n")[-1].strip().removesuffix(";")
    assert service.execute("ExecuteStatement", {"Statement": statement})["Items"] == []


def test_names_of_tables_have_the_prefix_of_the_database(service: Service) -> None:
    from keyfold.designs.market import table

    fill(service, table)
    workspace = make_workspace(service, [table], url="dynamodb://eu-west-1/test-")
    asked = {
        "pattern": "join_account",
        "arguments": '{"user": "eve", "account": "A#01JZ10K2G30000000000000000"}',
    }
    code = ask(workspace, code_pattern, table, **asked)
    assert '"TableName": "test-Market"' in code["boto3"]["text"]
    assert 'region_name="eu-west-1"' in code["boto3"]["text"]
    assert '"test-Market"' in code["partiql"]["text"]


@pytest.mark.parametrize(
    ("url", "stripped"),
    [("shop.db", "shop.db"), ("https://a:b@c.example:1/d?e=f", "https://c.example:1/d")],
)
def test_credentials_are_stripped(url: str, stripped: str) -> None:
    assert strip_credentials(url) == stripped
