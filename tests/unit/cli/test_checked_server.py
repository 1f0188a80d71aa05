"""`keyfold serve --table`: writes that do not fit are refused, by boto3, for every write operation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError

from keyfold.designs import market
from keyfold.designs.market import Order, OrderId, User
from keyfold.errors import AccessDeniedException, UniqueTaken, ValidationException
from keyfold.store import Store, StoreSettings
from tests.unit.cli.program import Run
from tests.unit.cli.test_serve import add_key, connect, serving

ORDER = "O#01JZ10H7X367VB2NF4YQ973DHW"
USER = {"pk": {"S": "U#ada"}, "sk": {"S": "U#ada"}, "name": {"S": "Ada"}, "tp": {"S": "user"}}
KEY = {name: USER[name] for name in ("pk", "sk")}
# Another user's order, in the partition of Ada's profile.
STRAY = {"pk": {"S": "U#ada"}, "sk": {"S": ORDER}, "total": {"N": "1"}}
GUARD = {"S": "keyfold#unique"}
NO_ENTITY = "its key matches no entity of the table"
NO_TEXT = "name: Input should be a valid string"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("checked")
    source = folder / "buckets" / "in"
    source.mkdir(parents=True)
    lines = [json.dumps({"Item": each}) for each in (USER, STRAY)]
    (source / "items.json").write_text("\n".join(lines))
    with serving("--memory", "--table", "market", "--buckets", "buckets", folder=folder) as (
        _,
        ready,
    ):
        yield ready["url"]


@pytest.fixture
def client(url: str) -> Iterator[Any]:
    client: Any = cast(Any, boto3).client(
        "dynamodb",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    client.create_table(**market.table.to_dynamodb())
    client.put_item(TableName="Market", Item=USER)
    yield client
    client.delete_table(TableName="Market")
    client.close()


MARKET = {"TableName": "Market"}
STRAY_INSERT = {"Statement": f"INSERT INTO Market VALUE {{'pk': 'U#ada', 'sk': '{ORDER}'}}"}
DELETE = {"Statement": "DELETE FROM Market WHERE pk = 'U#ada' AND sk = 'U#ada'"}


def find_error(client: Any, method: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the response to a call that fails."""
    with pytest.raises(ClientError) as caught:
        getattr(client, method)(**request)
    return dict(vars(caught.value)["response"])


@pytest.mark.parametrize(
    ("method", "request_", "fact"),
    [
        ("put_item", {**MARKET, "Item": STRAY}, NO_ENTITY),
        (
            "put_item",
            {**MARKET, "Item": STRAY, "ConditionExpression": "attribute_not_exists(pk)"},
            NO_ENTITY,
        ),
        (
            "update_item",
            {
                **MARKET,
                "Key": {name: STRAY[name] for name in ("pk", "sk")},
                "UpdateExpression": "SET tp = :t",
                "ExpressionAttributeValues": {":t": {"S": "order"}},
            },
            NO_ENTITY,
        ),
        (
            "update_item",
            {
                **MARKET,
                "Key": KEY,
                "UpdateExpression": "SET #n = :n",
                "ExpressionAttributeNames": {"#n": "name"},
                "ExpressionAttributeValues": {":n": {"L": []}},
            },
            NO_TEXT,
        ),
        (
            "update_item",
            {
                **MARKET,
                "Key": {"pk": {"S": "U#ada"}, "sk": {"S": "U#ada#001"}},
                "UpdateExpression": "SET street = :s",
                "ExpressionAttributeValues": {":s": {"S": "1 Market Street"}},
            },
            "city: Field required",
        ),
        (
            "batch_write_item",
            {
                "RequestItems": {
                    "Market": [{"DeleteRequest": {"Key": KEY}}, {"PutRequest": {"Item": STRAY}}]
                }
            },
            NO_ENTITY,
        ),
        ("execute_statement", STRAY_INSERT, NO_ENTITY),
        (
            "execute_statement",
            {"Statement": "UPDATE Market SET \"name\" = [] WHERE pk = 'U#ada' AND sk = 'U#ada'"},
            NO_TEXT,
        ),
    ],
)
def test_every_single_write_is_checked(
    client: Any, method: str, request_: dict[str, Any], fact: str
) -> None:
    error = find_error(client, method, request_)["Error"]
    assert error["Code"] == "ValidationException"
    assert fact in error["Message"]
    assert error["Message"].endswith("[write-refused]")
    assert client.scan(**MARKET)["Items"] == [USER]


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        (
            "transact_write_items",
            {
                "TransactItems": [
                    {"Delete": {**MARKET, "Key": KEY}},
                    {"Put": {**MARKET, "Item": STRAY}},
                ]
            },
        ),
        ("execute_transaction", {"TransactStatements": [DELETE, STRAY_INSERT]}),
    ],
)
def test_transactions_are_cancelled(client: Any, method: str, request_: dict[str, Any]) -> None:
    response = find_error(client, method, request_)
    assert response["Error"]["Code"] == "TransactionCanceledException"
    none, reason = response["CancellationReasons"]
    assert (none["Code"], reason["Code"]) == ("None", "ValidationError")
    assert NO_ENTITY in reason["Message"]
    assert client.scan(**MARKET)["Items"] == [USER]


