"""Handlers get changes in order, at least once, as typed entities."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import keyfold
from keyfold.errors import (
    ExpiredIteratorException,
    LeasesMissing,
    LimitExceededException,
    OptionInvalid,
    StreamUnsuitable,
    WrongTable,
)
from keyfold.model import Change, Handler, Key, Request, Table, transaction
from keyfold.store import AsyncStore, Followed, StoreSettings
from keyfold.testing import Clock
from tests.transports import Database, Transport, open_database
from tests.unit.model.shop import rates
from tests.unit.store.ledger import Account, Entry, Receipt, Seen, ledger
from tests.unit.store.store_kinds import START, AnyStore, Kind, any_store_on


@pytest.fixture(autouse=True)
def no_handlers() -> Iterator[None]:
    """Remove the handlers that a test added; the table is shared by all tests."""
    yield
    ledger.handlers.by_name.clear()


@pytest.fixture
def engine(transport: Transport, clock: Clock) -> Iterator[Database]:
    with open_database(transport, clock=clock, expiry_grace=0.0, shard_records=8) as engine:
        yield engine


@pytest.fixture
def store(kind: Kind, engine: Database, clock: Clock) -> Iterator[AnyStore]:
    store = any_store_on(kind, engine, [ledger], clock=clock, moves_clock=True, is_embedded=True)
    store.create_table(ledger)
    yield store
    store.close()


@pytest.fixture
def seen() -> Seen:
    """The changes that a handler of accounts got."""
    seen = Seen()
    ledger.on_change(Account, name="note")(seen.note)
    return seen


def follow(store: AnyStore, **options: Any) -> Followed:
    return store.follow(ledger, until_caught_up=True, **options)


def put(store: AnyStore, *balances: int, name: str = "ada") -> None:
    for balance in balances:
        store.run(Account(name=name, balance=balance).put())


# What handlers get.


def test_a_handler_gets_the_old_and_the_new_entity(store: AnyStore, clock: Clock) -> None:
    changes: list[Change[Account]] = []
    ledger.on_change(Account)(changes.append)
    put(store, 1, 2)
    store.run(Account.delete(name="ada"))
    assert follow(store) == Followed(records=3, handled=3)
    first, second = Account(name="ada", balance=1), Account(name="ada", balance=2)
    assert [(each.kind, each.old, each.new, each.entity) for each in changes] == [
        ("inserted", None, first, first),
        ("changed", first, second, second),
        ("removed", second, None, second),
    ]
    assert not any(each.by_expiry for each in changes)
    assert changes[0].key == {"pk": {"S": "A#ada"}, "sk": {"S": "ACCOUNT"}}
    assert changes[0].ref is not None
    assert changes[0].ref.name == "ada"
    assert len({each.id for each in changes}) == 3


def test_a_handler_gets_the_time_of_a_change(store: AnyStore, clock: Clock) -> None:
    changes: list[Change[Account]] = []
    ledger.on_change(Account, name="note")(changes.append)
    put(store, 1)
    clock.advance(timedelta(hours=1))
    put(store, 2)
    follow(store)
    assert [each.at for each in changes] == [START, START + timedelta(hours=1)]


def test_a_handler_can_tell_that_an_item_has_expired(
    store: AnyStore, engine: Database, clock: Clock
) -> None:
    changes: list[Change[Account]] = []
    ledger.on_change(Account)(changes.append)
    store.run(Account(name="ada", ttl=START + timedelta(hours=1)).put())
    clock.advance(timedelta(hours=2))
    assert engine.run_upkeep() == 1
    follow(store)
    assert [(each.kind, each.by_expiry) for each in changes] == [
        ("inserted", False),
        ("removed", True),
    ]
    assert changes[1].old == changes[0].new


def test_handlers_get_only_changes_of_their_entities(store: AnyStore) -> None:
    by_handler: dict[str, list[Any]] = {"one": [], "two": [], "all": []}
    ledger.on_change(Account, name="one")(by_handler["one"].append)
    ledger.on_change(Account, Entry, name="two")(by_handler["two"].append)
    ledger.on_change(name="all")(by_handler["all"].append)
    account, entry = Account(name="ada"), Entry(name="ada", number=1)
    receipt = Receipt(name="ada", number=1)
    store.run(transaction(account.put(), entry.put(), receipt.put()))
    assert follow(store) == Followed(records=3, handled=6)
    assert [each.new for each in by_handler["one"]] == [account]
    assert [each.new for each in by_handler["two"]] == [account, entry]
    assert [each.new for each in by_handler["all"]] == [account, entry, receipt]


def test_requests_that_a_handler_returns_are_run(store: AnyStore) -> None:
    @ledger.on_change(Entry)
    def write_receipt(change: Change[Entry]) -> Request[Any] | None:
        entry = change.new
        return entry and Receipt(name=entry.name, number=entry.number).create().or_get()

    @ledger.on_change(Entry)
    def add_up(change: Change[Entry]) -> Iterator[Request[Any]]:
        if change.kind == "inserted" and change.new is not None:
            yield Account(name=change.new.name).create().or_get()
            yield Account.update(name=change.new.name).increment(
                Account.f.balance, change.new.amount
            )

    for number in (1, 2):
        store.run(Entry(name="ada", number=number, amount=5).put())
    follow(store)
    assert store.run(Account.get(name="ada")) == Account(name="ada", balance=10)
    assert len(store.run(Receipt.query(name="ada"))) == 2
    # Calling the function directly runs nothing.
    assert isinstance(write_receipt, Handler)
    assert ledger.handlers["add_up"] is add_up


def test_create_or_get_returns_the_existing_entity(store: AnyStore) -> None:
    first = Account(name="ada", balance=1)
    assert store.run(first.create().or_get()) == first
    assert store.run(Account(name="ada", balance=2).create().or_get()) == first


def test_guard_items_of_unique_fields_are_not_reported_as_changes(
    kind: Kind, engine: Database, clock: Clock
) -> None:
    members = Table("Members", key=Key("pk"), stream="new and old")

    class Member(keyfold.Entity, table=members, key="M#{name}", unique="email"):
        name: str
        email: str

    changes: list[Change[Any]] = []
    members.on_change(name="all")(changes.append)
    store = any_store_on(kind, engine, [members], clock=clock, moves_clock=True, is_embedded=True)
    store.create_table(members)
    store.run(Member(name="ada", email="ada@example.com").create())
    store.follow(members, until_caught_up=True)
    assert [each.new for each in changes] == [Member(name="ada", email="ada@example.com")]
    store.close()


def test_an_item_that_becomes_another_entity_is_removed_and_inserted(
    kind: Kind, engine: Database, clock: Clock
) -> None:
    things = Table("Things", key=Key("pk"), type_attribute="type", stream="new and old")

    class Cat(keyfold.Entity, table=things, key="T#{name}"):
        name: str = keyfold.part()

    class Dog(keyfold.Entity, table=things, key="T#{name}"):
        name: str = keyfold.part()

    changes: list[tuple[str, str, Any, Any]] = []
    for handler, entities in (("cats", [Cat]), ("dogs", [Dog]), ("pets", [Cat, Dog])):
        things.on_change(*entities, name=handler)(
            lambda change, handler=handler: changes.append(
                (handler, change.kind, change.old, change.new)
            )
        )
    store = any_store_on(kind, engine, [things], clock=clock, moves_clock=True, is_embedded=True)
    store.create_table(things)
    cat, dog = Cat(name="Tom"), Dog(name="Tom")
    store.run(cat.put())
    store.run(dog.put())
    store.follow(things, until_caught_up=True)
    assert changes == [
        ("cats", "inserted", None, cat),
        ("pets", "inserted", None, cat),
        ("cats", "removed", cat, None),
        ("dogs", "inserted", None, dog),
        ("pets", "changed", cat, dog),
    ]
    store.close()


@pytest.mark.parametrize(
    ("stream", "old", "new"), [("keys", None, None), ("new", None, 2), ("old", 1, None)]
)
def test_a_change_has_the_images_that_its_stream_was_declared_with(
    kind: Kind, engine: Database, clock: Clock, stream: Any, old: int | None, new: int | None
) -> None:
    table = Table("Shown", key=Key("pk"), stream=stream)

    class Thing(keyfold.Entity, table=table, key="T#{name}"):
        name: str = keyfold.part()
        size: int

    changes: list[Change[Thing]] = []
    table.on_change(Thing, name="note", images=stream)(changes.append)
    store = any_store_on(kind, engine, [table], clock=clock, moves_clock=True, is_embedded=True)
    store.create_table(table)
    for size in (1, 2):
        store.run(Thing(name="one", size=size).put())
    store.follow(table, until_caught_up=True)
    change = changes[1]
    assert change.kind == "changed"
    assert (change.old and change.old.size, change.new and change.new.size) == (old, new)
    assert change.ref is not None
    assert store.run(change.ref.get()) == Thing(name="one", size=2)
    store.close()


def test_a_key_is_in_the_tables_order_however_the_service_writes_it(
    kind: Kind, engine: Database, clock: Clock
) -> None:
    class ShuffledKeys:
        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            response = engine.execute(operation, request)
            for record in response.get("Records", ()):
                record["dynamodb"]["Keys"] = dict(reversed(record["dynamodb"]["Keys"].items()))
            return response

    changes: list[Change[Account]] = []

    @ledger.on_change(Account)
    def refuse(change: Change[Account]) -> None:
        changes.append(change)
        raise ValueError("no")

    store = any_store_on(
        kind, ShuffledKeys(), [ledger], clock=clock, moves_clock=True, is_embedded=True
    )
    store.create_table(ledger)
    put(store, 1)
    follow(store, attempts=1)
    assert list(changes[0].key) == ["pk", "sk"]
    assert [each.key for each in store.dead_letters(ledger)] == ["pk='A#ada' sk='ACCOUNT'"]
    assert refuse.name == "refuse"
    store.close()


# Items that fit no entity.

ODD = {"pk": {"S": "odd"}, "sk": {"S": "odd"}}
BAD = {"pk": {"S": "A#bad"}, "sk": {"S": "ACCOUNT"}, "balance": {"S": "much"}}


def test_items_that_fit_no_entity_become_dead_letters(
    store: AnyStore, engine: Database, seen: Seen
) -> None:
    ledger.on_change(name="all")(lambda _: None)
    for item in (ODD, BAD):
        engine.execute("PutItem", {"TableName": "Ledger", "Item": item})
    put(store, 1)
    assert follow(store) == Followed(records=3, handled=2, dead_letters=3)
    dead_letters = store.dead_letters(ledger)
    assert [(each.handler, each.key, each.attempts) for each in dead_letters] == [
        ("all", "pk='odd' sk='odd'", 0),
        ("all", "pk='A#bad' sk='ACCOUNT'", 0),
        ("note", "pk='A#bad' sk='ACCOUNT'", 0),
    ]
    assert dead_letters[0].error.startswith(
        "ItemInvalid: item pk='odd' sk='odd' of Ledger: its key"
    )
    assert "balance" in dead_letters[1].error
    assert seen == [("ada", None, 1)]


# Start positions and checkpoints.


def test_following_resumes_where_it_ended(store: AnyStore, seen: Seen) -> None:
    put(store, 1, 2)
    follow(store)
    put(store, 3)
    assert follow(store) == Followed(records=1, handled=1)
    assert seen.of("ada") == [1, 2, 3]


def test_followers_with_different_names_are_independent(store: AnyStore, seen: Seen) -> None:
    put(store, 1)
    follow(store, name="one")
    follow(store, name="two")
    assert seen.of("ada") == [1, 1]


def test_starting_at_the_latest_skips_earlier_changes(
    store: AnyStore, seen: Seen, clock: Clock
) -> None:
    put(store, 1, 2)
    clock.advance(1)
    assert follow(store, start="latest") == Followed()
    put(store, 3)
    # The first run wrote no checkpoint; only its start time is known, to the second.
    follow(store, start="latest")
    put(store, 4)
    follow(store)
    assert seen.of("ada") == [3, 4]


def test_children_are_read_after_their_parents(
    store: AnyStore, engine: Database, seen: Seen
) -> None:
    names = [f"user-{number}" for number in range(10)]
    for balance in range(20):
        for name in names:
            put(store, balance, name=name)
    [stream] = engine.execute("ListStreams", {})["Streams"]
    described = engine.execute("DescribeStream", {"StreamArn": stream["StreamArn"]})
    assert follow(store, batch=7) == Followed(records=200, handled=200)
    assert len(described["StreamDescription"]["Shards"]) > 1
    for name in names:
        assert seen.of(name) == list(range(20))
    put(store, 20, 21)
    follow(store)
    assert seen.of("ada") == [20, 21]


def test_an_expired_iterator_is_opened_again(
    store: AnyStore, engine: Database, clock: Clock
) -> None:
    seen: list[int] = []

    @ledger.on_change(Account)
    def slow(change: Change[Account]) -> None:
        assert change.new is not None
        seen.append(change.new.balance)
        clock.advance(timedelta(minutes=20))

    put(store, 1, 2, 3)
    # Each change takes longer than an iterator and a lease last.
    assert follow(store, batch=1, lease_seconds=3600.0) == Followed(records=3, handled=3)
    assert seen == [1, 2, 3]
    assert any(isinstance(each.error, ExpiredIteratorException) for each in store.calls)


def test_dropped_records_are_reported_as_a_gap(
    store: AnyStore, engine: Database, seen: Seen, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    put(store, 1)
    follow(store)
    put(store, 2)
    clock.advance(timedelta(hours=25))
    engine.run_upkeep()
    put(store, 3)
    report = follow(store)
    assert (seen.of("ada"), report.gaps > 0) == ([1, 3], True)
    assert "the stream dropped changes" in caplog.text
    put(store, 4)
    assert follow(store).gaps == 0
    assert seen.of("ada") == [1, 3, 4]


def test_leases_of_shards_that_are_gone_are_removed(
    store: AnyStore, engine: Database, seen: Seen, clock: Clock
) -> None:
    def list_leases() -> set[str]:
        items = engine.execute("Scan", {"TableName": "Ledger-leases"})["Items"]
        return {item["sk"]["S"].rpartition("#")[2] for item in items} - {"dead-letters"}

    def list_shards() -> set[str]:
        [stream] = engine.execute("ListStreams", {})["Streams"]
        described = engine.execute("DescribeStream", {"StreamArn": stream["StreamArn"]})
        return {each["ShardId"] for each in described["StreamDescription"]["Shards"]}

    for _ in range(3):
        put(store, *range(40))
        follow(store)
    before = list_leases()
    assert before == list_shards()
    clock.advance(timedelta(hours=30))
    engine.run_upkeep()
    put(store, 1)
    follow(store)
    assert list_leases() == list_shards()
    assert before - list_leases()
    assert len(seen) == 121


def test_a_stream_that_is_switched_off_is_read_to_its_end(
    store: AnyStore, engine: Database, seen: Seen, clock: Clock
) -> None:
    put(store, 1)
    follow(store)
    put(store, 2)
    update = {"TableName": "Ledger", "StreamSpecification": {"StreamEnabled": False}}
    engine.execute("UpdateTable", update)
    put(store, 100)
    assert follow(store, setup=False).records == 1
    with pytest.raises(StreamUnsuitable, match="it is disabled"):
        follow(store, setup=False)
    clock.advance(1)
    follow(store)
    put(store, 3)
    follow(store)
    assert seen.of("ada") == [1, 2, 3]


def test_earlier_streams_of_a_table_are_read_one_after_the_other(
    store: AnyStore, engine: Database, seen: Seen, clock: Clock
) -> None:
    follow(store)
    put(store, 1)
    update = {"TableName": "Ledger", "StreamSpecification": {"StreamEnabled": False}}
    engine.execute("UpdateTable", update)
    clock.advance(1)
    on = {"TableName": "Ledger", "StreamSpecification": ledger.stream_to_dynamodb()}
    engine.execute("UpdateTable", on)
    put(store, 2)
    follow(store)
    assert seen.of("ada") == [1, 2]


def test_a_busy_shard_is_read_later(kind: Kind, engine: Database, clock: Clock, seen: Seen) -> None:
    class Busy:
        refusals = 3

        def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            if operation == "GetRecords" and self.refusals:
                self.refusals -= 1
                raise LimitExceededException("Too many readers")
            return engine.execute(operation, request)

    store = any_store_on(kind, Busy(), [ledger], clock=clock, moves_clock=True, is_embedded=True)
    store.create_table(ledger)
    put(store, 1)
    follow(store)
    assert seen.of("ada") == [1]
    store.close()


# Stopping.


def test_following_stops_between_two_records_and_loses_none(store: AnyStore) -> None:
    stop = threading.Event()
    seen: list[int] = []

    @ledger.on_change(Account)
    def note(change: Change[Account]) -> None:
        assert change.new is not None
        seen.append(change.new.balance)
        if len(seen) == 2:
            stop.set()

    put(store, 1, 2, 3)
    store.follow(ledger, stop=stop)
    assert seen == [1, 2]
    stop.clear()
    follow(store)
    assert seen == [1, 2, 3]
    # The leases were released, so the next run need not wait for them.
    assert store.pauses == []


def test_an_interrupt_gives_the_leases_back(store: AnyStore) -> None:
    seen: list[int] = []

    @ledger.on_change(Account)
    def note(change: Change[Account]) -> None:
        assert change.new is not None
        seen.append(change.new.balance)
        if seen == [1, 2]:
            raise KeyboardInterrupt

    put(store, 1, 2)
    with pytest.raises(KeyboardInterrupt):
        store.follow(ledger)
    follow(store)
    assert seen == [1, 2, 1, 2]
    assert store.pauses == []


def test_a_task_that_is_cancelled_gives_the_leases_back(engine: Database, clock: Clock) -> None:
    seen: list[int] = []
    pauses: list[float] = []

    class Awaited:
        async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            return engine.execute(operation, request)

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    async def cancel() -> Followed:
        settings = StoreSettings([ledger], cursor_key=bytes(32), clock=clock, is_embedded=True)
        store = AsyncStore(Awaited(), settings, sleep=sleep)
        await store.create_table(ledger)
        reached = asyncio.Event()

        @ledger.on_change(Account)
        async def note(change: Change[Account]) -> None:
            assert change.new is not None
            seen.append(change.new.balance)
            if len(seen) == 1:
                reached.set()
                await asyncio.Event().wait()

        await store.run(Account(name="ada", balance=1).put())
        task = asyncio.create_task(store.follow(ledger))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await store.follow(ledger, until_caught_up=True)

    assert asyncio.run(cancel()) == Followed(records=1, handled=1)
    assert (seen, pauses) == ([1, 1], [])


# Errors.


def test_following_reports_what_is_missing(kind: Kind, engine: Database, clock: Clock) -> None:
    store = any_store_on(kind, engine, [ledger], clock=clock)
    with pytest.raises(OptionInvalid, match="It has no change handlers"):
        follow(store)
    with pytest.raises(WrongTable):
        store.follow(rates)
    ledger.on_change(Account, name="note")(lambda _: None)
    for wrong in (
        {"name": "a#b"},
        {"worker": ""},
        {"start": "middle"},
        {"batch": 0},
        {"batch": 1001},
        {"attempts": 0},
        {"lease_seconds": 0},
        {"poll_seconds": -1},
    ):
        with pytest.raises(OptionInvalid, match=next(iter(wrong))):
            follow(store, **wrong)
    store.create_table(ledger)
    with pytest.raises(LeasesMissing, match=r"Ledger-leases: the lease table does not exist"):
        follow(store)
    assert follow(store, setup=True, leases="Others") == Followed()
    assert "Others" in engine.execute("ListTables", {})["TableNames"]
    assert store.dead_letters(ledger) == []
    assert store.retry_dead_letters(ledger) == 0
    store.close()


def test_a_stream_without_the_needed_images_is_refused(
    kind: Kind, engine: Database, clock: Clock
) -> None:
    request = ledger.to_dynamodb()
    request["StreamSpecification"]["StreamViewType"] = "NEW_IMAGE"
    engine.execute("CreateTable", request)
    ledger.on_change(Account, name="note")(lambda _: None)
    store = any_store_on(kind, engine, [ledger], clock=clock, is_embedded=True)
    with pytest.raises(StreamUnsuitable) as caught:
        follow(store)
    assert str(caught.value) == (
        "stream of Ledger: its records show new; handler 'note' needs new and old. "
        "Disable it, and enable it again with another view type. [stream-unsuitable]"
    )
    store.close()


def test_a_coroutine_function_needs_the_async_store(store: AnyStore, kind: Kind) -> None:
    seen: list[int] = []

    @ledger.on_change(Account)
    async def note(change: Change[Account]) -> Request[Any] | None:
        assert change.new is not None
        seen.append(change.new.balance)
        return Receipt(name="ada", number=change.new.balance).put()

    put(store, 7)
    if kind == "sync":
        with pytest.raises(OptionInvalid, match="coroutine function"):
            follow(store)
        return
    follow(store)
    assert seen == [7]
    assert store.run(Receipt.get(name="ada", number=7)) is not None
    assert ledger.handlers["note"] is note


def test_errors_survive_pickling() -> None:
    for error in (LeasesMissing("T"), StreamUnsuitable("T", "it is off", "Switch it on.")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
