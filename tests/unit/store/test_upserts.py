"""Upserts: update(…).or_create(…) updates an entity or creates it, in one call."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, Self

import pytest
from pydantic import ValidationError

from keyfold.errors import (
    ConditionFailed,
    FieldUnknown,
    IndexPartsUnknown,
    KeyFieldChanged,
    NotFound,
    OutOfBounds,
    TransactionFailed,
    UpdateInvalid,
    ValueInvalid,
)
from keyfold.model import (
    CreatedAt,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    UpdatedAt,
    Version,
    attr,
    computed_field,
    model_validator,
    now,
    part,
    transaction,
)
from keyfold.requests import Upsert
from keyfold.testing import Clock
from tests.unit.model.shop import User
from tests.unit.model.spelling import spell
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

by_place = Index("ByPlace", key=Key("place_pk", "place_sk"))
by_day = Index("ByDay", key=Key("day", "created"))
hits = Table("Hits", key=Key("pk"), indexes=[by_place, by_day], ttl="ttl", type_attribute="type")


class Counter(Entity, table=hits, key="COUNTER#{name}"):
    name: str = part()
    count: int = 0


class Visit(
    Entity,
    table=hits,
    key="VISIT#{page}",
    indexes={by_place: ("{country}#{page}", "{city}"), by_day: ("{day}", "{created_at}")},
):
    page: str = part()
    country: str
    city: str | None = None
    day: str = "mon"
    count: int = attr(le=3)
    start: int = 10
    price: Decimal = Decimal(1)
    tags: set[str] = attr(default_factory=set)
    steps: list[str] = attr(default_factory=lambda: ["begin"])
    seen: str | None = None
    last: Expiry | None = None
    created_at: CreatedAt | None = None
    updated_at: UpdatedAt | None = None
    version: Version = 0
    ttl: Expiry | None = None


v = Visit.f


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    return open_store(hits)


def visit() -> Upsert[Visit]:
    return Visit.update(page="a").increment(v.count).or_create(country="NL", city="Delft")


def test_a_counter_is_created_and_counted_in_one_call(store: AnyStore) -> None:
    request = Counter.update(name="a").increment(Counter.f.count).or_create()
    assert spell(request.to_dynamodb(now=START), "UpdateExpression") == (
        "SET count = if_not_exists(count, 0) + 1, type = if_not_exists(type, Counter)"
    )
    assert [store.run(request).count for _ in range(3)] == [1, 2, 3]


@pytest.mark.indexes
def test_a_new_entity_is_whole(store: AnyStore, clock: Clock) -> None:
    made = store.run(
        Visit.update(page="a")
        .increment(v.count)
        .increment(v.start, 5)
        .add(v.price, Decimal(2))
        .add(v.tags, {"x"})
        .append(v.steps, "next")
        .set(v.last, now + timedelta(hours=1))
        .set_if_absent(v.seen, "yes")
        .or_create(country="NL", city="Delft")
    )
    assert made == Visit(
        page="a",
        country="NL",
        city="Delft",
        count=1,
        start=15,
        price=Decimal(3),
        tags={"x"},
        steps=["begin", "next"],
        seen="yes",
        last=START + timedelta(hours=1),
        created_at=START,
        updated_at=START,
        version=1,
    )
    assert [*store.run_until(Visit.query(by_place, country="NL", page="a"), len)] == [made]
    assert [*store.run(Visit.query(by_day, day="mon"))] == [made]
    clock.advance(60)
    again = store.run(visit())
    later = START + timedelta(minutes=1)
    assert again == made.model_copy(update={"count": 2, "updated_at": later, "version": 2})


@pytest.mark.indexes
def test_an_existing_entity_keeps_its_other_fields(store: AnyStore) -> None:
    kept = store.run(Visit(page="a", country="BE", count=1, day="sun", start=1).create())
    changed = store.run(
        Visit.update(page="a").increment(v.start).set(v.seen, "x").or_create(country="NL", count=3)
    )
    assert (changed.country, changed.day, changed.start, changed.count) == ("BE", "sun", 2, 1)
    assert changed.created_at == kept.created_at
    assert len(store.run_until(Visit.query(by_day, day="sun"), len)) == 1


def test_counters_start_where_they_are_told(store: AnyStore) -> None:
    upsert = Counter.update(name="a").increment(Counter.f.count, 5).or_create(count=100)
    assert [store.run(upsert).count for _ in range(2)] == [105, 110]


def test_the_new_entity_is_validated(store: AnyStore) -> None:
    with pytest.raises(ValidationError, match="country"):
        Visit.update(page="a").increment(v.count).or_create()
    with pytest.raises(ValidationError, match="less than or equal to 3"):
        Visit.update(page="a").set(v.seen, "x").or_create(country="NL", count=4)
    with pytest.raises(ValueInvalid):
        Visit.update(page="a").increment(v.count).or_create(country="NL", count="x")
    with pytest.raises(FieldUnknown):
        Visit.update(page="a").increment(v.count).or_create(contry="NL")
    with pytest.raises(KeyFieldChanged):
        Visit.update(page="a").increment(v.count).or_create(page="b", country="NL")
    with pytest.raises(UpdateInvalid, match="seen is set by the update"):
        Visit.update(page="a").set(v.seen, "x").or_create(country="NL", count=1, seen="y")
    with pytest.raises(UpdateInvalid, match=r"Use create\(\).or_get\(\)"):
        Visit.update(page="a").or_create(country="NL", count=1)
    with pytest.raises(UpdateInvalid, match=r"Name all changes before or_create\(\)"):
        visit().set(v.seen, "x")


def test_conditions_apply_to_an_existing_entity(store: AnyStore) -> None:
    assert [store.run(visit()).count for _ in range(3)] == [1, 2, 3]
    with pytest.raises(OutOfBounds):
        store.run(visit())
    open_only = Counter.update(name="a").increment(Counter.f.count)
    guarded = open_only.where(Counter.f.count < 2).or_create()
    assert [store.run(guarded).count for _ in range(2)] == [1, 2]
    with pytest.raises(ConditionFailed):
        store.run(guarded)


def test_an_expired_entity_counts_as_absent(store: AnyStore, clock: Clock) -> None:
    expiring = Visit.update(page="a").increment(v.count).expiring_in(timedelta(hours=1))
    upsert = expiring.or_create(country="NL")
    first = store.run(upsert)
    assert (first.count, first.ttl) == (1, START + timedelta(hours=1))
    assert store.run(upsert).count == 2
    clock.advance(7200)
    made = store.run(upsert)
    assert (made.count, made.version, made.created_at) == (1, 1, START + timedelta(hours=2))
    assert store.run(made.refresh()) == made
    clock.advance(7200)
    with pytest.raises(TransactionFailed, match="an expired item still has its key"):
        store.run(transaction(upsert))
    assert store.run(upsert.returning_nothing()) is None
    refreshed = store.run(made.refresh())
    assert refreshed is not None
    assert refreshed.count == 1


def test_another_entity_with_the_key_is_left_alone(store: AnyStore) -> None:
    store.execute(
        "PutItem",
        {"TableName": hits.name, "Item": {"pk": {"S": "COUNTER#a"}, "type": {"S": "Other"}}},
    )
    with pytest.raises(NotFound, match="another entity has its key"):
        store.run(Counter.update(name="a").increment(Counter.f.count).or_create())


def test_an_upsert_in_a_transaction(store: AnyStore) -> None:
    upsert = Counter.update(name="a").increment(Counter.f.count).or_create()
    for _ in range(2):
        assert store.run(transaction(upsert, Counter(name="b").put()))[0] is None
    assert store.run(Counter.get(name="a")) == Counter(name="a", count=2)


# What one call cannot express.

by_pair = Index("ByPair", key=Key("pair"))
pairs = Table("Pairs", key=Key("pk"), indexes=[by_pair])


class Pair(Entity, table=pairs, key="P#{id}", indexes={by_pair: "{one}#{two}"}):
    id: str = part()
    one: str | None = None
    two: str = "two"
    count: int = 0
    address: dict[str, int] = attr(default_factory=dict)
    tags: set[str] = attr(default_factory=lambda: {"a"})


class Sum(Entity, table=pairs, key="S#{id}"):
    id: str = part()
    one: int | None = None
    two: int = 0
    count: int = 0

    @computed_field(depends=("one", "two"))
    def total(self) -> int:
        return (self.one or 0) + self.two

    @model_validator(mode="after", depends=("one", "two"))
    def is_ordered(self) -> Self:
        return self


@pytest.mark.indexes
def test_index_keys_that_need_the_stored_values_are_refused(open_store: OpenStore) -> None:
    counted = Pair.update(id="a").increment(Pair.f.count)
    with pytest.raises(UpdateInvalid, match="the index key pair depends on one, two, of which"):
        counted.or_create(one="x")
    with pytest.raises(IndexPartsUnknown):
        Pair.update(id="a").set(Pair.f.two, "x").or_create(one="x")
    with pytest.raises(UpdateInvalid, match="needs one value of one"):
        Pair.update(id="a").set(Pair.f.two, "x").knowing(one="y").or_create(one="x")
    store = open_store(pairs)
    assert store.run(counted.or_create()).two == "two"
    known = Pair.update(id="b").set(Pair.f.two, "x").knowing(one="y").or_create(one="y")
    made = store.run(known)
    assert [*store.run_until(Pair.query(by_pair, one="y", two="x"), len)] == [made]
    store.run(made.change(one="z"))
    with pytest.raises(ConditionFailed):
        store.run(known)


@pytest.mark.parametrize(
    ("refused", "fact"),
    [
        (lambda: Pair.update(id="a").set(Pair.f.address.x, 1), "inside a value"),
        (lambda: Pair.update(id="a").add(Pair.f.tags, {"b"}), "tags has members in a new entity"),
        (lambda: Pair.update(id="a").increment(Pair.f.count, Pair.f.count), "does not exist"),
        (lambda: Sum.update(id="a").increment(Sum.f.count), "is_ordered|total"),
        (lambda: User.update(name="a").set(User.f.note, "x"), "email is unique"),
    ],
)
def test_what_one_call_cannot_do_is_refused(refused: Any, fact: str) -> None:
    fields = {Sum: {"one": 1}, User: {"email": "a@x"}}
    update = refused()
    with pytest.raises(UpdateInvalid, match=fact):
        update.or_create(**fields.get(update.schema.entity, {}))


def test_an_upsert_can_be_explained() -> None:
    @pairs.pattern("count a pair")
    def count(pair: str, by: int, two: str) -> Upsert[Pair]:
        """Count it."""
        return Pair.update(id=pair).increment(Pair.f.count, by).or_create(two=two)

    (step,) = count.explain().steps
    assert (step.operation, step.key) == ("UpdateItem", "pk='P#{pair}'")


def test_an_empty_patch_creates_the_entity_or_returns_the_stored_one(store: AnyStore) -> None:
    upsert = Counter.update(name="a").set_from({}).or_create(count=3)
    assert store.run(upsert) == Counter(name="a", count=3)
    store.run(Counter.update(name="a").increment(Counter.f.count))
    assert store.run(upsert) == Counter(name="a", count=4)


bare = Table("Bare", key=Key("pk"))


class Tag(Entity, table=bare, key="TAG#{name}"):
    name: str = part()
    note: str | None = None


def test_an_empty_patch_creates_an_entity_that_has_only_a_key(open_store: OpenStore) -> None:
    store = open_store(bare)
    upsert = Tag.update(name="a").set_from({}).or_create()
    assert [store.run(upsert) for _ in range(2)] == [Tag(name="a")] * 2
    assert store.run(Tag.get(name="a")) == Tag(name="a")