def test_statements_of_a_batch_are_checked_one_by_one(client: Any) -> None:
    statements = [STRAY_INSERT, DELETE]
    refused, done = client.batch_execute_statement(Statements=statements)["Responses"]
    assert refused["Error"]["Code"] == "ValidationError"
    assert NO_ENTITY in refused["Error"]["Message"]
    assert "Error" not in done


def test_imports_are_checked(client: Any) -> None:
    client.delete_table(TableName="Market")
    definition = market.table.to_dynamodb()
    definition.pop("StreamSpecification")
    begun = client.import_table(
        S3BucketSource={"S3Bucket": "in"},
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters=definition,
    )["ImportTableDescription"]
    described = client.describe_import(ImportArn=begun["ImportArn"])["ImportTableDescription"]
    assert (described["ImportedItemCount"], described["ErrorCount"]) == (1, 1)
    assert client.scan(TableName="Market")["Items"] == [USER]


def test_reads_and_other_tables_are_as_before(client: Any) -> None:
    assert client.get_item(TableName="Market", Key=KEY)["Item"] == USER
    definition = {**market.table.to_dynamodb(), "TableName": "Others"}
    client.create_table(**definition)
    client.put_item(TableName="Others", Item=STRAY)
    client.delete_table(TableName="Others")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_customer_cannot_break_the_lookup_of_another(
    run: Run, tmp_path: Path, workers: int
) -> None:
    file = tmp_path / "keys.toml"
    admin = add_key(run, file, "--name", "ops", "--admin")
    ada = add_key(run, file, "--name", "ada", "--role", "customer", "--id", "user=ada")
    options = ("shop.db", "--auth", "keys.toml", "--table", "market", "--workers", workers)
    with (
        serving(*options, folder=tmp_path) as (_, ready),
        connect(ready["url"], admin) as ops,
    ):
        ops.execute("CreateTable", market.table.to_dynamodb())
        store = Store(ops, StoreSettings(tables=(market.table,)))
        store.run(Order(user="bob", order=OrderId(ORDER), total=Decimal(1)).create())
        for _ in range(4):
            # On several connections, so that every worker gets one.
            with connect(ready["url"], ada) as customer:
                customer.execute("PutItem", {**MARKET, "Item": USER})
                with pytest.raises(ValidationException, match=NO_ENTITY):
                    customer.execute("PutItem", {**MARKET, "Item": STRAY})
        found = list(store.run(market.table.query(market.by_key, sk=ORDER).refs()))
        assert [each.key["pk"] for each in found] == [{"S": "U#bob#O"}]


def test_a_process_gives_business_ids_and_a_customer_takes_none(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    admin = add_key(run, file, "--name", "ops", "--admin")
    sign_up = add_key(run, file, "--name", "sign-up", "--role", "registration")
    ada = add_key(run, file, "--name", "ada", "--role", "customer", "--id", "user=ada")
    options = ("shop.db", "--auth", "keys.toml", "--table", "market")
    with (
        serving(*options, folder=tmp_path) as (_, ready),
        connect(ready["url"], admin) as ops,
        connect(ready["url"], sign_up) as process,
        connect(ready["url"], ada) as customer,
    ):
        ops.execute("CreateTable", market.table.to_dynamodb())
        store = Store(process, StoreSettings(tables=(market.table,)))
        bob = store.run(market.create_user(User(user="bob", id="bob@example.com")))
        with pytest.raises(UniqueTaken):
            store.run(market.create_user(User(user="eve", id="bob@example.com")))
        named = {**USER, "id": {"S": "bob@example.com"}}
        with pytest.raises(AccessDeniedException):
            customer.execute("PutItem", {**MARKET, "Item": named})
        # The process may write guards, and no false ones.
        with pytest.raises(ValidationException, match="another item has the same id"):
            process.execute("PutItem", {**MARKET, "Item": named})
        guard = {"pk": {"S": "keyfold#unique#User.id#S#bob@example.com"}, "sk": GUARD}
        with pytest.raises(ValidationException, match="still has"):
            process.execute("DeleteItem", {**MARKET, "Key": guard})
        with pytest.raises(AccessDeniedException):
            process.execute("GetItem", {**MARKET, "Key": guard})
        assert store.run(market.find_by_id("bob@example.com", "user")) == bob


@pytest.mark.parametrize("options", [(), ("--story",)], ids=["patterns", "stories"])
def test_the_demo_runs_on_a_checked_server(
    run: Run, tmp_path: Path, options: tuple[str, ...]
) -> None:
    designs = ("exchange_rates", "letsgo", "market", "pantry")
    tables = [each for design in designs for each in ("--table", design)]
    with serving("--memory", *tables, folder=tmp_path) as (_, ready):
        outcome = run("demo", "--db", ready["url"], *options)
        assert (outcome.code, outcome.err) == (0, "")
        assert "✗" not in outcome.out


def test_a_table_that_does_not_exist_is_refused(run: Run) -> None:
    outcome = run("serve", "--memory", "--port", 0, "--table", "absent")
    assert outcome.code == 2
    assert "there is no table 'absent'" in outcome.err
