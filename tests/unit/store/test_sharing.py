"""Workers that share the shards of a stream, come and go, and die."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from keyfold.store import Store, StoreSettings
from keyfold.store._plans import ApiCall, Pause
from keyfold.testing import Clock
from tests.transports import Transport, open_database
from tests.unit.store.ledger import Account, Seen, ledger
from tests.unit.store.workers import LEASE_SECONDS, Stage

NAMES = [f"user-{number}" for number in range(12)]


@pytest.fixture(autouse=True)
def no_handlers() -> Iterator[None]:
    """The table is every test's; its handlers are those of one."""
    yield
    ledger.handlers.by_name.clear()


@pytest.fixture
def seen() -> Seen:
    """What a handler of accounts was told."""
    seen = Seen()
    ledger.on_change(Account, name="note")(seen.note)
    return seen


@pytest.fixture(params=range(2))
def stage(request: pytest.FixtureRequest, transport: Transport, clock: Clock) -> Iterator[Stage]:
    with open_database(transport, clock=clock, shard_records=25) as engine:
        Store(engine, StoreSettings([ledger])).create_table(ledger)
        yield Stage(engine, clock, ledger, random.Random(request.param))


def write(stage: Stage, *balances: int) -> None:
    for balance in balances:
        for name in NAMES:
            item = Account(name=name, balance=balance).put().to_dynamodb()
            stage.engine.execute("PutItem", item)


def is_in_order(told: list[int | None]) -> bool:
    """Tell whether nothing was left out; what was told before may be told again."""
    most = -1
    for each in told:
        assert each is not None
        if each > most + 1:
            return False
        most = max(most, each)
    return True


def has_seen(seen: Seen, last: int) -> bool:
    return all(seen.of(name)[-1:] == [last] for name in NAMES)


def count_parents(stage: Stage) -> int:
    [stream] = stage.engine.execute("ListStreams", {})["Streams"]
    described = stage.engine.execute("DescribeStream", {"StreamArn": stream["StreamArn"]})
    return sum("ParentShardId" in each for each in described["StreamDescription"]["Shards"])


def spread(stage: Stage) -> None:
    """Split shards until there are eight that are open."""
    for balance in range(20):
        write(stage, balance)
        count_parents(stage)


def test_the_shards_of_the_stage_split(stage: Stage) -> None:
    spread(stage)
    assert count_parents(stage) >= 6


def test_each_change_is_told_once_when_nobody_dies(stage: Stage, seen: Seen) -> None:
    spread(stage)
    for name in ("one", "two", "three"):
        stage.start(name)
    stage.run(lambda: has_seen(seen, 19))
    write(stage, 20)
    stage.run(lambda: has_seen(seen, 20))
    assert Counter(seen.of(name) == list(range(21)) for name in NAMES) == {True: len(NAMES)}


def test_workers_come_to_have_equal_shares(stage: Stage, seen: Seen) -> None:
    spread(stage)
    assert count_parents(stage) >= 6, "there is something to share"
    first = stage.start("one")
    stage.run(lambda: has_seen(seen, 19) and first.shards >= 4)
    shards = first.shards
    second = stage.start("two")
    stage.run(lambda: abs(first.shards - second.shards) <= 1 and second.shards > 0)
    third = stage.start("three")
    actors = [first, second, third]
    stage.run(lambda: max(a.shards for a in actors) - min(a.shards for a in actors) <= 1)
    assert sum(actor.shards for actor in actors) <= shards
    # Nothing was told twice on the way, for shards were handed over.
    write(stage, 20)
    stage.run(lambda: has_seen(seen, 20))
    assert all(seen.of(name) == list(range(21)) for name in NAMES)
    assert len({name for name, _ in stage.told[-len(NAMES) :]}) > 1


def test_the_shards_of_a_worker_that_died_are_taken_over(stage: Stage, seen: Seen) -> None:
    spread(stage)
    first, _ = stage.start("one"), stage.start("two")
    stage.run(lambda: has_seen(seen, 19))
    stage.kill(first)
    write(stage, 20)
    died_at = stage.clock()
    stage.run(lambda: has_seen(seen, 20))
    assert stage.clock() - died_at < LEASE_SECONDS * 2
    assert all(is_in_order(seen.of(name)) for name in NAMES)


