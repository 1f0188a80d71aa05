"""Resource policies: stored with their table, and returned verbatim."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.errors import (
    PolicyNotFoundException,
    ResourceNotFoundException,
    ValidationException,
)
from tests.unit.engine.clocks import Clock
from tests.unit.engine.storage.tables import TABLE, create

ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
STATEMENT = {
    "Effect": "Allow",
    "Principal": {"AWS": "arn:aws:iam::111111111111:root"},
    "Action": ["dynamodb:GetItem"],
    "Resource": ARN,
}
# With odd spacing: it must be returned verbatim.
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [STATEMENT]}, indent=3)
OTHER = json.dumps({"Statement": {**STATEMENT, "Effect": "Deny", "Action": "*"}})
REVISION = "Resource-based policy not found for the provided ResourceArn: Requested"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", clock=Clock(), upkeep_seconds=None) as engine:
        create(engine)
        yield engine
        assert engine.verify() == []


def _put(engine: Engine, policy: str = POLICY, **more: Any) -> str:
    request = {"ResourceArn": ARN, "Policy": policy, **more}
    return engine.execute("PutResourcePolicy", request)["RevisionId"]


def _get(engine: Engine) -> dict[str, Any]:
    return engine.execute("GetResourcePolicy", {"ResourceArn": ARN})


def _delete(engine: Engine, **more: Any) -> dict[str, Any]:
    return engine.execute("DeleteResourcePolicy", {"ResourceArn": ARN, **more})


def test_a_policy_is_put_replaced_and_removed(engine: Engine) -> None:
    first = _put(engine)
    assert _get(engine) == {"Policy": POLICY, "RevisionId": first}
    assert _put(engine) == first
    # The same policy in another layout.
    assert _put(engine, json.dumps(json.loads(POLICY))) == first
    # It is a new revision although the clock has not moved.
    second = _put(engine, OTHER)
    assert second != first
    assert _get(engine) == {"Policy": OTHER, "RevisionId": second}
    assert _delete(engine) == {"RevisionId": second}
    assert _delete(engine) == {}
    with pytest.raises(PolicyNotFoundException):
        _get(engine)


def test_a_wrong_revision_is_refused(engine: Engine) -> None:
    with pytest.raises(PolicyNotFoundException, match=f"{REVISION} update .* no associated policy"):
        _put(engine, ExpectedRevisionId="1")
    with pytest.raises(PolicyNotFoundException):
        _delete(engine, ExpectedRevisionId="1")
    first = _put(engine, ExpectedRevisionId="NO_POLICY")
    with pytest.raises(PolicyNotFoundException, match="expecting none to be present"):
        _put(engine, OTHER, ExpectedRevisionId="NO_POLICY")
    second = _put(engine, OTHER, ExpectedRevisionId=first)
    with pytest.raises(PolicyNotFoundException, match=f"has revision id {second}"):
        _delete(engine, ExpectedRevisionId=first)
    assert _delete(engine, ExpectedRevisionId=second) == {"RevisionId": second}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("not JSON", "This policy contains invalid Json"),
        ("[]", "This policy contains invalid Json"),
        ('{"Statement": []}', "Could not parse the policy: Statement is empty!"),
        ('{"Statement": 5}', "Syntax error"),
        (json.dumps({"Statement": {**STATEMENT, "Effect": "Maybe"}}), "Syntax error"),
        (json.dumps({"Statement": {"Effect": "Allow"}}), "Missing required field Principal"),
        (
            json.dumps({"Statement": [{**STATEMENT, "Sid": "one"}, {**STATEMENT, "Sid": "one"}]}),
            "The Statement Ids in the policy are not unique",
        ),
        (
            json.dumps({"Statement": {**STATEMENT, "Action": ["dynamodb:GetItem", "s3:Get", 5]}}),
            'The following action names are invalid: "s3:Get", 5',
        ),
    ],
)
def test_an_invalid_policy_is_refused(engine: Engine, policy: str, words: str) -> None:
    with pytest.raises(ValidationException, match=f"Invalid policy document: {words}"):
        _put(engine, policy)
    with pytest.raises(PolicyNotFoundException):
        _get(engine)


@pytest.mark.parametrize("principal", ["*", {"AWS": "*"}])
def test_a_public_policy_is_refused(engine: Engine, principal: Any) -> None:
    policy = json.dumps({"Statement": {**STATEMENT, "Principal": principal}})
    with pytest.raises(ValidationException, match="grants unbounded access"):
        _put(engine, policy)
    _put(engine, json.dumps({"Statement": {**STATEMENT, "Principal": "*", "Effect": "Deny"}}))


def test_the_size_of_a_policy_is_limited(engine: Engine) -> None:
    padding = 20 * 1024 - len(json.dumps({"Statement": STATEMENT, "Id": ""}))
    longest = json.dumps({"Statement": STATEMENT, "Id": "x" * padding})
    _put(engine, longest)
    with pytest.raises(ValidationException, match="Maximum policy size of 20480 bytes exceeded"):
        _put(engine, longest + " ")


@pytest.mark.parametrize(
    ("arn", "error"),
    [
        (ARN + "x", ResourceNotFoundException),
        (f"{ARN}/stream/2026-01-01T00:00:00.000", ResourceNotFoundException),
        (f"{ARN}/index/by-a", ValidationException),
        ("arn:aws:s3:::bucket", ValidationException),
        (TABLE, ValidationException),
    ],
)
def test_missing_and_invalid_resources_have_no_policy(
    engine: Engine, arn: str, error: type[Exception]
) -> None:
    for operation in ("PutResourcePolicy", "GetResourcePolicy", "DeleteResourcePolicy"):
        with pytest.raises(error):
            engine.execute(operation, {"ResourceArn": arn, "Policy": POLICY})


def test_a_policy_outlives_the_engine_but_not_its_table(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        create(engine)
        revision = _put(engine)
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        assert _get(engine)["RevisionId"] == revision
        engine.execute("DeleteTable", {"TableName": TABLE})
        create(engine)
        with pytest.raises(PolicyNotFoundException):
            _get(engine)
