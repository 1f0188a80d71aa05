"""Updates as values: what they change, and the index keys that follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, NotRequired, TypeVar

import pytest
from pydantic import BaseModel, Field, computed_field
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

from keyfold.errors import (
    IndexPartsUnknown,
    KeyFieldChanged,
    KeyfoldError,
    KeyPartInvalid,
    PathInvalid,
    UpdateInvalid,
    ValueInvalid,
)
from keyfold.model import Entity, Expiry, Index, Key, Table, Update, attr, now
from keyfold.model._paths import FieldPath
from tests.unit.model.shop import Address, Order, OrderId, Rate, Status, Ticket, User
from tests.unit.model.spelling import spell

T = TypeVar("T")

NOW = datetime(2024, 1, 1, tzinfo=UTC)
f = Ticket.f


def start() -> Update[Ticket]:
    return Ticket.update(team="a", number=7)


def changes(update: Update[Any], moment: datetime = NOW) -> str:
    return spell(update.to_dynamodb(now=moment), "UpdateExpression")


def condition(update: Update[Any]) -> str:
    return spell(update.to_dynamodb(now=NOW), "ConditionExpression")


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (start().set(f.title, "x"), "SET title = x"),
        (start().set(f.title, f.owner), "SET title = owner"),
        (start().set(f.address.city, "Bonn"), "SET address.c = Bonn"),
        (start().set(f.addresses[2].zip, "1"), "SET addresses[2].zip = 1"),
        (start().set(f.counts["x y"], 1), "SET counts.x y = 1"),
        (start().set(f.steps[0], "x"), "SET steps[0] = x"),
        (start().set(f.address, Address(city="Bonn")), "SET address = M:{'c': {'S': 'Bonn'}, 'size': {'N': '0'}}"),
        (start().set(f.tags, {"b", "a"}), "SET tags = SS:['a', 'b']"),
        (start().set(f.tags, set()), "REMOVE tags"),
        (start().set(f.changed, None), "REMOVE changed"),
        (start().set_if_absent(f.changed, "x"), "SET changed = if_not_exists(changed, x)"),
        (start().remove(f.changed), "REMOVE changed"),
        (start().remove(f.steps[1]), "REMOVE steps[1]"),
        (start().remove(f.address.zip), "REMOVE address.zip"),
        (start().remove(f.tags), "REMOVE tags"),
        (start().increment(f.watchers), "SET watchers = watchers + 1"),
        (start().increment(f.watchers, -2), "SET watchers = watchers + -2"),
        (start().add(f.watchers, 3), "ADD watchers 3"),
        (start().add(f.tags, {"a"}), "ADD tags SS:['a']"),
        (start().add(f.counts.x, 3), "ADD counts.x 3"),
        (start().delete(f.tags, {"a"}), "DELETE tags SS:['a']"),
        (start().append(f.steps, "a", "b"), "SET steps = list_append(if_not_exists(steps, L:[]), L:[{'S': 'a'}, {'S': 'b'}])"),
        (
            start().set(f.title, "x").remove(f.changed).add(f.watchers, 1).delete(f.tags, {"a"}).set(f.priority, 2),
            "SET title = x, priority = 2 REMOVE changed ADD watchers 1 DELETE tags SS:['a']",
        ),
    ],
)  # fmt: skip
def test_every_action_becomes_its_clause(update: Update[Any], text: str) -> None:
    found = changes(update)
    # Every update also increments the version.
    for version in (", version 1", " ADD version 1", "ADD version 1 "):
        found = found.replace(version, "")
    assert found == text


def test_an_update_is_shown_as_it_is_sent() -> None:
    update = Rate.update(base="USD", target="EUR").set(Rate.f.stale, True)
    update = update.where(Rate.f.stale.eq(False))
    assert update.to_dynamodb(now=NOW) == {
        "TableName": "ExchangeRates",
        "Key": {"PK": {"S": "RATE#USD#EUR"}},
        "UpdateExpression": "SET Stale = :0",
        "ConditionExpression": "(attribute_exists(PK) AND Stale = :1) AND NOT (#0 <= :2)",
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        "ExpressionAttributeNames": {"#0": "ttl"},
        "ExpressionAttributeValues": {
            ":0": {"BOOL": True},
            ":1": {"BOOL": False},
            ":2": {"N": "1704067200"},
        },
    }
    assert repr(update) == "<update Rate PK='RATE#USD#EUR': Stale>"
    assert repr(update.expiring_in(timedelta(1))).endswith(": Stale, expiry>")


def test_an_update_increments_the_version() -> None:
    assert changes(start().set(f.title, "x")) == "SET title = x ADD version 1"


def test_now_is_resolved_when_the_update_runs() -> None:
    update = Rate.update(base="a", target="b").set(Rate.f.at, now).expiring_in(timedelta(hours=1))
    assert changes(update) == "SET Timestamp = 1704067200, ttl = 1704070800"
    later = NOW + timedelta(days=1)
    assert changes(update, later) == "SET Timestamp = 1704153600, ttl = 1704157200"


# Index keys follow.


def test_an_index_key_follows_the_field_that_it_is_made_from() -> None:
    assert changes(start().set(f.status, Status.DONE)) == (
        "SET status = done, gsi1pk = STATUS#done#a ADD version 1"
    )
    assert changes(start().set(f.opened, NOW)) == (
        "SET opened = 2024-01-01T00:00:00.000000Z, gsi1sk = 2024-01-01T00:00:00.000000Z "
        "ADD version 1"
    )


@pytest.mark.parametrize("update", [start().set(f.status, None), start().remove(f.status)])
def test_an_entity_leaves_a_sparse_index_with_an_optional_part(update: Update[Any]) -> None:
    assert changes(update) == "REMOVE status, gsi1pk ADD version 1"


by_place = Index("ByPlace", key=Key("place"))
towns = Table("Towns", key=Key("pk"), indexes=[by_place], ttl="ttl")


class Town(Entity, table=towns, key="TOWN#{id}", indexes={by_place: "{country}#{region}#{id}"}):
    id: str
    country: str
    region: str | None = None
    note: str = ""
    people: int = 0
    ttl: Expiry | None = None


def test_unknown_parts_must_be_passed() -> None:
    update = Town.update(id="1").set(Town.f.country, "DE")
    with pytest.raises(IndexPartsUnknown) as caught:
        update.to_dynamodb()
    assert caught.value.fields == ("region",)
    assert str(caught.value) == (
        "Town: the index key 'place' is also built from region. Use update() of an entity that you "
        "have read, or pass the current values with knowing(region=…). [index-parts-unknown]"
    )


def test_passed_parts_become_conditions() -> None:
    update = Town.update(id="1").set(Town.f.country, "DE").knowing(region="NRW")
    assert changes(update) == "SET country = DE, place = DE#NRW#1"
    assert condition(update) == (
        "(attribute_exists(pk) AND region = NRW) AND NOT (ttl <= 1704067200)"
    )
    without = Town.update(id="1").set(Town.f.country, "DE").knowing(region=None)
    assert changes(without) == "SET country = DE REMOVE place"
    assert "attribute_not_exists(region)" in condition(without)
    # Leaving an index needs no unknown parts.
    assert changes(Town.update(id="1").set(Town.f.region, None)) == "REMOVE region, place"
    both = Town.update(id="1").set(Town.f.country, "DE").set(Town.f.region, "NRW")
    assert changes(both) == "SET country = DE, region = NRW, place = DE#NRW#1"


@pytest.mark.parametrize(
    ("build", "kind", "text"),
    [
        (lambda: start().set(f.team, "b"), KeyFieldChanged, "Delete the old item and put the new one in a transaction"),
        (lambda: start().remove(f.number), KeyFieldChanged, "Ticket.number"),
        (lambda: start().increment(f.number), KeyFieldChanged, "a key cannot change"),
        (lambda: start().add(f.number, 1), KeyFieldChanged, "a key cannot change"),
        (lambda: Order.update(user="a", order=OrderId.new()).set(Order.f.user, "b"), PathInvalid, "is stored only as part of the item's key"),
        (lambda: start().set(f.version, 9), UpdateInvalid, "is the Version field, which every write increments"),
        (lambda: start().remove(f.title), UpdateInvalid, "Ticket.f.title is required"),
        (lambda: start().remove(f.address.city), UpdateInvalid, "Ticket.f.address.city is required"),
        (lambda: start().set(f.title, None), ValueInvalid, "Ticket.f.title: it is required; got None"),
        (lambda: start().set(f.title, 5), ValueInvalid, "Input should be a valid string; got 5"),
        (lambda: start().set(f.watchers, 1.5), ValueInvalid, "got a number with a fractional part; got 1.5"),
        (lambda: start().set(f.status, "lost"), ValueInvalid, "Input should be 'open' or 'done'; got 'lost'"),
        (lambda: start().set(f.owner, ""), ValueInvalid, "must not be empty"),
        (lambda: start().set(f.title, "x").set(f.title, "y"), UpdateInvalid, "title and title overlap"),
        (lambda: start().set(f.address, Address(city="x")).set(f.address.zip, "1"), UpdateInvalid, "overlap"),
        (lambda: start().remove(f.steps[0]).append(f.steps, "x"), UpdateInvalid, "overlap"),
        (lambda: Town.update(id="1").set(Town.f.ttl, NOW).expiring_in(timedelta(1)), UpdateInvalid, "overlap"),
        (lambda: Town.update(id="1").expiring_in(timedelta(1)).set(Town.f.ttl, NOW), UpdateInvalid, "overlap"),
        (lambda: start().expiring_in(timedelta(1)), UpdateInvalid, "Declare one of type Expiry"),
        (lambda: start().increment(f.title), PathInvalid, "is for numbers"),
        (lambda: start().add(f.steps, ["x"]), PathInvalid, "is for numbers and sets"),
        (lambda: start().add(f.tags, set()), ValueInvalid, "an empty set"),
        (lambda: start().delete(f.steps, ["x"]), PathInvalid, "is for members of sets"),
        (lambda: start().append(f.tags, "x"), PathInvalid, "is for lists"),
        (lambda: start().append(f.steps, 5), ValueInvalid, "0: Input should be a valid string; got"),
        (lambda: start().set_if_absent(f.status, Status.OPEN), UpdateInvalid, r"gsi1pk is made from status, so its new value must be known in advance; got set_if_absent\(\)"),
        (lambda: start().set(f.opened, now), UpdateInvalid, "must be known in advance; got a value computed at run time"),
        (lambda: Town.update(id="1").set(Town.f.country, Town.f.note), UpdateInvalid, "must be known in advance"),
        (lambda: Town.update(id="1").set(Town.f.country, "a#b").knowing(region="x").to_dynamodb(), KeyPartInvalid, "must not contain"),
        (lambda: Town.update(id="1").knowing(country=5), PathInvalid, "is not of its type"),
        (lambda: User.update(name="a").set_if_absent(User.f.email, "x"), UpdateInvalid, "email is unique"),
        (lambda: User.update(name="a").increment(User.f.number), UpdateInvalid, "number is unique"),
        (lambda: User.update(name="a").add(User.f.number, 1), UpdateInvalid, "number is unique"),
        (lambda: User.update(name="a").set(User.f.email, User.f.note), UpdateInvalid, "email is unique"),
        (lambda: start().set(Rate.f.rate, Decimal(1)), UpdateInvalid, "Rate.f.rate is a field of another entity"),
        (lambda: start().set("title", "x"), UpdateInvalid, "'title' is not a field"),  # type: ignore[arg-type]
        (lambda: start().to_dynamodb(), UpdateInvalid, "the update changes nothing"),
        (lambda: Sum.update(id="1").set(Sum.f.a, 1), UpdateInvalid, "because of the stored computed field total, which depends on all fields"),
    ],
)  # fmt: skip
def test_an_invalid_change_is_refused(build: Any, kind: type[KeyfoldError], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        build()
    assert str(caught.value).endswith(f"[{kind.code}]")


sums = Table("Sums", key=Key("pk"))


class Sum(Entity, table=sums, key="{id}"):
    id: str
    a: int = 0

    @computed_field
    @property
    def total(self) -> int:
        return self.a + 1


def test_a_value_that_changes_later_does_not_reach_an_update() -> None:
    steps, tags, address = ["a"], {"a"}, Address(city="Bonn")
    update = (
        start()
        .set(f.steps, steps)
        .add(f.tags, tags)
        .set(f.address, address)
        .append(f.addresses, address)
        .set(f.counts, counts := {"a": 1})
    )
    before = update.to_dynamodb(now=NOW)
    steps.append("b")
    tags.add("b")
    counts["b"] = 2
    address.city = "Köln"
    assert update.to_dynamodb(now=NOW) == before


def test_nested_fields_use_their_stored_names() -> None:
    table = Table("Tab", key=Key("pk"), naming="camel")

    class Part(BaseModel):
        part_number: int
        price: Decimal = attr("p")

    class Machine(Entity, table=table, key="{id}"):
        id: str
        main_part: Part

    update = Machine.update(id="1").set(Machine.f.main_part.part_number, 2)
    update = update.set(Machine.f.main_part.price, Decimal(5))
    assert changes(update) == "SET mainPart.partNumber = 2, mainPart.p = 5"


@dataclass
class Shape:
    width: int
    colour: str = "red"
    holes: list[int] = field(default_factory=list[int])


@pydantic_dataclass
class Pin(Generic[T]):
    at: T
    colour: str = Field(default="red")


class Extras(TypedDict):
    size: int
    note: NotRequired[str]
    marks: NotRequired[Annotated[set[int], Field(min_length=1)]]


class Marker(Entity, table=Table("Markers", key=Key("pk")), key="{id}"):
    id: str
    shape: Shape
    pin: Pin[int]
    extras: Extras


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (Marker.f.shape.colour, "REMOVE shape.colour"),
        (Marker.f.shape.holes, "REMOVE shape.holes"),
        (Marker.f.pin.colour, "REMOVE pin.colour"),
        (Marker.f.extras.note, "REMOVE extras.note"),
        (Marker.f.extras.marks, "REMOVE extras.marks"),
    ],
)
def test_what_a_record_can_be_read_without_can_be_removed(path: FieldPath, text: str) -> None:
    update = Marker.update(id="1").remove(path)
    assert changes(update) == text
    whole = Marker(
        id="1", shape=Shape(1, "blue", [1]), pin=Pin(1, "blue"), extras={"size": 1, "note": "x", "marks": {2}}
    )  # fmt: skip
    schema = Marker.keyfold_schema()
    item = schema.encode(whole)
    outer, inner = text.removeprefix("REMOVE ").split(".")
    del item[outer]["M"][inner]
    assert schema.decode(item) != whole


@pytest.mark.parametrize(
    "path", [Marker.f.shape.width, Marker.f.pin.at, Marker.f.extras["size"], Marker.f.shape]
)
def test_what_a_record_needs_cannot_be_removed(path: FieldPath) -> None:
    with pytest.raises(UpdateInvalid, match="is required"):
        Marker.update(id="1").remove(path)