def test_a_worker_that_is_started_again_need_not_wait(stage: Stage, seen: Seen) -> None:
    spread(stage)
    first = stage.start("one")
    stage.run(lambda: has_seen(seen, 19))
    stage.kill(first)
    write(stage, 20)
    died_at = stage.clock()
    stage.start("one", until_caught_up=True)
    stage.run(lambda: not stage.actors)
    assert has_seen(seen, 20)
    assert stage.clock() - died_at < LEASE_SECONDS / 3


def test_catching_up_waits_for_what_a_dead_worker_had(stage: Stage, seen: Seen) -> None:
    spread(stage)
    first = stage.start("one")
    stage.run(lambda: has_seen(seen, 19))
    stage.kill(first)
    write(stage, 20)
    stage.start("two", until_caught_up=True)
    stage.run(lambda: not stage.actors)
    assert has_seen(seen, 20)


def test_catching_up_leaves_to_others_what_they_are_alive_to_read(stage: Stage, seen: Seen) -> None:
    spread(stage)
    first = stage.start("one")
    stage.run(lambda: has_seen(seen, 19))
    second = stage.start("two", until_caught_up=True)
    stage.run(lambda: second not in stage.actors)
    assert first in stage.actors


def test_a_worker_that_was_away_too_long_tells_nobody_anything(stage: Stage, seen: Seen) -> None:
    spread(stage)
    first = stage.start("one")
    # In the middle of a batch, about to renew a lease or to write down how far it is.
    stage.run(lambda: len(seen) > 60 and isinstance(first.next, ApiCall))
    first.is_frozen = True
    second = stage.start("two")
    stage.run(lambda: has_seen(seen, 19) and isinstance(second.next, Pause))
    told = len(stage.told)
    first.is_frozen = False
    stage.kill(second)
    write(stage, 20)
    stage.run(lambda: has_seen(seen, 20))
    # It has noticed that its leases were another's before it told anybody of an old change.
    assert {change.new and change.new.balance for _, change in stage.told[told:]} == {20}
    assert all(is_in_order(seen.of(name)) for name in NAMES)


@pytest.mark.parametrize("failing", [0.0, 0.03])
def test_nothing_is_missed_whoever_dies_and_whenever(
    stage: Stage, seen: Seen, failing: float
) -> None:
    """Workers are killed at random calls and others started, while the table is written to.

    Some calls are not answered, and may have been carried out.
    """
    chance, stage.failing = stage.chance, failing
    balance, deaths = 0, 0
    write(stage, 0)
    for number in range(2_500):
        if number % 60 == 0 and balance < 30:
            balance += 1
            write(stage, balance)
        if len(stage.actors) < 3 and chance.random() < 0.02:
            stage.start(f"worker-{number}")
        if stage.actors and chance.random() < 0.01:
            stage.kill(chance.choice(stage.actors))
            deaths += 1
        stage.step()
    stage.start("last")
    stage.run(lambda: has_seen(seen, balance), most=200_000)
    assert (balance, deaths > 5) == (30, True)
    assert [name for name in NAMES if not is_in_order(seen.of(name))] == []


def test_parked_changes_keep_their_order_among_workers(stage: Stage) -> None:
    """A handler fails now and then; what it failed for is tried again while workers die."""
    seen, chance = Seen(), stage.chance

    @ledger.on_change(Account, name="note")
    def note(change: object) -> None:
        if chance.random() < 0.05:
            raise ValueError("not now")
        seen.note(change)  # type: ignore[arg-type] - of accounts

    assert note.name == "note"
    for balance in range(12):
        write(stage, balance)
        for _ in range(100):
            if len(stage.actors) < 3 and chance.random() < 0.1:
                stage.start(f"worker-{balance}-{len(stage.told)}")
            if stage.actors and chance.random() < 0.01:
                stage.kill(chance.choice(stage.actors))
            stage.step()
        _retry(stage)
    stage.start("last")
    for _ in range(100):
        _retry(stage)
        before = len(seen)
        for _ in range(400):
            stage.step()
        if has_seen(seen, 11) and len(seen) == before:
            break
    assert has_seen(seen, 11)
    assert [name for name in NAMES if not is_in_order(seen.of(name))] == []


def _retry(stage: Stage) -> None:
    """Mark what has failed, as `retry_dead_letters` does."""
    try:
        found = stage.engine.execute("Scan", {"TableName": "Ledger-leases"})
    except Exception:  # noqa: BLE001 - there is no lease table yet
        return
    for item in found["Items"]:
        if item.get("state") == {"S": "failed"}:
            item["state"] = {"S": "again"}
            stage.engine.execute("PutItem", {"TableName": "Ledger-leases", "Item": item})
