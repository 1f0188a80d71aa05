"""Writing one entity, on both stores, in memory and on a file."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from keyfold.errors import (
    AlreadyExists,
    ConditionFailed,
    IndexPartsUnknown,
    NotFound,
    ResourceNotFoundException,
    VersionConflict,
    WriteRefused,
)
from keyfold.model import Entity, Index, Key, Query, Table, Version, now, transaction
from keyfold.testing import Clock
from tests.unit.model.shop import (
    Address,
    Rate,
    Status,
    Ticket,
    by_base,
    by_owner,
    by_status,
    rates,
    recent,
)
from tests.unit.store.store_kinds import START, AnyStore, OpenStore

f = Ticket.f


def rate(target: str = "EUR", **fields: Any) -> Rate:
    return Rate(base="USD", target=target, rate=Decimal("0.85"), at=START, **fields)


def ticket(number: int = 1, **fields: Any) -> Ticket:
    return Ticket(team="a", number=number, title="x", opened=START, **fields)


def test_an_entity_that_was_put_can_be_read(open_store: OpenStore, url: str) -> None:
    store = open_store(rates, url)
    assert store.run(Rate.get(base="USD", target="EUR")) is None
    assert store.run(rate().put()) == rate()
    assert store.run(Rate.get(base="USD", target="EUR")) == rate()
    assert store.run(Rate.get(base="USD", target="EUR").consistent()) == rate()


def test_put_replaces_the_whole_item(store: AnyStore) -> None:
    store.run(rate(stale=True, expires=START + timedelta(1)).put())
    store.run(rate().put())
    assert store.run(Rate.get(base="USD", target="EUR")) == rate()


def test_create_fails_if_the_entity_exists(store: AnyStore) -> None:
    assert store.run(rate().create()) == rate()
    with pytest.raises(AlreadyExists) as caught:
        store.run(rate(stale=True).create())
    assert str(caught.value) == "Rate PK='RATE#USD#EUR': it already exists. [already-exists]"
    assert caught.value.found == rate()
    assert store.run(Rate.get(base="USD", target="EUR")) == rate()


def test_replace_fails_if_the_entity_does_not_exist(store: AnyStore) -> None:
    with pytest.raises(NotFound, match="Rate PK='RATE#USD#EUR': it does not exist"):
        store.run(rate().replace())
    store.run(rate().put())
    assert store.run(rate(stale=True).replace()) == rate(stale=True)


def test_delete_returns_the_deleted_entity(store: AnyStore) -> None:
    assert store.run(Rate.delete(base="USD", target="EUR")) is None
    store.run(rate().put())
    assert store.run(Rate.delete(base="USD", target="EUR")) == rate()
    assert store.run(Rate.get(base="USD", target="EUR")) is None


def test_a_failed_condition_shows_the_stored_entity(store: AnyStore) -> None:
    store.run(rate().put())
    for request in (
        rate().put().where(Rate.f.stale.eq(True)),
        Rate.delete(base="USD", target="EUR").where(Rate.f.rate > 1),
        Rate.update(base="USD", target="EUR").set(Rate.f.stale, True).where(Rate.f.rate > 1),
    ):
        with pytest.raises(ConditionFailed, match="the condition does not hold") as caught:
            store.run(request)
        assert caught.value.found == rate()
    with pytest.raises(ConditionFailed) as caught:
        store.run(rate("GBP").put().where(Rate.f.rate > 1))
    assert caught.value.found is None
    assert store.run(rate("GBP").put().where(Rate.f.rate.not_exists())) == rate("GBP")


def test_a_check_alone_is_refused(store: AnyStore) -> None:
    with pytest.raises(WriteRefused, match="Put it into a transaction"):
        store.run(Rate.check(Rate.f.rate > 1, base="a", target="b"))


def test_an_update_returns_the_updated_entity(store: AnyStore) -> None:
    store.run(
        ticket(tags={"a"}, steps=["one"], counts={"x": 1}, addresses=[Address(city="A")]).create()
    )
    changed = store.run(
        Ticket.update(team="a", number=1)
        .set(f.title, "y")
        .set(f.address, Address(city="Bonn"))
        .set(f.addresses[0].zip, "1")
        .set_if_absent(f.changed, "now")
        .increment(f.watchers, 2)
        .add(f.tags, {"b"})
        .add(f.counts.x, 4)
        .append(f.steps, "two", "three")
    )
    assert changed == ticket(
        tags={"a", "b"},
        steps=["one", "two", "three"],
        counts={"x": 5},
        watchers=2,
        changed="now",
        address=Address(city="Bonn"),
        addresses=[Address(city="A", zip="1")],
        version=2,
    ).model_copy(update={"title": "y"})
    assert store.run(Ticket.get(team="a", number=1)) == changed


def test_an_update_can_remove_values(store: AnyStore) -> None:
    before = ticket(
        tags={"a"}, steps=["one", "two"], changed="x", address=Address(city="B", zip="1")
    )
    store.run(before.create())
    update = Ticket.update(team="a", number=1).delete(f.tags, {"a"}).remove(f.steps[0])
    update = update.set(f.changed, None).remove(f.address.zip)
    assert store.run(update) == ticket(steps=["two"], address=Address(city="B"), version=2)
    assert store.run(Ticket.update(team="a", number=1).append(f.addresses)) == (
        ticket(steps=["two"], address=Address(city="B"), version=3)
    )


def test_an_update_never_creates_an_entity(store: AnyStore) -> None:
    with pytest.raises(NotFound):
        store.run(Ticket.update(team="a", number=1).set(f.title, "y"))
    assert store.run(Ticket.get(team="a", number=1)) is None


def test_now_is_the_time_of_the_stores_clock(store: AnyStore, clock: Clock) -> None:
    put = rate().put().expiring_in(timedelta(hours=1))
    touch = Rate.update(base="USD", target="EUR").set(Rate.f.at, now)
    clock.advance(timedelta(days=1))
    assert store.run(put).expires == START + timedelta(days=1, hours=1)
    clock.advance(60)
    touched = store.run(touch.expiring_in(timedelta(days=2)))
    assert touched.at == START + timedelta(days=1, minutes=1)
    assert touched.expires == START + timedelta(days=3, minutes=1)
    clock.advance(60)
    assert store.run(put).expires == START + timedelta(days=1, hours=1, minutes=2)


# Versions.


def test_a_version_notices_lost_updates(store: AnyStore) -> None:
    first = store.run(ticket().create())
    assert first.version == 1
    second = store.run(first.model_copy(update={"title": "mine"}).put())
    assert second.version == 2
    for late in (first.put(), first.replace()):
        with pytest.raises(VersionConflict) as caught:
            store.run(late)
        assert "it was read with version 1, and now has 2" in str(caught.value)
        assert caught.value.found == second
    third = store.run(second.replace())
    assert store.run(Ticket.get(team="a", number=1)) == third
    updated = store.run(Ticket.update(team="a", number=1).set(f.title, "z"))
    assert updated.version == 4
    with pytest.raises(VersionConflict):
        store.run(third.put())


def test_a_new_entity_conflicts_with_an_existing_one(store: AnyStore) -> None:
    store.run(ticket().put())
    with pytest.raises(VersionConflict, match="it was read with version 0, and now has 1"):
        store.run(ticket().put())
    with pytest.raises(AlreadyExists):
        store.run(ticket().create())


def test_a_deleted_entity_conflicts_too(store: AnyStore) -> None:
    read = store.run(ticket().put())
    store.run(Ticket.delete(team="a", number=1))
    with pytest.raises(VersionConflict, match="it was read with version 1, and no longer exists"):
        store.run(read.put())
    with pytest.raises(NotFound):
        store.run(read.replace())


def test_an_update_can_expect_a_version(store: AnyStore) -> None:
    store.run(ticket().put())
    update = Ticket.update(team="a", number=1).set(f.title, "y").knowing(version=1)
    assert store.run(update).version == 2
    with pytest.raises(VersionConflict, match="it was read with version 1, and now has 2"):
        store.run(update)


# Index keys.


def finds(store: AnyStore, query: Query[Any], *expected: int) -> bool:
    """Return whether a query of an index finds these, once the index has caught up."""
    page = store.run_until(query, lambda found: [each.number for each in found] == [*expected])
    return len(page) == len(expected)


@pytest.mark.indexes
def test_index_keys_follow_the_fields(store: AnyStore) -> None:
    store.run(ticket(status=Status.OPEN).create())
    opened = Ticket.query(by_status, status=Status.OPEN, team="a")
    done = Ticket.query(by_status, status=Status.DONE, team="a")
    assert finds(store, opened, 1)
    store.run(Ticket.update(team="a", number=1).set(f.status, Status.DONE))
    assert finds(store, opened)
    assert finds(store, done, 1)
    store.run(Ticket.update(team="a", number=1).set(f.opened, START + timedelta(1)))
    assert finds(store, done.since(START + timedelta(1)), 1)
    store.run(Ticket.update(team="a", number=1).set(f.status, None))
    assert finds(store, opened)
    assert finds(store, done)
    assert (
        store.run(Ticket.update(team="a", number=1).set(f.status, Status.OPEN)).status
        is Status.OPEN
    )
    assert finds(store, opened, 1)


@pytest.mark.indexes
def test_sparse_indexes_hold_only_entities_with_every_part(store: AnyStore) -> None:
    store.run(ticket(1, owner="ada", priority=2, changed="c").create())
    store.run(ticket(2, owner="ada").create())
    store.run(ticket(3, priority=1, changed="a").create())
    owned: Query[Any] = Ticket.query(by_owner, owner="ada").refs()
    assert finds(store, owned, 1)
    assert finds(store, Ticket.query(recent, team="a"), 3, 1)
    store.run(Ticket.update(team="a", number=2).set(f.priority, 1))
    assert finds(store, owned, 2, 1)
    store.run(Ticket.update(team="a", number=1).remove(f.owner))
    assert finds(store, owned, 2)


by_place = Index("ByPlace", key=Key("place"))
towns = Table("Towns", key=Key("pk"), indexes=[by_place])


class Town(Entity, table=towns, key="TOWN#{id}", indexes={by_place: "{country}#{region}"}):
    id: str
    country: str
    region: str
    version: Version = 0


@pytest.mark.indexes
def test_a_part_that_is_out_of_date_cannot_corrupt_an_index_key(open_store: OpenStore) -> None:
    store = open_store(towns)
    store.run(Town(id="1", country="DE", region="NRW").create())
    with pytest.raises(IndexPartsUnknown, match=r"knowing\(region=…\)"):
        store.run(Town.update(id="1").set(Town.f.country, "FR"))
    with pytest.raises(ConditionFailed):
        store.run(Town.update(id="1").set(Town.f.country, "FR").knowing(region="Alsace"))
    store.run(Town.update(id="1").set(Town.f.region, "Hessen").knowing(country="DE"))
    assert len(store.run_until(Town.query(by_place, country="DE", region="Hessen"), len)) == 1
    assert len(store.run(Town.query(by_place, country="DE", region="NRW"))) == 0


@pytest.mark.indexes
def test_numbers_and_bytes_are_keys_too(open_store: OpenStore, url: str) -> None:
    by_data = Index("ByData", key=Key(("kind", "size"), ("data", "number")))
    table = Table("Blobs", key=Key("number", "data"), indexes=[by_data])

    class Blob(Entity, table=table, key=("{number}", "{data}")):
        number: Decimal
        data: bytes
        kind: str = "k"
        size: int = 1

    store = open_store(table, url)
    blobs = [
        Blob(number=Decimal(number), data=data)
        for number in ("-1.5", "10", "9")
        for data in (b"\xff", b"\x01")
    ]
    for blob in blobs:
        store.run(blob.put())
    assert store.run(Blob.get(number=Decimal("10.0"), data=b"\x01")) == blobs[3]
    assert [each.data for each in store.run(Blob.query(number=9))] == [b"\x01", b"\xff"]
    first = Blob.query(by_data, kind="k", size=1)
    store.run_until(first, lambda page: len(page) == len(blobs))
    walked = store.iterate(first.limit(1))
    assert [(each.data, each.number) for each in walked] == [
        (b"\x01", Decimal("-1.5")), (b"\x01", Decimal(9)), (b"\x01", Decimal(10)),
        (b"\xff", Decimal("-1.5")), (b"\xff", Decimal(9)), (b"\xff", Decimal(10)),
    ]  # fmt: skip
    ranged = Blob.query(by_data, kind="k", size=1, data=b"\xff").between(0, Decimal("9.5"))
    assert [each.number for each in store.run(ranged)] == [9]


@pytest.mark.indexes
def test_a_missing_table_raises_the_services_error(store: AnyStore) -> None:
    store.drop_table(rates)
    for request in (rate().put(), Rate.query(by_base, base="USD"), transaction(rate().create())):
        with pytest.raises(ResourceNotFoundException) as caught:
            store.run(request)
        (note,) = caught.value.__notes__
        assert f"The request is for {rates.name}. `keyfold apply` creates" in note
    store.create_table(rates)
    store.create_table(rates)
    assert store.run(rate().put()) == rate()
    assert len(store.run_until(Rate.query(by_base, base="USD"), len)) == 1
