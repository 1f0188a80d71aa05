"""Reads as values: the keys they name, and the requests they become."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.errors import (
    FieldUnknown,
    KeyfoldError,
    KeyPartInvalid,
    KeyRangeInvalid,
    MissingKeyPart,
    PathInvalid,
    QueryInvalid,
    ValueInvalid,
)
from keyfold.model import Entity, Index, Key, Query, Table, UnixTime, attr, now
from tests.unit.model.shop import (
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Rate,
    RateSummary,
    Status,
    Ticket,
    by_base,
    by_id,
    by_key,
    by_owner,
    by_status,
    desk,
    market,
    rates,
    recent,
)
from tests.unit.model.spelling import spell

NOW = datetime(2024, 1, 1, tzinfo=UTC)
ORDER = OrderId("O#01JZ10H7X367VB2NF4YQ973DHW")

by_number = Index("ByNumber", key=Key("group", ("number", "at")))
by_bytes = Index("ByBytes", key=Key("group", "data"))
numbers = Table("Numbers", key=Key("id"), indexes=[by_number, by_bytes])


class Numbered(Entity, table=numbers, key="{id}"):
    id: int
    group: str
    number: Decimal
    at: UnixTime
    data: bytes = b"x"


def keys_of(query: Query[Any], now: datetime = NOW) -> str:
    return spell(query.to_dynamodb(now=now), "KeyConditionExpression")


def test_a_get_of_a_table_takes_its_whole_key() -> None:
    get = market.get(pk="U#ada#O", sk=ORDER)
    assert get.to_dynamodb() == {
        "TableName": "Market",
        "Key": {"pk": {"S": "U#ada#O"}, "sk": {"S": ORDER}},
    }
    assert get.consistent().to_dynamodb()["ConsistentRead"] is True
    with pytest.raises(MissingKeyPart, match="needs 'sk'"):
        market.get(pk="U#ada#O")
    with pytest.raises(MissingKeyPart, match="needs 'pk'"):
        market.get(sk=ORDER)
    with pytest.raises(FieldUnknown):
        market.get(pk="U#ada#O", sk=ORDER, id="1")
    with pytest.raises(QueryInvalid, match="a key of type S; got 1"):
        market.get(pk="U#ada#O", sk=1)


def test_a_get_names_the_key() -> None:
    get = Rate.get(base="USD", target="EUR")
    assert get.to_dynamodb() == {"TableName": "ExchangeRates", "Key": {"PK": {"S": "RATE#USD#EUR"}}}
    assert repr(get) == "<Get Rate PK='RATE#USD#EUR'>"
    assert get.consistent().to_dynamodb()["ConsistentRead"] is True
    assert get.only(RateSummary).to_dynamodb() == {
        "TableName": "ExchangeRates",
        "Key": {"PK": {"S": "RATE#USD#EUR"}},
        "ProjectionExpression": "PK, #0, Rate, #1",
        "ExpressionAttributeNames": {"#0": "Base", "#1": "ttl"},
    }


def test_requests_are_frozen() -> None:
    for request in (Rate.get(base="USD", target="EUR"), Rate.query(by_base, base="USD")):
        with pytest.raises(FrozenInstanceError):
            request.is_consistent = True  # type: ignore[misc]


def test_a_query_is_shown_as_it_is_sent() -> None:
    query = (
        Rate.query(by_base, base="USD")
        .where(Rate.f.stale.eq(False) & (Rate.f.expires > now))
        .descending()
        .limit(5)
    )
    assert query.to_dynamodb(now=NOW) == {
        "TableName": "ExchangeRates",
        "IndexName": "BaseCurrencyIndex",
        "KeyConditionExpression": "#0 = :0",
        "FilterExpression": "Stale = :1 AND #1 > :2",
        "ScanIndexForward": False,
        "Limit": 5,
        "ExpressionAttributeNames": {"#0": "Base", "#1": "ttl"},
        "ExpressionAttributeValues": {
            ":0": {"S": "USD"},
            ":1": {"BOOL": False},
            ":2": {"N": "1704067200"},
        },
    }
    assert repr(query) == (
        "<Query Rate in ExchangeRates.BaseCurrencyIndex where Base = 'USD', filtered by "
        "Stale = False AND ttl > now, descending, 5 per page>"
    )


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        (Order.query(user="ada"), "pk = U#ada#O AND begins_with(sk, O#)"),
        (Order.query(user="ada", order=ORDER), f"pk = U#ada#O AND sk = {ORDER}"),
        (OrderLine.query(user="ada", order=ORDER), f"pk = U#ada#O AND begins_with(sk, {ORDER}#)"),
        (OrderLine.query(user="ada", order=ORDER, line=7), f"pk = U#ada#O AND sk = {ORDER}#007"),
        (Order.query(by_key, order=ORDER), f"sk = {ORDER} AND begins_with(pk, U#)"),
        (Order.query(by_key, order=ORDER, user="ada"), f"sk = {ORDER} AND pk = U#ada#O"),
        (Order.query(by_id, id="x"), "id = x"),
        (Order.query(by_id, id="x", tp="order"), "id = x AND tp = order"),
        (Ticket.query(team="a"), "pk = TEAM#a AND begins_with(sk, TICKET#)"),
        (Ticket.query(team="a").starting_with("0"), "pk = TEAM#a AND begins_with(sk, TICKET#0)"),
        (Ticket.query(team="a").since(7), "pk = TEAM#a AND sk BETWEEN TICKET#00007 AND TICKET$"),
        (
            Ticket.query(team="a").between(7, 9),
            "pk = TEAM#a AND sk BETWEEN TICKET#00007 AND TICKET#00009",
        ),
        (
            Ticket.query(by_status, status=Status.OPEN, team="a").since(NOW),
            "gsi1pk = STATUS#open#a AND gsi1sk >= 2024-01-01T00:00:00.000000Z",
        ),
        (Ticket.query(by_owner, owner="ada").until(3), "owner = ada AND priority <= 3"),
        (Ticket.query(by_owner, owner="ada", priority=3), "owner = ada AND priority = 3"),
        (Ticket.query(recent, team="a").starting_with("x"), "pk = TEAM#a AND begins_with(changed, x)"),
        (Numbered.query(id=5), "id = 5"),
        (Numbered.query(by_number, group="g").between(1, 2), "group = g AND number BETWEEN 1 AND 2"),
        (
            Numbered.query(by_number, group="g", number=Decimal("1.50")).until(NOW),
            "group = g AND number = 1.5 AND at <= 1704067200",
        ),
        (Numbered.query(by_bytes, group="g").since(b"a"), "group = g AND data >= B:b'a'"),
        (Numbered.query(by_bytes, group="g").starting_with(b"a"), "group = g AND begins_with(data, B:b'a')"),
        (market.query(pk="U#ada#O"), "pk = U#ada#O"),
        (market.query(by_key, sk=ORDER, pk="U#ada#O"), f"sk = {ORDER} AND pk = U#ada#O"),
        (market.query(pk="x").starting_with("O#"), "pk = x AND begins_with(sk, O#)"),
        (market.query(pk="x").between("a", "b"), "pk = x AND sk BETWEEN a AND b"),
        (numbers.query(by_number, group="g", number=5), "group = g AND number = 5"),
    ],
)  # fmt: skip
def test_fields_become_key_conditions(query: Query[Any], keys: str) -> None:
    assert keys_of(query) == keys


def test_a_time_limits_typed_ids() -> None:
    june = datetime(2025, 6, 1, tzinfo=UTC)
    low, high = OrderId.range(since=june, until=june)
    assert keys_of(Order.query(user="ada").since(june)) == (
        f"pk = U#ada#O AND sk BETWEEN {low} AND O$"
    )
    assert keys_of(Order.query(user="ada").between(june, june)) == (
        f"pk = U#ada#O AND sk BETWEEN {low} AND {high}"
    )
    lines = OrderLine.query(user="ada").until(june)
    assert keys_of(lines) == f"pk = U#ada#O AND sk BETWEEN O# AND {high}$"


def test_a_range_up_to_now_is_resolved_when_it_runs() -> None:
    week = timedelta(days=7)
    tickets = Ticket.query(by_status, status=Status.OPEN, team="a").since(now - week)
    assert keys_of(tickets, NOW + week).endswith("gsi1sk >= 2024-01-01T00:00:00.000000Z")
    assert keys_of(tickets, NOW + 2 * week).endswith("gsi1sk >= 2024-01-08T00:00:00.000000Z")
    assert "gsi1sk >= {now - 7 days, 0:00:00}" in repr(tickets)
    ids = Order.query(user="ada").until(now)
    assert keys_of(ids) == f"pk = U#ada#O AND sk BETWEEN O# AND {OrderId.range(until=NOW)[1]}"
    held = Numbered.query(by_number, group="g", number=Decimal(1)).between(now - week, now)
    assert keys_of(held, NOW).endswith("at BETWEEN 1703462400 AND 1704067200")


REFUSED: list[tuple[Any, type[KeyfoldError], str]] = [
    (lambda: Rate.get(base="USD"), MissingKeyPart, "needs 'target'; got base"),
    (partial(Rate.get), MissingKeyPart, "got nothing"),
    (lambda: Rate.get(base="USD", target=None), MissingKeyPart, "needs 'target'"),
    (lambda: Rate.get(base="USD", target="EUR", rate=1), FieldUnknown, "unknown field 'rate'"),
    (lambda: Rate.get(base="US#D", target="EUR"), KeyPartInvalid, "must not contain '#'"),
    (lambda: Rate.get(base=5, target="EUR"), KeyPartInvalid, "Give a str, not int"),
    (lambda: Numbered.get(id=[5]), ValueInvalid, r"id: \[5\] is not of the key's type"),
    (lambda: Numbered.get(id="five"), KeyPartInvalid, "Numbered: part 'id' .* got 'five'"),
    (lambda: Order.get(user="a", order="x" * 99), KeyPartInvalid, "Order: part 'order' .* got 'x{60}'… .99 characters."),
    (lambda: Order.update(user="a", order="P#1"), KeyPartInvalid, "is of type OrderId; got 'P#1'"),
    (lambda: Ticket.delete(team="a", number="1.5"), KeyPartInvalid, "Ticket: part 'number'"),
    (lambda: Ticket.query(by_status, status="new", team="a"), KeyPartInvalid, "is of type Status; got 'new'"),
    (lambda: Rate.query(by_base), MissingKeyPart, "Rate by BaseCurrencyIndex: .* needs 'base'"),
    (lambda: Rate.query(by_base, base=""), ValueInvalid, "must not be empty"),
    (lambda: Rate.query(by_base, base="USD", rate=1), FieldUnknown, "known fields: base"),
    (lambda: Rate.query(by_key, base="USD"), QueryInvalid, "ExchangeRates: it has no index 'ReverseIndex'"),
    (lambda: Rate.scan(by_key), QueryInvalid, "It has BaseCurrencyIndex"),
    (lambda: rates.query(by_key, sk="x"), QueryInvalid, "it has no index"),
    (lambda: rates.scan(by_key), QueryInvalid, "it has no index"),
    (lambda: OrderLine.query(by_id, id="x"), QueryInvalid, "it is never in index IdLookupIndex"),
    (lambda: OrderLine.query(user="ada", line=3), MissingKeyPart, "needs 'order'"),
    (lambda: market.query(sk="x"), MissingKeyPart, "needs 'pk'"),
    (lambda: market.query(user="x"), FieldUnknown, "known fields: pk, sk"),
    (lambda: numbers.query(by_number, group="g", at=1), MissingKeyPart, "needs 'number'"),
    (lambda: numbers.query(id="x"), QueryInvalid, "'id' is a key of type N; got 'x'"),
    (lambda: numbers.query(id=float("nan")), ValueInvalid, "this float cannot be stored"),
    (lambda: Ticket.query(team="a", number=1).since(2), QueryInvalid, "no part is left"),
    (lambda: Ticket.query(team="a").since(1).until(2), QueryInvalid, r"Merge the two with between\(\)"),
    (lambda: Ticket.query(team="a").starting_with("0").since(2), QueryInvalid, "already has a range"),
    (lambda: Ticket.query(team="a").since("x"), KeyPartInvalid, "number"),
    (lambda: Ticket.query(team="a").since(None), QueryInvalid, "got None"),
    (lambda: Ticket.query(team="a").between(9, 7), KeyRangeInvalid, "Swap the two"),
    (lambda: Ticket.query(team="a").starting_with("x"), KeyPartInvalid, "has no value with this prefix"),
    (lambda: Ticket.query(by_owner, owner="a").between(9, 7), QueryInvalid, "Swap the two"),
    (lambda: Ticket.query(by_owner, owner="a").since("x"), KeyPartInvalid, "part 'priority'"),
    (lambda: Ticket.query(by_owner, owner="a").since([1]), ValueInvalid, r"priority: \[1\] is not of"),
    (lambda: Ticket.query(by_owner, owner="a").since(now), ValueInvalid, "not of the key's type"),
    (lambda: Ticket.query(by_owner, owner="a").starting_with("1"), QueryInvalid, "cannot be a prefix"),
    (lambda: market.query(pk="x").between("b", "a"), QueryInvalid, "Swap the two"),
    (lambda: Ticket.query(team="a").limit(0), QueryInvalid, r"limit\(\): got 0"),
    (lambda: Ticket.query(team="a").limit("5"), QueryInvalid, r"limit\(\): got '5'"),  # type: ignore[arg-type]
    (lambda: Ticket.query(team="a").max_reads(0), QueryInvalid, r"max_reads\(\): got 0"),
    (lambda: Ticket.query(team="a").where(True), QueryInvalid, "a condition is expected, but got True"),  # type: ignore[arg-type]
    (lambda: Ticket.query(by_status, status=Status.OPEN, team="a").consistent(), QueryInvalid, "global index"),
    (lambda: desk.scan(by_status).consistent(), QueryInvalid, "global index"),
    (lambda: rates.query(PK="x").only(RateSummary), QueryInvalid, "needs an entity"),
    (lambda: Rate.query(base="USD", target="EUR").only(Wrong), QueryInvalid, "Rate has no field 'nmae'"),
    (lambda: OrderWithLines.get(user="ada", ordr=ORDER), FieldUnknown, "unknown field 'ordr'"),
    (lambda: OrderWithLines.get(order=ORDER), MissingKeyPart, "needs 'user'"),
    (lambda: Ticket.query(team="a").where(Rate.f.stale.eq(True)), QueryInvalid, "Stale is a field of Rate, but the request is for Ticket"),
    (lambda: Ticket.scan().where(~Rate.f.stale.eq(True)), QueryInvalid, r"Use Ticket\.f"),
    (lambda: Ticket.update(team="a", number=1).where(Ticket.f.title.eq(Rate.f.base)), QueryInvalid, "Base is a field of Rate"),
    (lambda: Ticket.delete(team="a", number=1).where(Rate.f.base.size > 1), QueryInvalid, "Base is a field of Rate"),
    (lambda: Ticket.check(Rate.f.base.exists(), team="a", number=1), QueryInvalid, "Base is a field of Rate"),
    (lambda: OrderLine.f.line, PathInvalid, "delete the entity and put another, in a transaction"),
]  # fmt: skip


class Wrong(BaseModel):
    nmae: str


def test_text_is_accepted_for_a_typed_part() -> None:
    text = str(ORDER)
    assert Order.get(user="ada", order="O#" + text[2:].lower()) == Order.get(
        user="ada", order=ORDER
    )
    assert Ticket.get(team="a", number="7") == Ticket.get(team="a", number=7)
    assert Ticket.delete(team="a", number="7") == Ticket.delete(team="a", number=7)
    update = Ticket.update(team="a", number="7")
    assert update == Ticket.update(team="a", number=7)
    assert Numbered.get(id="5") == Numbered.get(id=5)
    open_ones = Ticket.query(by_status, status="open", team="a")
    assert open_ones == Ticket.query(by_status, status=Status.OPEN, team="a")
    assert open_ones.since("2024-01-01T00:00:00Z") == open_ones.since(NOW)
    assert Order.query(user="ada").since(text) == Order.query(user="ada").since(ORDER)
    with_lines = OrderWithLines.get(user="ada", order=text)
    assert with_lines == OrderWithLines.get(user="ada", order=ORDER)
    assert type(with_lines.parts["order"]) is OrderId


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_an_invalid_query_is_refused_when_it_is_built(
    build: Any, kind: type[KeyfoldError], text: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        build()
    assert str(caught.value).endswith(f"[{kind.code}]")


def test_a_query_for_every_entity_may_filter_by_any_field() -> None:
    query = market.query(pk="x").where(Order.f.total > 1)
    assert query.to_dynamodb()["FilterExpression"] == "#0 > :1"


def test_local_indexes_and_the_table_can_be_read_consistently() -> None:
    assert Ticket.query(recent, team="a").consistent().to_dynamodb()["ConsistentRead"] is True
    assert Ticket.query(team="a").consistent().to_dynamodb()["ConsistentRead"] is True
    assert desk.scan(recent).consistent().to_dynamodb()["ConsistentRead"] is True


def test_a_scan_is_shown_as_it_is_sent() -> None:
    scan = Ticket.scan().where(Ticket.f.title.begins_with("a")).limit(3)
    assert scan.to_dynamodb() == {
        "TableName": "Desk",
        "FilterExpression": "begins_with(title, :0)",
        "Limit": 3,
        "ExpressionAttributeValues": {":0": {"S": "a"}},
    }
    assert repr(scan) == "<Scan Ticket in Desk, filtered by begins_with(title, 'a'), 3 per page>"


def test_requests_made_from_a_query_show_that_query() -> None:
    query = Ticket.query(team="a")
    shown = "<Query Ticket in Desk where pk = 'TEAM#a' and sk begins with 'TICKET#'"
    assert repr(query.first()) == f"<first of {shown}, 1 per page>>"
    assert query.first().to_dynamodb()["Limit"] == 1
    assert repr(query.count()) == f"<count of {shown}>>"
    assert query.count().to_dynamodb() == query.to_dynamodb()
    chain = query.first().then(lambda ticket: Ticket.get(team=ticket.team, number=1))
    assert repr(chain) == f"<chain from <first of {shown}, 1 per page>>>"
    assert chain.to_dynamodb() == query.first().to_dynamodb()
    collection = OrderWithLines.get(user="ada", order=ORDER)
    assert repr(collection) == (
        f"<get OrderWithLines by <Query items in Market where pk = 'U#ada#O' and sk begins with "
        f"'{ORDER}'>>"
    )
    assert collection.consistent().to_dynamodb()["ConsistentRead"] is True
    assert repr(Ticket.query(by_owner, owner="a").only(Title)).startswith("<Query Title of Ticket")
    assert repr(Ticket.query(by_owner, owner="a").refs()).startswith("<Query refs of Ticket")


class Title(BaseModel):
    title: str


def test_only_also_requests_the_key_and_the_type_attribute() -> None:
    table = Table("Tab", key=Key("pk"), type_attribute="kind")

    class Typed(Entity, table=table, key="{id}"):
        id: str
        name: str = attr("n")
        more: str = ""

    class Name(BaseModel):
        name: str

    request = Typed.get(id="1").only(Name).to_dynamodb()
    assert request["ProjectionExpression"] == "pk, n, kind"
