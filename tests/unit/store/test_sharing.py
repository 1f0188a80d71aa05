"""Workers that share the shards of a stream, start, stop and die."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from keyfold.store import Store, StoreSettings
from keyfold.store._plans import ApiCall
from keyfold.store._retries import Pause
from keyfold.testing import Clock
from tests.transports import Transport, open_database
from tests.unit.store.ledger import Account, Seen, ledger
from tests.unit.store.workers import LEASE_SECONDS, WorkerSimulation

NAMES = [f"user-{number}" for number in range(12)]


@pytest.fixture(autouse=True)
def no_handlers() -> Iterator[None]:
    """Remove the handlers that a test added; the table is shared by all tests."""
    yield
    ledger.handlers.by_name.clear()


@pytest.fixture
def seen() -> Seen:
    """The changes that a handler of accounts got."""
    seen = Seen()
    ledger.on_change(Account, name="note")(seen.note)
    return seen


@pytest.fixture(params=range(2))
def simulation(
    request: pytest.FixtureRequest, transport: Transport, clock: Clock
) -> Iterator[WorkerSimulation]:
    with open_database(transport, clock=clock, shard_records=25) as engine:
        Store(engine, StoreSettings([ledger])).create_table(ledger)
        yield WorkerSimulation(engine, clock, ledger, random.Random(request.param))


def write(simulation: WorkerSimulation, *balances: int) -> None:
    for balance in balances:
        for name in NAMES:
            item = Account(name=name, balance=balance).put().to_dynamodb()
            simulation.engine.execute("PutItem", item)


def is_in_order(balances: list[int | None]) -> bool:
    """Return whether no balance was skipped; earlier ones may be repeated."""
    most = -1
    for each in balances:
        assert each is not None
        if each > most + 1:
            return False
        most = max(most, each)
    return True


def has_seen(seen: Seen, last: int) -> bool:
    return all(seen.of(name)[-1:] == [last] for name in NAMES)


def count_parents(simulation: WorkerSimulation) -> int:
    [stream] = simulation.engine.execute("ListStreams", {})["Streams"]
    described = simulation.engine.execute("DescribeStream", {"StreamArn": stream["StreamArn"]})
    return sum("ParentShardId" in each for each in described["StreamDescription"]["Shards"])


def spread(simulation: WorkerSimulation) -> None:
    """Write until the stream has split into eight open shards."""
    for balance in range(20):
        write(simulation, balance)
        count_parents(simulation)


def test_the_shards_of_the_simulation_split(simulation: WorkerSimulation) -> None:
    spread(simulation)
    assert count_parents(simulation) >= 6


def test_each_change_is_handled_once_if_no_worker_dies(
    simulation: WorkerSimulation, seen: Seen
) -> None:
    spread(simulation)
    for name in ("one", "two", "three"):
        simulation.start(name)
    simulation.run(lambda: has_seen(seen, 19))
    write(simulation, 20)
    simulation.run(lambda: has_seen(seen, 20))
    assert Counter(seen.of(name) == list(range(21)) for name in NAMES) == {True: len(NAMES)}


def test_workers_end_up_with_equal_shares(simulation: WorkerSimulation, seen: Seen) -> None:
    spread(simulation)
    assert count_parents(simulation) >= 6, "too few shards to share"
    first = simulation.start("one")
    simulation.run(lambda: has_seen(seen, 19) and first.shards >= 4)
    shards = first.shards
    second = simulation.start("two")
    simulation.run(lambda: abs(first.shards - second.shards) <= 1 and second.shards > 0)
    third = simulation.start("three")
    workers = [first, second, third]
    simulation.run(
        lambda: max(each.shards for each in workers) - min(each.shards for each in workers) <= 1
    )
    assert sum(worker.shards for worker in workers) <= shards
    # Nothing was handled twice meanwhile, because shards were handed over.
    write(simulation, 20)
    simulation.run(lambda: has_seen(seen, 20))
    assert all(seen.of(name) == list(range(21)) for name in NAMES)
    assert len({name for name, _ in simulation.handled[-len(NAMES) :]}) > 1


def test_the_shards_of_a_worker_that_died_are_taken_over(
    simulation: WorkerSimulation, seen: Seen
) -> None:
    spread(simulation)
    first, _ = simulation.start("one"), simulation.start("two")
    simulation.run(lambda: has_seen(seen, 19))
    simulation.kill(first)
    write(simulation, 20)
    died_at = simulation.clock()
    simulation.run(lambda: has_seen(seen, 20))
    assert simulation.clock() - died_at < LEASE_SECONDS * 2
    assert all(is_in_order(seen.of(name)) for name in NAMES)


def test_a_restarted_worker_does_not_wait_for_its_own_leases(
    simulation: WorkerSimulation, seen: Seen
) -> None:
    spread(simulation)
    first = simulation.start("one")
    simulation.run(lambda: has_seen(seen, 19))
    simulation.kill(first)
    write(simulation, 20)
    died_at = simulation.clock()
    simulation.start("one", until_caught_up=True)
    simulation.run(lambda: not simulation.workers)
    assert has_seen(seen, 20)
    assert simulation.clock() - died_at < LEASE_SECONDS / 3


def test_catching_up_waits_for_the_leases_of_a_dead_worker(
    simulation: WorkerSimulation, seen: Seen
) -> None:
    spread(simulation)
    first = simulation.start("one")
    simulation.run(lambda: has_seen(seen, 19))
    simulation.kill(first)
    write(simulation, 20)
    simulation.start("two", until_caught_up=True)
    simulation.run(lambda: not simulation.workers)
    assert has_seen(seen, 20)


def test_catching_up_leaves_shards_to_live_workers(
    simulation: WorkerSimulation, seen: Seen
) -> None:
    spread(simulation)
    first = simulation.start("one")
    simulation.run(lambda: has_seen(seen, 19))
    second = simulation.start("two", until_caught_up=True)
    simulation.run(lambda: second not in simulation.workers)
    assert first in simulation.workers


def test_a_worker_that_was_frozen_too_long_handles_no_old_changes(
    simulation: WorkerSimulation, seen: Seen
) -> None:
    spread(simulation)
    first = simulation.start("one")
    # In the middle of a batch, about to renew a lease or to write a checkpoint.
    simulation.run(lambda: len(seen) > 60 and isinstance(first.next, ApiCall))
    first.is_frozen = True
    second = simulation.start("two")
    simulation.run(lambda: has_seen(seen, 19) and isinstance(second.next, Pause))
    before = len(simulation.handled)
    first.is_frozen = False
    simulation.kill(second)
    write(simulation, 20)
    simulation.run(lambda: has_seen(seen, 20))
    # It noticed that it had lost its leases before it handled an old change.
    assert {change.new and change.new.balance for _, change in simulation.handled[before:]} == {20}
    assert all(is_in_order(seen.of(name)) for name in NAMES)


@pytest.mark.parametrize("failing", [0.0, 0.03])
def test_no_change_is_missed_whichever_workers_die(
    simulation: WorkerSimulation, seen: Seen, failing: float
) -> None:
    """Workers are killed at random calls and others started while the table is written to.

    Some calls fail, whether they were carried out or not.
    """
    rng, simulation.failing = simulation.rng, failing
    balance, deaths = 0, 0
    write(simulation, 0)
    for number in range(2_500):
        if number % 60 == 0 and balance < 30:
            balance += 1
            write(simulation, balance)
        if len(simulation.workers) < 3 and rng.random() < 0.02:
            simulation.start(f"worker-{number}")
        if simulation.workers and rng.random() < 0.01:
            simulation.kill(rng.choice(simulation.workers))
            deaths += 1
        simulation.step()
    simulation.start("last")
    simulation.run(lambda: has_seen(seen, balance), max_steps=200_000)
    assert (balance, deaths > 5) == (30, True)
    assert [name for name in NAMES if not is_in_order(seen.of(name))] == []


def test_dead_letters_keep_their_order_among_workers(simulation: WorkerSimulation) -> None:
    """A handler fails now and then; its dead letters are retried while workers die."""
    seen, rng = Seen(), simulation.rng

    @ledger.on_change(Account, name="note")
    def note(change: object) -> None:
        if rng.random() < 0.05:
            raise ValueError("not now")
        seen.note(change)  # type: ignore[arg-type] - of accounts

    assert note.name == "note"
    for balance in range(12):
        write(simulation, balance)
        for _ in range(100):
            if len(simulation.workers) < 3 and rng.random() < 0.1:
                simulation.start(f"worker-{balance}-{len(simulation.handled)}")
            if simulation.workers and rng.random() < 0.01:
                simulation.kill(rng.choice(simulation.workers))
            simulation.step()
        _retry(simulation)
    simulation.start("last")
    for _ in range(100):
        _retry(simulation)
        before = len(seen)
        for _ in range(400):
            simulation.step()
        if has_seen(seen, 11) and len(seen) == before:
            break
    assert has_seen(seen, 11)
    assert [name for name in NAMES if not is_in_order(seen.of(name))] == []


def _retry(simulation: WorkerSimulation) -> None:
    """Mark dead letters for a retry, as `retry_dead_letters` does."""
    try:
        found = simulation.engine.execute("Scan", {"TableName": "Ledger-leases"})
    except Exception:  # noqa: BLE001 - there is no lease table yet
        return
    for item in found["Items"]:
        if item.get("state") == {"S": "failed"}:
            item["state"] = {"S": "retrying"}
            simulation.engine.execute("PutItem", {"TableName": "Ledger-leases", "Item": item})
