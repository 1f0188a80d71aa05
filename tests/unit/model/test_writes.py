"""Writes of whole entities, and several at once, as values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from keyfold.errors import (
    BatchInvalid,
    KeyfoldError,
    KeyPartInvalid,
    MissingKeyPart,
    QueryInvalid,
    TransactionInvalid,
    UpdateInvalid,
)
from keyfold.model import Entity, Key, Put, Table, Version, attr, batch, now, transaction
from keyfold.model._calls import CALLER
from tests.unit.model.shop import Device, Order, OrderId, OrderLine, Rate, Ticket, User
from tests.unit.model.spelling import spell

NOW = datetime(2024, 1, 1, tzinfo=UTC)
RATE = Rate(base="USD", target="EUR", rate=Decimal("0.85"), at=NOW)
ITEM = {
    "PK": {"S": "RATE#USD#EUR"},
    "Base": {"S": "USD"},
    "Target": {"S": "EUR"},
    "Rate": {"N": "0.85"},
    "Timestamp": {"N": "1704067200"},
    "Stale": {"BOOL": False},
}
TICKET = Ticket(team="a", number=1, title="x", opened=NOW)


def test_a_put_is_shown_as_it_is_sent() -> None:
    assert RATE.put().to_dynamodb() == {"TableName": "ExchangeRates", "Item": ITEM}
    assert repr(RATE.put()).startswith("<put Rate(base='USD', target='EUR'")


@pytest.mark.parametrize(
    "put",
    [
        RATE.put(),
        RATE.create(),
        RATE.put().where(Rate.f.stale.eq(value=False)),
        RATE.put().expiring_in(timedelta(hours=1)),
        TICKET.put(),
        User(name="ada", email="ada@example.com").put(),
    ],
    ids=repr,
)
def test_the_call_of_a_put_is_the_one_that_is_shown(put: Put[Any]) -> None:
    (call,) = put.calls(NOW)
    assert (call.operation, call.request) == ("PutItem", put.to_dynamodb(now=NOW))
    assert call.authority == (() if put.authority == CALLER else (put.authority,))


def test_create_and_replace_have_conditions_that_treat_expired_items_as_absent() -> None:
    create = RATE.create().to_dynamodb(now=NOW)
    assert create == {
        "TableName": "ExchangeRates",
        "Item": ITEM,
        "ConditionExpression": "attribute_not_exists(PK) OR #0 <= :0",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        "ExpressionAttributeNames": {"#0": "ttl"},
        "ExpressionAttributeValues": {":0": {"N": "1704067200"}},
    }
    replace = RATE.replace().to_dynamodb(now=NOW)
    assert spell(replace, "ConditionExpression") == (
        "attribute_exists(PK) AND NOT (ttl <= 1704067200)"
    )
    assert repr(RATE.create()).startswith("<create Rate(")


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Rate.f.stale.eq(False), "Stale = BOOL:False AND NOT (ttl <= 1704067200)"),
        (Rate.f.stale.ne(True), "Stale <> BOOL:True OR ttl <= 1704067200"),
        (~Rate.f.stale.exists(), "NOT (attribute_exists(Stale)) OR ttl <= 1704067200"),
        (
            Rate.f.stale.not_exists() & (Rate.f.rate > 1),
            "(attribute_not_exists(Stale) AND Rate > 1) AND NOT (ttl <= 1704067200)",
        ),
        (
            Rate.f.stale.not_exists() | (Rate.f.rate > 1),
            "(attribute_not_exists(Stale) OR Rate > 1) OR ttl <= 1704067200",
        ),
    ],
)
def test_conditions_treat_an_expired_item_as_absent(condition: Any, text: str) -> None:
    for request in (
        RATE.put().where(condition),
        Rate.delete(base="USD", target="EUR").where(condition),
        Rate.check(condition, base="USD", target="EUR"),
    ):
        assert spell(request.to_dynamodb(now=NOW), "ConditionExpression") == text


def test_expiry_is_decided_by_whole_seconds() -> None:
    for micros in (0, 999_999):
        moment = NOW + timedelta(microseconds=micros)
        values = RATE.create().to_dynamodb(now=moment)["ExpressionAttributeValues"]
        assert values == {":0": {"N": "1704067200"}}
    before = datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)
    values = RATE.create().to_dynamodb(now=before)["ExpressionAttributeValues"]
    assert values == {":0": {"N": "-1"}}


def test_a_relative_expiry_is_resolved_when_it_runs() -> None:
    put = RATE.put().expiring_in(timedelta(days=1))
    for day in (0, 5):
        moment = NOW + timedelta(days=day)
        expires = {"N": str(1704067200 + (day + 1) * 86_400)}
        assert put.to_dynamodb(now=moment)["Item"] == {**ITEM, "ttl": expires}
    with pytest.raises(UpdateInvalid, match="Declare one of type Expiry"):
        TICKET.put().expiring_in(timedelta(days=1))
    with pytest.raises(UpdateInvalid, match="5 is not a timedelta"):
        RATE.put().expiring_in(5)  # type: ignore[arg-type]


def test_a_relative_expiry_is_rounded_down_to_whole_seconds() -> None:
    put = RATE.put().expiring_in(timedelta(hours=1, milliseconds=600))
    update = Rate.update(base="USD", target="EUR").expiring_in(timedelta(hours=1, milliseconds=600))
    for micros, expires in ((0, "1704070800"), (399_999, "1704070800"), (400_000, "1704070801")):
        moment = NOW + timedelta(microseconds=micros)
        assert put.to_dynamodb(now=moment)["Item"]["ttl"] == {"N": expires}
        assert update.to_dynamodb(now=moment)["ExpressionAttributeValues"][":0"] == {"N": expires}


def test_an_expiry_is_compared_exactly_with_a_time_between_two_seconds() -> None:
    half = NOW + timedelta(milliseconds=500)
    field = Rate.f.expires
    for condition, text in (
        (field < half, "ttl < 1704067200.5"),
        (field >= half, "ttl >= 1704067200.5"),
        (field.between(NOW, half), "ttl BETWEEN 1704067200 AND 1704067200.5"),
        (field > now + timedelta(seconds=1), "ttl > 1704067201.5"),
        # What was stored for a time equals that time.
        (field.eq(half), "ttl = 1704067200"),
        (field.in_(half), "ttl IN (1704067200)"),
    ):
        scan = Rate.scan().where(condition).to_dynamodb(now=half)
        assert spell(scan, "FilterExpression").endswith(text)


def test_a_delete_asks_for_the_old_item() -> None:
    delete = Rate.delete(base="USD", target="EUR")
    assert delete.to_dynamodb() == {
        "TableName": "ExchangeRates",
        "Key": {"PK": {"S": "RATE#USD#EUR"}},
        "ReturnValues": "ALL_OLD",
    }
    assert repr(delete) == "<delete Rate PK='RATE#USD#EUR'>"


def test_later_changes_to_a_list_do_not_reach_a_request() -> None:
    steps, tags, counts = ["a"], {"a"}, {"a": 1}
    ticket = TICKET.model_copy(update={"steps": steps, "tags": tags, "counts": counts})
    put = ticket.put()
    before = put.to_dynamodb(now=NOW)
    steps.append("b")
    tags.add("b")
    counts["b"] = 2
    assert put.to_dynamodb(now=NOW) == before
    assert before["Item"]["steps"] == {"L": [{"S": "a"}]}


def test_keys_and_index_keys_are_rendered_from_the_fields() -> None:
    order = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
    assert Order(user="ada", order=order, total=Decimal(1)).put().item == {
        "pk": {"S": "U#ada#O"},
        "sk": {"S": order},
        "tp": {"S": "order"},
        "total": {"N": "1"},
    }
    item = TICKET.model_copy(update={"status": None}).put().item
    assert "gsi1pk" not in item
    assert item["gsi1sk"] == {"S": "2024-01-01T00:00:00.000000Z"}


@pytest.mark.parametrize(
    ("build", "kind", "text"),
    [
        (lambda: Rate.model_construct(**(dict(RATE) | {"base": None})).put(), MissingKeyPart, "needs 'base'"),
        (lambda: RATE.model_copy(update={"base": "a#b"}).put(), KeyPartInvalid, "must not contain"),
        (lambda: RATE.put().where(True), QueryInvalid, "a condition is expected"),  # type: ignore[arg-type]
        (lambda: Rate.delete(base="a", target="b").where(None), QueryInvalid, "but got None"),  # type: ignore[arg-type]
        (lambda: Rate.check("x", base="a", target="b"), QueryInvalid, "but got 'x'"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_a_bad_write_is_refused_when_it_is_built(
    build: Any, kind: type[KeyfoldError], text: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        build()
    assert str(caught.value).endswith(f"[{kind.code}]")


def test_a_put_increments_the_version_and_expects_the_one_that_was_read() -> None:
    fresh = TICKET.put()
    assert fresh.item["version"] == {"N": "1"}
    assert spell(fresh.to_dynamodb(), "ConditionExpression") == "attribute_not_exists(pk)"
    read = TICKET.model_copy(update={"version": 4})
    assert spell(read.put().to_dynamodb(), "ConditionExpression") == "version = 4"
    assert spell(read.replace().to_dynamodb(), "ConditionExpression") == (
        "attribute_exists(pk) AND version = 4"
    )
    assert read.replace().item["version"] == {"N": "5"}
    assert read.create().item["version"] == {"N": "1"}
    assert spell(read.create().to_dynamodb(), "ConditionExpression") == "attribute_not_exists(pk)"


def test_a_version_may_be_optional() -> None:
    table = Table("Tab", key=Key("pk"))

    class Doc(Entity, table=table, key="{id}"):
        id: str
        version: Version | None = attr("v", default=None)

    assert Doc(id="1").put().item["v"] == {"N": "1"}
    assert Doc(id="1", version=2).put().item["v"] == {"N": "3"}


# Several at once.


def test_a_transaction_is_shown_as_it_is_sent() -> None:
    joined = transaction(
        RATE.create(),
        Rate.delete(base="a", target="b"),
        Rate.check(Rate.f.rate > 1, base="c", target="d"),
        Ticket.update(team="a", number=1).set(Ticket.f.title, "y"),
        token="once",
    )
    request = joined.to_dynamodb(now=NOW)
    kinds = [next(iter(each)) for each in request["TransactItems"]]
    assert kinds == ["Put", "Delete", "ConditionCheck", "Update"]
    assert request["ClientRequestToken"] == "once"
    assert all(
        "ReturnValues" not in body for each in request["TransactItems"] for body in each.values()
    )
    assert joined.idempotent("twice").to_dynamodb(now=NOW)["ClientRequestToken"] == "twice"
    assert repr(joined).startswith("<transaction of 4: <create Rate(")
    reads = transaction(Rate.get(base="a", target="b").consistent()).to_dynamodb()
    assert reads == {
        "TransactItems": [{"Get": {"TableName": "ExchangeRates", "Key": {"PK": {"S": "RATE#a#b"}}}}]
    }


def lines(count: int) -> list[OrderLine]:
    order = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")
    return [OrderLine(user="a", order=order, line=each, sku="s") for each in range(count)]


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (partial(transaction), "it has no requests"),
        (lambda: transaction(*(each.put() for each in lines(101))), "it has 101 requests, and DynamoDB takes 100. Split it"),
        (lambda: transaction(RATE.put(), Rate.get(base="a", target="b")), "it mixes reads and writes"),
        (lambda: transaction(Rate.query(base="a", target="b")), "not every request can be part of one"),  # type: ignore[arg-type]
        (lambda: transaction(RATE.put(), Rate.delete(base="USD", target="EUR")), "two of its requests are for the same item"),
        (lambda: transaction(RATE.put(), token=""), "its token is not usable. Pass a str of 1 to 36 characters, not ''"),
        (lambda: transaction(RATE.put()).idempotent("x" * 37), "Pass a str of 1 to 36"),
    ],
)  # fmt: skip
def test_an_invalid_transaction_is_refused(build: Any, text: str) -> None:
    with pytest.raises(TransactionInvalid, match=text):
        build()


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: batch([RATE.create()]), "has a condition, which batches do not take"),
        (lambda: batch([RATE.put().where(Rate.f.rate > 1)]), "has a condition"),
        (lambda: batch([Rate.delete(base="a", target="b").where(Rate.f.rate > 1)]), "has a condition"),
        (lambda: batch([TICKET.put()]), "has a condition"),
        (lambda: batch([User.delete(name="a")]), "unique fields, whose guard items a batch cannot write"),
        (lambda: batch([User(name="a").create()]), "unique fields"),
        (lambda: batch([Rate.update(base="a", target="b")]), "cannot be part of one"),  # type: ignore[list-item]
        (lambda: batch([RATE]), "cannot be part of one"),  # type: ignore[list-item]
    ],
)  # fmt: skip
def test_an_invalid_batch_is_refused(build: Any, text: str) -> None:
    with pytest.raises(BatchInvalid, match=text):
        build()


def test_a_batch_is_shown_as_the_calls_that_it_makes() -> None:
    many = lines(130)
    gets = batch(
        OrderLine.get(user="a", order=each.order, line=each.line) for each in [*many, many[0]]
    )
    calls = gets.to_dynamodb()
    assert [len(call["RequestItems"]["Market"]["Keys"]) for call in calls] == [100, 30]
    puts = batch([each.put() for each in [*many[:60], many[0]]]).to_dynamodb()
    assert [len(call["RequestItems"]["Market"]) for call in puts] == [25, 25, 11]
    mixed = batch(
        [
            RATE.put(),
            Device.delete(name="a", serial="b"),
            Rate.get(base="USD", target="EUR").consistent(),
            RATE.put().expiring_in(timedelta(1)),
            RATE.put(),
        ]
    )
    expiring = {**ITEM, "ttl": {"N": "1704153600"}}
    assert mixed.to_dynamodb(now=NOW) == [
        {
            "RequestItems": {
                "ExchangeRates": [{"PutRequest": {"Item": ITEM}}],
                "Accounts": [
                    {"DeleteRequest": {"Key": {"pk": {"S": "USER#a"}, "sk": {"S": "DEVICE#b"}}}}
                ],
            }
        },
        {
            "RequestItems": {
                "ExchangeRates": {"ConsistentRead": True, "Keys": [{"PK": {"S": "RATE#USD#EUR"}}]}
            }
        },
        {"RequestItems": {"ExchangeRates": [{"PutRequest": {"Item": expiring}}]}},
        {"RequestItems": {"ExchangeRates": [{"PutRequest": {"Item": ITEM}}]}},
    ]
    assert repr(batch([RATE.put()])).startswith("<batch of 1: <put Rate(")
    assert batch([]).to_dynamodb() == []


def test_times_can_be_added_to_now() -> None:
    hour = timedelta(hours=1)
    assert (now + hour - hour) == now
    assert repr(now + hour) == "now + 1:00:00"
    assert repr(now - hour) == "now - 1:00:00"
