"""The table of operations is complete, matches the API's model, and every consumer handles it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import botocore
import pytest

from keyfold.api import (
    EXPRESSION_PARAMETERS,
    MEMBERS,
    OPERATIONS,
    WRITE_MEMBERS,
    Operation,
    find_operation,
)
from keyfold.api.shapes._model import input_shape, shape
from keyfold.engine.operations import load_operation
from keyfold.errors import ServiceError
from keyfold.policy import _operations as policy_operations
from keyfold.policy.accesses import _dispatch
from keyfold.policy.iam._action_rules import ITEM_ACTIONS
from keyfold.testing import _operations as testing_operations
from keyfold.wire.client._repeating import is_read, is_repeatable
from keyfold.wire.server import _requests, _scheduler

# Members of requests that name a table, or something that belongs to one.
RESOURCES = {
    "BackupArn",
    "BulkOperationArn",
    "ExportArn",
    "GlobalTableName",
    "GlobalTableSourceArn",
    "ImportArn",
    "ResourceArn",
    "ShardIterator",
    "SourceTableArn",
    "SourceTableName",
    "StreamArn",
    "TableArn",
    "TableName",
    "TargetTableName",
}
# Members that name tables in nested values.
CONTAINERS = {
    "RequestItems",
    "Statement",
    "Statements",
    "TableCreationParameters",
    "TransactItems",
    "TransactStatements",
}
LEGACY = {
    "AttributeUpdates",
    "AttributesToGet",
    "ConditionalOperator",
    "Expected",
    "KeyConditions",
    "QueryFilter",
    "ScanFilter",
}


@cache
def published() -> dict[str, dict[str, Any]]:
    """Return the operations in botocore's model, with their targets and members."""
    found: dict[str, dict[str, Any]] = {}
    for service in ("dynamodb", "dynamodbstreams"):
        path = Path(botocore.__file__).parent / "data" / service / "2012-08-10/service-2.json.gz"
        model = json.loads(gzip.decompress(path.read_bytes()))
        for name, operation in model["operations"].items():
            output = operation.get("output", {}).get("shape")
            shapes = model["shapes"]
            found[name] = {
                "target": f"{model['metadata']['targetPrefix']}.{name}",
                "input": set(shapes[operation["input"]["shape"]]["members"]),
                "output": set(shapes[output]["members"]) if output else set[str](),
                "returns_items": bool(output) and "AttributeValue" in _reachable(shapes, output),
            }
    return found


def _reachable(shapes: dict[str, Any], name: str) -> set[str]:
    """Return the names of all shapes that a shape consists of, except an export's filter."""
    # The engine refuses filters of exports, so no description returns their values.
    found, left = {"FilterSpecification"}, [name]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            parts = [*shapes[name].get("members", {}).values()]
            parts += [shapes[name][each] for each in ("member", "value") if each in shapes[name]]
            left += [part["shape"] for part in parts if isinstance(part, dict)]
    return found


def test_every_operation_of_the_api_has_a_row() -> None:
    assert OPERATIONS.keys() == published().keys()


