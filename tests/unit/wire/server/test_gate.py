"""The gate: signed requests are limited to the rights of their access keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyfold import ALL, EVERYTHING, READ, WRITE, Entity, Key, Role, Table, part
from keyfold.engine import Engine
from keyfold.errors import AccessDeniedException, KeysUnusable, PolicyInvalid
from keyfold.wire.client import Client, Credentials
from keyfold.wire.server import Server, make_key_gate, make_policy_gate
from keyfold.wire.server._gate import KeyGate
from keyfold.wire.server._key_file import changing_keys
from keyfold.wire.server._keyring import Keyring
from keyfold.wire.server._requests import WireCall
from tests.unit.wire.server.http import (
    TABLE,
    Clock,
    Response,
    Wire,
    ask,
    make_table,
    write_request,
)
from tests.unit.wire.server.signing import (
    NOW,
    REGION,
    SECRET,
    admit_all,
    block,
    sign_by_botocore,
    write_keys,
)

market = Table("Market", key=Key("pk", "sk"))
orders = market.shard("U#{user}#O", name="orders")
profiles = market.shard("U#{user}#P", name="profile")


class Order(Entity, table=market, key=(orders, "{order}")):
    user: str = part()
    order: str = part()


class Profile(Entity, table=market, key=(profiles, "{version}")):
    user: str = part()
    version: str = part()


market.add_role(
    Role(
        "customer",
        tenant="user",
        can={"profile": READ | WRITE, "orders": READ},
        operations=["DescribeTimeToLive"],
    )
)
market.add_role(Role("fulfilment", can={"orders": ALL}))
market.add_role(Role("owner", can={EVERYTHING: ALL}))

POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": ["dynamodb:GetItem", "dynamodb:PutItem"],
            "Resource": "arn:aws:dynamodb:us-east-1:000000000000:table/Market",
            "Condition": {
                "ForAllValues:StringEquals": {
                    "dynamodb:LeadingKeys": ["U#${aws:PrincipalTag/user}#P"]
                },
                "Null": {"dynamodb:LeadingKeys": "false"},
            },
        },
        {"Effect": "Allow", "Action": "dynamodb:Describe*", "Resource": "*"},
        {"Effect": "Deny", "Action": "dynamodb:DescribeLimits", "Resource": "*"},
    ],
}
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/Market"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        engine.execute(
            "CreateTable",
            {
                "TableName": "Market",
                "AttributeDefinitions": [
                    {"AttributeName": "pk", "AttributeType": "S"},
                    {"AttributeName": "sk", "AttributeType": "S"},
                ],
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "BillingMode": "PAY_PER_REQUEST",
            },
        )
        for user in ("ada", "bob"):
            for kind in "OP":
                item = {"pk": {"S": f"U#{user}#{kind}"}, "sk": {"S": "1"}, "v": {"S": user}}
                engine.execute("PutItem", {"TableName": "Market", "Item": item})
        yield engine


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.toml"
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    write_keys(
        path,
        block("ADMIN"),
        block("ADA", more='role = "customer"\nids = {user = "ada"}'),
        block("FULFIL", more='role = "fulfilment"'),
        block("OWNER", more='role = "owner"'),
        block("BOTH", more='role = ["fulfilment", "customer"]\nids = {user = "ada"}'),
        block("POLICY", more='policy = "policy.json"\nids = {user = "ada"}'),
    )
    return path


@pytest.fixture
def wire(engine: Engine, keys: Path) -> Iterator[Wire]:
    gate = make_key_gate(str(keys), engine.find_key_names, tables=[market], clock=lambda: NOW)
    wire = Wire(engine, gate=gate)
    yield wire
    wire.close()


def call(wire: Wire, access_key: str, operation: str, request: dict[str, Any]) -> Response:
    (response,) = wire.exchange(sign_by_botocore(operation, request, access_key=access_key).write())
    return response


def denied(response: Response) -> str:
    assert response.status == 400
    assert response.json["__type"] == "com.amazon.coral.service#AccessDeniedException"
    return response.json["Message"]


def get(partition: str, sort: str = "1") -> dict[str, Any]:
    return {"TableName": "Market", "Key": {"pk": {"S": partition}, "sk": {"S": sort}}}


def put(partition: str, sort: str = "1") -> dict[str, Any]:
    return {"TableName": "Market", "Item": {"pk": {"S": partition}, "sk": {"S": sort}}}


def test_a_role_may_access_its_own_partitions(wire: Wire) -> None:
    assert call(wire, "ADA", "GetItem", get("U#ada#O")).json["Item"]["v"] == {"S": "ada"}
    assert call(wire, "ADA", "PutItem", put("U#ada#P", "2")).status == 200
    assert call(wire, "FULFIL", "PutItem", put("U#bob#O", "2")).status == 200
    assert call(wire, "OWNER", "Scan", {"TableName": "Market"}).json["Count"] == 6


@pytest.mark.parametrize(
    ("operation", "request_", "action"),
    [
        # The same whether or not the item exists.
        ("GetItem", get("U#bob#O"), "GetItem"),
        ("GetItem", get("U#bob#O", "absent"), "GetItem"),
        ("GetItem", get("U#nobody#O"), "GetItem"),
        ("GetItem", get("elsewhere"), "GetItem"),
        ("PutItem", put("U#ada#O"), "PutItem"),
        ("DeleteItem", get("U#bob#P"), "DeleteItem"),
        ("Scan", {"TableName": "Market"}, "Scan"),
        (
            "Query",
            {
                "TableName": "Market",
                "KeyConditionExpression": "pk = :p",
                "ExpressionAttributeValues": {":p": {"S": "U#bob#P"}},
            },
            "Query",
        ),
        (
            "TransactWriteItems",
            {
                "TransactItems": [
                    {"Put": put("U#ada#P")},
                    {
                        "ConditionCheck": {
                            **get("U#bob#P"),
                            "ConditionExpression": "attribute_exists(v)",
                        }
                    },
                ]
            },
            "ConditionCheckItem",
        ),
        (
            "BatchGetItem",
            {"RequestItems": {"Market": {"Keys": [get("U#ada#P")["Key"], get("U#bob#P")["Key"]]}}},
            "BatchGetItem",
        ),
        ("DeleteTable", {"TableName": "Market"}, "DeleteTable"),
    ],
)
def test_a_role_may_access_nothing_else(
    wire: Wire, engine: Engine, operation: str, request_: dict[str, Any], action: str
) -> None:
    message = denied(call(wire, "ADA", operation, request_))
    assert message == (
        f"User: arn:aws:iam::000000000000:user/ada is not authorized to perform: "
        f"dynamodb:{action} on resource: {ARN} because no identity-based policy allows the "
        f"dynamodb:{action} action"
    )
    assert engine.execute("Scan", {"TableName": "Market"})["Count"] == 4, "nothing was written"


@pytest.mark.parametrize(
    ("statement", "action"),
    [
        ('SELECT * FROM "Market"', "PartiQLSelect"),
        (" insert INTO Market VALUE {", "PartiQLInsert"),
        ("delete", "PartiQLDelete"),
        ("", "PartiQLSelect"),
        (7, "PartiQLSelect"),
    ],
)
def test_a_role_without_statements_is_denied_them_unread(
    wire: Wire, statement: object, action: str
) -> None:
    requests = {
        "ExecuteStatement": {"Statement": statement},
        "BatchExecuteStatement": {"Statements": [{"Statement": statement}]},
        "ExecuteTransaction": {"TransactStatements": [{"Statement": statement}]},
    }
    for operation, request in requests.items():
        message = denied(call(wire, "ADA", operation, request))
        assert f"perform: dynamodb:{action} on resource: {ARN.replace('Market', '*')} " in message


def test_a_key_with_several_roles_may_do_what_one_of_them_allows(wire: Wire) -> None:
    assert call(wire, "BOTH", "PutItem", put("U#ada#P", "2")).status == 200
    assert call(wire, "BOTH", "PutItem", put("U#bob#O", "2")).status == 200
    assert call(wire, "BOTH", "GetItem", get("U#bob#O")).json["Item"]["v"] == {"S": "bob"}
    both = {"TransactItems": [{"Put": put("U#ada#P")}, {"Put": put("U#bob#O")}]}
    assert call(wire, "BOTH", "TransactWriteItems", both).status == 200
    assert call(wire, "BOTH", "DescribeTimeToLive", {"TableName": "Market"}).status == 200
    denied(call(wire, "BOTH", "GetItem", get("U#bob#P")))
    denied(call(wire, "BOTH", "Scan", {"TableName": "Market"}))
    foreign = {"TransactItems": [{"Put": put("U#ada#P")}, {"Put": put("U#bob#P")}]}
    denied(call(wire, "BOTH", "TransactWriteItems", foreign))


def test_a_table_may_be_named_by_its_arn(wire: Wire) -> None:
    assert call(wire, "ADA", "GetItem", {**get("U#ada#P"), "TableName": ARN}).status == 200
    denied(call(wire, "ADA", "GetItem", {**get("U#bob#P"), "TableName": ARN}))


def test_tables_outside_the_role_are_denied(wire: Wire, engine: Engine) -> None:
    assert call(wire, "ADA", "DescribeTimeToLive", {"TableName": "Market"}).status == 200
    for name in ("Other", "absent"):
        assert "table/" + name in denied(
            call(wire, "ADA", "DescribeTimeToLive", {"TableName": name})
        )
        assert denied(call(wire, "OWNER", "GetItem", {**get("a"), "TableName": name}))
    assert "on resource: arn:aws:dynamodb:us-east-1:000000000000:table/* " in denied(
        call(wire, "ADA", "ListTables", {})
    )


def test_an_admin_may_do_everything(wire: Wire) -> None:
    assert call(wire, "ADMIN", "ListTables", {}).json == {"TableNames": ["Market"]}
    assert call(wire, "ADMIN", "DeleteTable", {"TableName": "Market"}).status == 200


def test_invalid_requests_get_the_same_errors_as_without_a_gate(wire: Wire) -> None:
    for access_key in ("ADMIN", "ADA", "POLICY"):
        for body in (b"[]", b"null", b"{", b""):
            sent = sign_by_botocore("GetItem", body, access_key=access_key)
            (response,) = wire.exchange(sent.write())
            assert (response.status, response.json["__type"].partition("#")[2]) == (
                400,
                "SerializationException",
            )
        response = call(wire, access_key, "GetItem", {"TableName": "Market"})
        assert response.json["__type"].endswith("#ValidationException"), access_key


def test_duplicate_json_keys_mean_the_same_to_gate_and_engine(wire: Wire) -> None:
    own, foreign = (json.dumps(get(f"U#{user}#P"))[1:-1] for user in ("ada", "bob"))
    for body, is_allowed in ((f"{{{foreign}, {own}}}", True), (f"{{{own}, {foreign}}}", False)):
        sent = sign_by_botocore("GetItem", body.encode(), access_key="ADA")
        (response,) = wire.exchange(sent.write())
        if is_allowed:
            assert response.json["Item"]["v"] == {"S": "ada"}
        else:
            denied(response)


def test_a_policy_is_enforced(wire: Wire) -> None:
    assert call(wire, "POLICY", "GetItem", get("U#ada#P")).json["Item"]["v"] == {"S": "ada"}
    assert "no identity-based policy allows" in denied(
        call(wire, "POLICY", "GetItem", get("U#bob#P"))
    )
    assert call(wire, "POLICY", "DescribeTable", {"TableName": "Market"}).status == 200
    assert denied(call(wire, "POLICY", "DescribeLimits", {})) == (
        "User: arn:aws:iam::000000000000:user/ada is not authorized to perform: "
        "dynamodb:DescribeLimits on resource: "
        "arn:aws:dynamodb:us-east-1:000000000000:table/* with an explicit deny in an "
        "identity-based policy"
    )


def test_a_changed_policy_applies_at_once(wire: Wire, keys: Path) -> None:
    denied(call(wire, "POLICY", "ListTables", {}))
    statement = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}
    (keys.parent / "policy.json").write_text(json.dumps({"Statement": statement}))
    assert call(wire, "POLICY", "ListTables", {}).status == 200


def test_a_key_can_be_revoked_or_given_other_rights_while_the_server_runs(
    wire: Wire, keys: Path
) -> None:
    with changing_keys(str(keys)) as held:
        del held["ADMIN"]
    response = call(wire, "ADMIN", "ListTables", {})
    assert response.json["__type"].endswith("#UnrecognizedClientException")
    keys.write_text(keys.read_text().replace('role = "customer"', 'role = "fulfilment"'))
    # An id that the role does not take: the key is refused until that is fixed.
    response = call(wire, "ADA", "GetItem", get("U#bob#O"))
    assert response.json["__type"].endswith("#UnrecognizedClientException")
    keys.write_text(keys.read_text().replace('ids = {user = "ada"}\n', ""))
    assert call(wire, "ADA", "GetItem", get("U#bob#O")).status == 200
    denied(call(wire, "ADA", "GetItem", get("U#ada#P")))


def test_while_the_file_is_unusable_only_keys_in_use_are_accepted(
    engine: Engine, keys: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    gate = make_key_gate(
        str(keys), engine.find_key_names, tables=[market], clock=lambda: NOW, monotonic=clock
    )
    wire = Wire(engine, gate=gate)
    forged = sign_by_botocore("ListTables", {}, access_key="OWNER", secret="wrong").write()

    def ask_all() -> dict[str, int]:
        return {
            each: call(wire, each, "GetItem", get("U#ada#P")).status
            for each in ("ADMIN", "POLICY", "OWNER", "UNKNOWN")
        }

    assert call(wire, "ADMIN", "ListTables", {}).status == 200
    assert call(wire, "POLICY", "DescribeTable", {"TableName": "Market"}).status == 200
    (response,) = wire.exchange(forged)
    assert response.status == 400
    content = keys.read_text()
    keys.write_text("[keys.ADMIN]\nsecret = ")
    assert ask_all() == {"ADMIN": 200, "POLICY": 200, "OWNER": 503, "UNKNOWN": 503}
    # A second request of each is verified by the fast path.
    assert ask_all() == {"ADMIN": 200, "POLICY": 200, "OWNER": 503, "UNKNOWN": 503}
    clock.now += 30
    assert ask_all() == {"ADMIN": 503, "POLICY": 503, "OWNER": 503, "UNKNOWN": 503}
    response = call(wire, "ADMIN", "GetItem", get("U#ada#P"))
    assert (response.status, response.json["message"]) == (
        503,
        "the server cannot read its access keys",
    )
    assert response.headers["x-keyfold-undone"] == "true"
    assert [each.levelname for each in caplog.records] == ["ERROR", "CRITICAL"]
    keys.write_text(content)
    assert ask_all() == {"ADMIN": 200, "POLICY": 200, "OWNER": 200, "UNKNOWN": 400}
    wire.close()


def test_an_unusable_file_is_logged_without_a_request(
    wire: Wire, keys: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys.unlink()
    wire.wait(1)
    (record,) = caplog.records
    assert f"{keys}: it cannot be read" in record.getMessage()


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ('role = "nobody"', "[keys.A] has role 'nobody', but the roles being served are"),
        ('role = "customer"', "it needs an id for 'user'"),
        ('role = "customer"\nids = {user = "a#b"}', "the id 'a#b' does not fit the key template"),
        ('role = "customer"\nids = {user = "*"}', "the id '*' contains '*'"),
        ('role = "fulfilment"\nids = {user = "a"}', "role fulfilment: got an id for 'user'"),
        ('role = ["fulfilment", "nobody"]', "[keys.A] has role 'nobody', but the roles being"),
        ('role = ["fulfilment", "customer"]', "role customer: it needs an id for 'user'"),
        (
            'role = ["fulfilment", "owner"]\nids = {user = "a"}',
            "role fulfilment and owner: got an id for 'user'; the roles take no id",
        ),
    ],
)
def test_a_key_needs_a_role_that_is_served(
    engine: Engine, tmp_path: Path, more: str, fact: str
) -> None:
    path = write_keys(tmp_path / "keys.toml", block("A", more=more))
    with pytest.raises(KeysUnusable) as refused:
        make_key_gate(path, engine.find_key_names, tables=[market])
    assert fact in str(refused.value)


def test_a_key_needs_a_policy_that_can_be_read(engine: Engine, tmp_path: Path) -> None:
    path = write_keys(tmp_path / "keys.toml", block("A", more='policy = "policy.json"'))
    with pytest.raises(PolicyInvalid, match="it cannot be read: No such file"):
        make_key_gate(path, engine.find_key_names)
    (tmp_path / "policy.json").write_text("{}")
    with pytest.raises(PolicyInvalid, match="it has no Statement"):
        make_key_gate(path, engine.find_key_names)


# Without keys.


def test_one_policy_may_apply_to_all_requests(engine: Engine, keys: Path) -> None:
    gate = make_policy_gate(
        str(keys.parent / "policy.json"), engine.find_key_names, ids={"user": "bob"}
    )
    wire = Wire(engine, gate=gate)
    (response,) = wire.exchange(ask("GetItem", get("U#bob#P")))
    assert response.json["Item"]["v"] == {"S": "bob"}
    (response,) = wire.exchange(ask("GetItem", get("U#ada#P")))
    assert "user/local is not authorized" in denied(response)
    wire.close()


def test_a_policy_for_all_requests_does_not_replace_the_authorization(
    engine: Engine, keys: Path
) -> None:
    statement = {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}
    path = keys.parent / "open.json"
    path.write_text(json.dumps({"Statement": statement}))
    wire = Wire(engine, gate=make_policy_gate(str(path), engine.find_key_names))
    (response,) = wire.exchange(ask("GetItem", get("U#ada#P")))
    assert response.status == 200
    for authorization in (None, "AWS4-HMAC-SHA256 Credential=x", "Basic x"):
        (response,) = wire.exchange(ask("GetItem", get("U#ada#P"), Authorization=authorization))
        assert response.status == 400
        assert "Auth" in response.json["message"]
    wire.close()


# What the gate does not guard.


def test_the_gate_guards_only_the_api(wire: Wire) -> None:
    (healthy,) = wire.exchange(write_request({"Host": "x"}, b"", method="GET"))
    assert (healthy.status, healthy.body) == (200, b"healthy: x ")
    preflight = {
        "Host": "localhost",
        "Origin": "http://localhost",
        "Access-Control-Request-Method": "POST",
    }
    (answer,) = wire.exchange(write_request(preflight, b"", method="OPTIONS"))
    assert answer.status == 200


def test_a_gate_that_fails_refuses_every_request(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        verifies_keys = True

        def end_sharing(self) -> None:
            raise ZeroDivisionError

        def check_files(self) -> None:
            raise ZeroDivisionError

        def find_authorizer(self, headers: object, body: bytes, *, is_shared: bool = False) -> None:
            raise ZeroDivisionError

        def find_refusal(self, request: object, call: WireCall) -> None:
            if call.operation in ("ListTables", "GetItem"):
                raise ZeroDivisionError

        def find_principal(self, request: object) -> str:
            raise ZeroDivisionError

    wire = Wire(engine, gate=Broken())
    for operation in ("ListTables", "GetItem", "TransactWriteItems"):
        (response,) = wire.exchange(ask(operation, {}))
        assert response.status == 500
        assert response.json["message"].startswith("Internal server error (reference ")
        assert f"{operation} failed unexpectedly" in capsys.readouterr().err
    wire.close()


def test_an_idempotency_token_is_shared_only_among_equal_rights(wire: Wire) -> None:
    def transact(access_key: str, user: str) -> int:
        item = {"pk": {"S": f"U#{user}#P"}, "sk": {"S": "2"}}
        members = [{"Put": {"TableName": "Market", "Item": item}}]
        request = {"TransactItems": members, "ClientRequestToken": "token"}
        return call(wire, access_key, "TransactWriteItems", request).status

    assert transact("ADMIN", "bob") == 200
    assert transact("ADMIN", "ada") == 400
    assert transact("ADA", "ada") == 200
    assert transact("OWNER", "bob") == 200


# Real clients.


@pytest.fixture
def url(engine: Engine, keys: Path) -> Iterator[str]:
    gate = make_key_gate(str(keys), engine.find_key_names, tables=[market])
    with Server(engine, gate=gate).running() as url:
        yield url


def connect(url: str, access_key: str, secret: str = SECRET) -> Any:
    return cast(Any, boto3).client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=access_key,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )


def code_of(error: Any) -> str:
    return error.response["Error"]["Code"]


def test_boto3_requests_are_accepted(url: str) -> None:
    client = connect(url, "ADA")
    assert client.get_item(**get("U#ada#P"))["Item"]["v"] == {"S": "ada"}
    client.put_item(**put("U#ada#P", "3"))
    with pytest.raises(ClientError) as refused:
        client.get_item(**get("U#bob#P"))
    assert code_of(refused.value) == "AccessDeniedException"
    assert "not authorized to perform: dynamodb:GetItem" in str(refused.value)
    with pytest.raises(ClientError) as forged:
        connect(url, "ADA", "another").get_item(**get("U#ada#P"))
    assert code_of(forged.value) == "InvalidSignatureException"
    client.close()


def test_requests_of_our_client_are_accepted(url: str) -> None:
    with Client(url, region="us-east-1", credentials=Credentials("ADA", SECRET)) as client:
        assert client.execute("GetItem", get("U#ada#P"))["Item"]["v"] == {"S": "ada"}
        with pytest.raises(AccessDeniedException, match="not authorized to perform"):
            client.execute("GetItem", get("U#bob#P"))


def test_a_principal_is_not_read_from_a_request_that_has_expired_meanwhile(tmp_path: Path) -> None:
    times = iter([NOW + 300.9, NOW + 301.1])
    keyring = Keyring(write_keys(tmp_path / "keys.toml", block()), admit_all)
    member = {"Put": {"TableName": TABLE, "Item": {"pk": {"S": "a"}}}}
    request = {"ClientRequestToken": "token", "TransactItems": [member]}
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        make_table(engine)
        wire = Wire(engine, gate=KeyGate(keyring, REGION, clock=lambda: next(times)))
        (response,) = wire.exchange(sign_by_botocore("TransactWriteItems", request).write())
        wire.close()
    assert response.status == 400
    assert "Signature expired" in response.json["message"]
