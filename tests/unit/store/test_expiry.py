"""Expired items count as absent, however long the engine keeps them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, Self

import pytest
from pydantic import BaseModel, ValidationError

from keyfold.errors import ConditionFailed, NotFound, QueryInvalid, TransactionFailed
from keyfold.model import (
    Batch,
    Collection,
    Entity,
    Expiry,
    Index,
    Key,
    Request,
    Table,
    Transaction,
    attr,
    batch,
    computed_field,
    model_validator,
    transaction,
)
from keyfold.testing import Clock
from tests.unit.model.shop import (
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Rate,
    RateSummary,
    by_base,
    by_key,
    rates,
)
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

HOUR = timedelta(hours=1)
GET = Rate.get(base="USD", target="EUR")


def rate(target: str = "EUR", hours: int | None = None, **fields: Any) -> Rate:
    expires = None if hours is None else START + hours * HOUR
    return Rate(
        base="USD", target=target, rate=Decimal("0.85"), at=START, expires=expires, **fields
    )


@pytest.fixture
def stale(store: AnyStore, clock: Clock) -> AnyStore:
    """A store with two rates, one of which expired an hour ago."""
    store.run(rate("EUR", hours=1).put())
    store.run(rate("GBP", hours=5).put())
    clock.advance(2 * HOUR)
    return store


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (GET, None),
        (GET.only(RateSummary), None),
        (Rate.query(base="USD", target="EUR"), []),
        (Rate.query(by_base, base="USD"), [rate("GBP", hours=5)]),
        (Rate.query(by_base, base="USD").first(), rate("GBP", hours=5)),
        (Rate.query(by_base, base="USD").count(), 1),
        (rates.query(by_base, Base="USD"), [rate("GBP", hours=5)]),
        (Rate.scan(), [rate("GBP", hours=5)]),
        (rates.scan(), [rate("GBP", hours=5)]),
        (rates.scan().count(), 1),
        (batch([GET]), [None]),
        (transaction(GET), [None]),
        (Rate.delete(base="USD", target="EUR"), None),
    ],
)
def test_an_expired_item_is_never_returned(
    stale: AnyStore, request_: Request[Any], answer: Any
) -> None:
    found: Any = stale.run(request_)
    assert (list(found) if isinstance(answer, list) else found) == answer


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (GET.include_expired(), "EUR"),
        (Rate.query(by_base, base="USD").include_expired().first(), "EUR"),
        (Rate.query(by_base, base="USD").include_expired().count(), 2),
        (Rate.scan().include_expired().count(), 2),
        (batch([GET.include_expired()]), "EUR"),
        (transaction(GET.include_expired()), "EUR"),
    ],
)
def test_expired_items_are_returned_only_on_request(
    stale: AnyStore, request_: Request[Any], answer: Any
) -> None:
    found: Any = stale.run(request_)
    if isinstance(request_, Batch | Transaction):
        (found,) = found
    assert getattr(found, "target", found) == answer


def test_an_item_exists_until_the_second_at_which_it_expires(store: AnyStore, clock: Clock) -> None:
    store.run(rate(hours=1).put())
    clock.advance(HOUR.total_seconds() - 0.001)
    assert store.run(GET) is not None
    assert store.run(Rate.update(base="USD", target="EUR").set(Rate.f.stale, True)) is not None
    clock.advance(0.001)
    assert store.run(GET) is None
    with pytest.raises(NotFound):
        store.run(Rate.update(base="USD", target="EUR").set(Rate.f.stale, True))


def test_creating_over_an_expired_item_succeeds(stale: AnyStore) -> None:
    assert stale.run(rate().create()) == rate()
    assert stale.run(GET) == rate()


def test_replacing_or_updating_an_expired_item_fails(stale: AnyStore) -> None:
    for request in (
        rate().replace(),
        Rate.update(base="USD", target="EUR").set(Rate.f.stale, True),
        Rate.update(base="USD", target="EUR").expiring_in(HOUR),
    ):
        with pytest.raises(NotFound) as caught:
            stale.run(request)
        assert caught.value.found is None


def test_conditions_treat_an_expired_item_as_absent_and_do_not_show_it(stale: AnyStore) -> None:
    with pytest.raises(ConditionFailed) as caught:
        stale.run(Rate.delete(base="USD", target="EUR").where(Rate.f.stale.eq(False)))
    assert caught.value.found is None
    with pytest.raises(TransactionFailed) as failed:
        stale.run(
            transaction(
                rate("CHF").create(), Rate.check(Rate.f.rate.exists(), base="USD", target="EUR")
            )
        )
    first, second = failed.value.reasons
    assert first is None
    assert isinstance(second, ConditionFailed)
    assert second.found is None
    assert stale.run(transaction(rate("EUR").create())) == [rate("EUR")]


def test_a_condition_that_holds_for_an_absent_item_holds_for_an_expired_one(
    stale: AnyStore,
) -> None:
    assert stale.run(rate().put().where(Rate.f.stale.ne(False))) == rate()


def test_expiry_may_be_a_number_of_seconds_and_text_never_expires(
    open_store: OpenStore, clock: Clock
) -> None:
    table = Table("Tab", key=Key("pk"), ttl="ttl")

    class Plain(Entity, table=table, key="P#{id}"):
        id: str
        ttl: int | None = None

    class Free(Entity, table=table, key="F#{id}", extra="allow"):
        id: str

    store = open_store(table)
    put = Plain(id="1").put().expiring_in(HOUR)
    assert store.run(put).ttl == int((START + HOUR).timestamp())
    texts = Free.model_validate({"id": "1", "ttl": "never"})
    store.run(texts.put())
    clock.advance(2 * HOUR)
    assert store.run(Plain.get(id="1")) is None
    assert store.run(Free.get(id="1")) == texts
    assert store.run(texts.put().where(Free.f.ttl.eq("never"))) == texts
    assert store.run(Free.update(id="1").set(Free.f.more, 1)).model_extra == {
        "ttl": "never",
        "more": 1,
    }


def test_collections_leave_out_expired_items(store: AnyStore, clock: Clock) -> None:
    order = OrderId.new()
    store.run(Order(user="ada", order=order, total=Decimal(1), ttl=START + 9 * HOUR).put())
    for line in range(4):
        ttl = START + HOUR if line % 2 else None
        store.run(OrderLine(user="ada", order=order, line=line, sku="s", ttl=ttl).put())
    clock.advance(2 * HOUR)
    request = OrderWithLines.get(user="ada", order=order)
    found = store.run(request)
    assert found is not None
    assert [line.line for line in found.lines] == [0, 2]
    everything = store.run(request.include_expired())
    assert everything is not None
    assert [line.line for line in everything.lines] == [0, 1, 2, 3]
    clock.advance(9 * HOUR)
    assert store.run(request) is None


# Indexes without the TTL attribute.


by_group = Index("ByGroup", key=Key("group"), project=["name"])
by_all = Index("ByAll", key=Key("group"), project=["name", "ttl"])
groups = Table("Groups", key=Key("pk"), indexes=[by_group, by_all], ttl="ttl")


class Member(Entity, table=groups, key="M#{id}"):
    id: str = attr("i")
    group: str
    name: str
    ttl: Expiry | None = None


class Kept(Entity, table=groups, key="K#{id}"):
    id: str = attr("i")
    group: str
    name: str


class Name(BaseModel):
    name: str


class Both(Collection):
    member: Member
    kept: list[Kept]


def test_an_index_without_the_ttl_is_not_read_as_if_nothing_had_expired(
    open_store: OpenStore, clock: Clock
) -> None:
    store = open_store(groups)
    store.run(Member(id="1", group="g", name="a", ttl=START + HOUR).put())
    store.run(Member(id="2", group="g", name="b").put())
    store.run(Kept(id="1", group="g", name="c").put())
    clock.advance(2 * HOUR)
    query = Member.query(by_group, group="g")
    with pytest.raises(
        QueryInvalid, match="ByGroup does not hold 'ttl', so expired items would be"
    ):
        store.run(query.only(Name))
    for counted in (query, groups.query(by_group, group="g")):
        with pytest.raises(QueryInvalid, match="so expired items would be counted"):
            store.run(counted.count())
    assert len(store.run(query.include_expired().only(Name))) == 2
    assert store.run(query.include_expired().count()) == 2
    assert list(store.run(Member.query(by_all, group="g").only(Name))) == [Name(name="b")]
    assert store.run(Member.query(by_all, group="g").count()) == 1
    assert list(store.run(Kept.query(by_group, group="g").only(Name))) == [Name(name="c")]
    assert store.run(Kept.query(by_group, group="g").count()) == 1
    # An index without a sort key has no order.
    fetched = {ref.id: store.run(ref.get()) for ref in store.run(query.refs())}
    assert fetched == {"1": None, "2": Member(id="2", group="g", name="b")}


def test_a_keys_only_index_cannot_be_counted_where_items_may_expire(store: AnyStore) -> None:
    order = OrderId.new()
    store.run(OrderLine(user="ada", order=order, line=1, sku="s").put())
    with pytest.raises(QueryInvalid, match="ReverseIndex does not hold 'ttl'"):
        store.run(OrderLine.query(by_key, order=order, line=1).count())


# What depends on the expiry follows, when it is set by the request.

leases = Table(
    "Leases",
    key=Key("pk"),
    indexes=[by_end := Index("ByEnd", key=Key("end_pk", "end_sk"))],
    ttl="ends",
)


class Lease(Entity, table=leases, key="LEASE#{id}", indexes={by_end: ("{owner}", "{ends}")}):
    id: str
    owner: str = "ada"
    is_permanent: bool = False
    notes: list[str] = attr(default_factory=list)
    ends: Expiry | None = None

    @model_validator(mode="after", depends=("is_permanent", "ends"))
    def ends_unless_permanent(self) -> Self:
        if self.is_permanent and self.ends is not None:
            raise ValueError("a permanent lease does not end")
        return self

    @computed_field(depends=("ends",))
    def does_end(self) -> bool:
        return self.ends is not None


@pytest.mark.indexes
def test_index_keys_and_computed_fields_follow_an_expiry_that_a_put_sets(
    open_store: OpenStore,
) -> None:
    store = open_store(leases)
    lease = Lease(id="1")
    for request in (
        lease.create().expiring_in(HOUR),
        lease.put().expiring_in(2 * HOUR),
        transaction(lease.put().expiring_in(3 * HOUR)),
        batch([lease.put().expiring_in(4 * HOUR)]),
    ):
        lease.notes.append("changed after the request was made")
        written = store.run(request)
        written = written if isinstance(written, Lease) else written[0]
        assert written.ends is not None
        assert written.notes == []
        ending = Lease.query(by_end, owner="ada", ends=written.ends)
        assert list(store.run_until(ending, len)) == [written]
        item = store.execute("GetItem", {"TableName": "Leases", "Key": {"pk": {"S": "LEASE#1"}}})[
            "Item"
        ]
        assert item["does_end"] == {"BOOL": True}
        lease.notes.clear()


def test_validators_see_an_expiry_that_a_put_sets(open_store: OpenStore) -> None:
    store = open_store(leases)
    request = Lease(id="1", is_permanent=True).put().expiring_in(HOUR)
    with pytest.raises(ValidationError, match="a permanent lease does not end"):
        store.run(request)
    assert store.run(Lease.get(id="1")) is None


# Updates: validators and computed fields that depend on the expiry block them, index keys follow.

rooms = Table("Rooms", key=Key("pk"), indexes=[by_end], ttl="ends")


class Room(Entity, table=rooms, key="ROOM#{id}", indexes={by_end: ("{owner}", "{ends}")}):
    id: str
    owner: str = "ada"
    guests: int = 0
    ends: Expiry | None = None


@pytest.mark.indexes
def test_index_keys_follow_an_expiry_that_an_update_sets(
    open_store: OpenStore, clock: Clock
) -> None:
    store = open_store(rooms)
    store.run(Room(id="1").create())
    clock.advance(timedelta(milliseconds=300))
    upsert = Room.update(id="1").increment(Room.f.guests).expiring_in(3 * HOUR).or_create()
    new = Room.update(id="2").increment(Room.f.guests).expiring_in(3 * HOUR).or_create()
    for make in (
        lambda: Room.update(id="1").expiring_in(HOUR),
        lambda: Room(id="1").update().expiring_in(2 * HOUR),
        lambda: upsert,
        lambda: new,
        lambda: new,
    ):
        room = store.run(make())
        assert room.ends is not None
        ending = Room.query(by_end, owner="ada", ends=room.ends)
        store.run_until(ending, lambda found, room=room: list(found)[-1:] == [room])
        clock.advance(1)