# For each column that the API's model also has: how to read it from the row and from the model.
COLUMNS: dict[str, tuple[Callable[[Operation], object], Callable[[dict[str, Any]], object]]] = {
    "target": (lambda row: row.target, lambda model: model["target"]),
    "is_metered": (lambda row: row.is_metered, lambda model: "ConsumedCapacity" in model["output"]),
    "takes_token": (
        lambda row: row.takes_token,
        lambda model: "ClientRequestToken" in model["input"],
    ),
    "unprocessed": (
        lambda row: {row.unprocessed} - {""},
        lambda model: {name for name in model["output"] if name.startswith("Unprocessed")},
    ),
    "item": (lambda row: {row.item} - {""}, lambda model: model["input"] & {"Item", "Key"}),
    "listed": (
        lambda row: row.listed in published()[row.name]["output"] or row.listed == "",
        lambda model: True,
    ),
    "members": (
        lambda row: {row.members} - {""},
        lambda model: model["input"] & (CONTAINERS - {"Statement", "TableCreationParameters"}),
    ),
    "returns_items": (lambda row: row.returns_items, lambda model: model["returns_items"]),
    "has_body": (lambda row: row.has_body, lambda model: bool(model["output"]) or None),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_says_what_the_model_says(column: str) -> None:
    read_row, read_model = COLUMNS[column]
    wrong = {
        name: (read_row(row), said)
        for name, row in OPERATIONS.items()
        if name in published()  # or another test says so
        and (said := read_model(published()[name])) is not None
        and read_row(row) != said
    }
    assert wrong == {}


def test_the_resources_are_those_of_the_model() -> None:
    wrong: dict[str, object] = {}
    for name, row in OPERATIONS.items():
        members = set(input_shape(name).members)
        named = {resource.partition(".")[0] for resource in row.resources}
        expected = members & (RESOURCES | CONTAINERS)
        if row.subject == "kinesis":
            expected -= {"StreamArn"}  # of a Kinesis stream
        if named != expected:
            wrong[name] = (named, expected)
    assert wrong == {}


def test_the_parameters_of_expressions_are_those_of_the_model() -> None:
    inputs = {name: set(input_shape(name).members) for name in OPERATIONS}
    # A batch has these parameters for each of its tables.
    inputs["BatchGetItem"] = set(shape("KeysAndAttributes").members)
    inputs |= {name: set(shape(name).members) for name in MEMBERS}
    wrong: dict[str, object] = {}
    for name, parameters in EXPRESSION_PARAMETERS.items():
        expressions = {each for each in inputs[name] if each.endswith("Expression")}
        # Members of transactions have no legacy parameters in the model, and ignore them.
        legacy = inputs[name] & LEGACY if name in OPERATIONS else set(parameters.legacy)
        if (set(parameters.expressions), set(parameters.legacy)) != (expressions, legacy):
            wrong[name] = (parameters, expressions, legacy)
        assert set(parameters.with_values) <= expressions
    assert wrong == {}


def test_a_name_that_describes_is_a_read() -> None:
    for name, row in OPERATIONS.items():
        if name.startswith(("Describe", "Get", "List")):
            assert row.effect == "read", name
        if name.startswith(("Create", "Delete", "Put", "Restore", "Start", "Update")):
            assert row.effect == "write", name


def test_an_unknown_operation_gets_safe_assumptions() -> None:
    unknown = find_operation("MeltTable")
    assert (unknown.effect, unknown.repeatable, unknown.target) == (
        "write",
        "no",
        "DynamoDB_20120810.MeltTable",
    )
    assert find_operation("DescribeWeather").is_read


# Consumers: each function returns whether that consumer handles an operation.


def engine_knows(row: Operation) -> bool:
    return callable(load_operation(row.name).run)


def shapes_know(row: Operation) -> bool:
    return input_shape(row.name).type == "structure"


def server_knows(row: Operation) -> bool:
    return _requests._TARGETS.get(row.target.encode()) == row.name


def scheduler_knows(row: Operation) -> bool:
    inline, shared = _scheduler.INLINE_READS, _scheduler._GROUPED_WRITES
    return {
        "inline": row.name in inline,
        "group commit": row.name in shared,
        "thread": row.name not in inline | shared,
    }[row.run]


def accesses_know(row: Operation) -> bool:
    """Operations on items have their own reader of accesses; the others name their resources."""
    reader = row.name in {**_dispatch._ITEM_READERS, **_dispatch._STATEMENT_READERS}
    return reader is (row.subject == "items")


def policy_knows(row: Operation) -> bool:
    return row.name in policy_operations.BY_RIGHTS | policy_operations.BY_NAME


def iam_knows(row: Operation) -> bool:
    """Each action on items has known rights, or is never granted in IAM."""
    if row.grant != "rights":
        return True
    return set(row.iam_actions) <= ITEM_ACTIONS.keys() | {"Scan", "SearchVectors"}


def client_knows(row: Operation) -> bool:
    """A write is classified as safe to retry after an unknown outcome, or as unsafe."""
    if row.is_read:
        return is_read(row.name, {})
    return is_repeatable(row.name, {}) in (True, False) and not is_read(
        row.name, {"Statement": "DELETE FROM x", "Statements": [{"Statement": "DELETE FROM x"}]}
    )


def fault_profile_knows(row: Operation) -> bool:
    """Calls on items can be throttled, and a replica repeats all other writes."""
    if row.subject == "items":
        return row.name in testing_operations.ITEM_OPERATIONS
    return testing_operations.changes_tables(row.name) is not row.is_read


CONSUMERS = (
    engine_knows,
    shapes_know,
    server_knows,
    scheduler_knows,
    accesses_know,
    policy_knows,
    iam_knows,
    client_knows,
    fault_profile_knows,
)


@pytest.mark.parametrize("knows", CONSUMERS, ids=lambda each: each.__name__)
def test_every_consumer_knows_every_operation(knows: Callable[[Operation], bool]) -> None:
    assert [name for name, row in OPERATIONS.items() if not knows(row)] == []


def test_consumers_detect_an_operation_that_they_do_not_handle() -> None:
    """Shows that the test above works: nearly all consumers fail for a row that nobody handles."""
    new = Operation("MeltItems", "items", "write", "rights", "inline")
    missed: list[str] = []
    for knows in CONSUMERS:
        try:
            if not knows(new):
                missed.append(knows.__name__)
        except (KeyError, ServiceError):
            missed.append(knows.__name__)
    assert missed == [
        "engine_knows",
        "shapes_know",
        "server_knows",
        "scheduler_knows",
        "accesses_know",
        "policy_knows",
        "iam_knows",
        "fault_profile_knows",
    ]


def test_members_of_transactions_stand_for_operations() -> None:
    assert WRITE_MEMBERS.keys() == MEMBERS.keys() - {"Get"}
    assert set(OPERATIONS["TransactWriteItems"].iam_actions) == {
        member.action for member in WRITE_MEMBERS.values()
    }
