"""Whose turn it is: one client's requests, however expensive, do not keep others waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyfold.engine import NO_DEADLINE, Deadline, Engine, NeedsThread
from keyfold.engine.storage import Durability
from keyfold.errors import KeyfoldError
from keyfold.wire.server._answers import AMZ_JSON
from keyfold.wire.server._lanes import Lane
from keyfold.wire.server._requests import LargeCall, WireCall
from tests.hostile.clocks import Ticks
from tests.unit.wire.server.http import (
    TABLE,
    Wire,
    ask,
    get,
    make_table,
    put,
    read_responses,
)
from tests.unit.wire.server.test_parsing_once import ReadingGate

PARTITION: dict[str, Any] = {
    "TableName": "Rows",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


class Recorder(Engine):
    """An engine that notes the threads in which it executes whole operations."""

    threads: list[str]

    def execute_parsed(
        self, operation: str, request: Any, deadline: Deadline = NO_DEADLINE
    ) -> dict[str, Any]:
        self.threads.append(threading.current_thread().name)
        return super().execute_parsed(operation, request, deadline)


@pytest.fixture
def engine() -> Iterator[Recorder]:
    with Recorder.open(":memory:", upkeep_seconds=None) as engine:
        engine.threads = []
        make_table(engine)
        engine.execute("CreateTable", PARTITION)
        yield engine


@pytest.fixture
def wire(engine: Engine) -> Iterator[Wire]:
    wire = Wire(engine)
    yield wire
    wire.close()


def fill(engine: Engine, count: int, text: str) -> None:
    for number in range(count):
        item = {"pk": {"S": "a"}, "sk": {"N": str(number)}, "t": {"S": text}}
        engine.execute("PutItem", {"TableName": "Rows", "Item": item})


def query(**more: Any) -> bytes:
    request = {
        "TableName": "Rows",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {"S": "a"}},
    }
    return ask("Query", request | more)


MANY = " OR ".join(f"contains(t, :v) OR a{number} = :v" for number in range(70))
LONG: dict[str, dict[str, Any]] = {
    "many bytes": {},
    "a projection of many bytes": {"ProjectionExpression": "sk"},
    "many operators": {
        "FilterExpression": MANY,
        "ExpressionAttributeValues": {":p": {"S": "a"}, ":v": {"S": "x"}},
        "Limit": 20,
    },
}


@pytest.mark.parametrize("form", LONG)
def test_a_long_page_is_read_in_a_thread(engine: Recorder, wire: Wire, form: str) -> None:
    fill(engine, 200, "x" * 1_000)
    (response,) = wire.exchange(query(**LONG[form]))
    assert response.status == 200
    assert engine.threads == ["keyfold-operations-0"]


def test_a_long_page_after_another_is_not_tried_on_the_loop(
    engine: Recorder, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(engine, 200, "x" * 1_000)
    tried: list[str] = []
    read_inline = Engine.read_inline

    def note(engine: Engine, operation: str, request: Any) -> dict[str, Any]:
        tried.append(operation)
        return read_inline(engine, operation, request)

    monkeypatch.setattr(Engine, "read_inline", note)
    responses = wire.exchange(query() * 4 + query(Limit=1) * 4)
    assert [response.json["Count"] for response in responses] == [200] * 4 + [1] * 4
    # The first of them, and those that follow the first short one.
    assert tried == ["Query"] * 4


def test_a_short_page_is_read_on_the_loop(engine: Recorder, wire: Wire) -> None:
    fill(engine, 50, "x" * 400)
    (response,) = wire.exchange(query(Limit=50))
    assert response.json["Count"] == 50
    assert engine.threads == []


def test_many_small_rows_are_read_in_a_thread(engine: Recorder, wire: Wire) -> None:
    fill(engine, 600, "x")
    (response,) = wire.exchange(query())
    assert response.json["Count"] == 600
    assert engine.threads == ["keyfold-operations-0"]


def test_a_large_item_is_read_in_a_thread(engine: Recorder, wire: Wire) -> None:
    wire.exchange(put("large", t={"S": "x" * 300_000}))
    engine.threads.clear()
    (response,) = wire.exchange(get("large"))
    assert len(response.json["Item"]["t"]["S"]) == 300_000
    assert engine.threads == ["keyfold-operations-0"]


def test_a_large_request_to_read_runs_in_a_thread(engine: Recorder, wire: Wire) -> None:
    key = {"pk": {"S": "a" * 200}}
    gets = [{"Get": {"TableName": TABLE, "Key": key}} for _ in range(100)]
    (response,) = wire.exchange(ask("TransactGetItems", {"TransactItems": gets}))
    assert response.status == 400
    assert engine.threads == ["keyfold-operations-0"]


def test_pipelined_requests_are_answered_in_several_turns(engine: Recorder, wire: Wire) -> None:
    fill(engine, 5, "x")
    greedy, transport = wire.connect()

    def tick() -> float:
        wire.clock.now += 0.001
        return wire.clock.now

    wire.state.monotonic = tick
    greedy.data_received(query() * 30)
    answered = len(read_responses(transport.written))
    assert 0 < answered < 5, "the connection has had its turn"
    polite, other = wire.connect()
    polite.data_received(query())
    assert len(read_responses(other.written)) == 1, "others are answered meanwhile"
    wire.run_until_idle()
    assert len(read_responses(transport.written)) == 30, "nothing is lost"


class SlowEngine:
    """Serves an engine whose scans last until they are released."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.released = threading.Event()

    def execute_parsed(self, operation: str, request: Any) -> dict[str, Any]:
        if operation == "Scan":
            self.released.wait()
        return self._engine.execute_parsed(operation, request)


def test_slow_searches_do_not_hold_up_metadata(engine: Engine) -> None:
    slow = SlowEngine(engine)
    wire = Wire(slow)
    searching = [wire.connect() for _ in range(20)]
    for connection, _ in searching:
        connection.data_received(ask("Scan", {"TableName": TABLE}))
    listing, listed = wire.connect()
    listing.data_received(ask("ListTables", {}))
    while not listed.written:
        wire.loop.run_until_complete(wire.next_turn())
    assert read_responses(listed.written)[0].json == {"TableNames": ["Rows", TABLE]}
    assert not any(transport.written for _, transport in searching)
    slow.released.set()
    wire.run_until_idle()
    assert all(transport.written for _, transport in searching)
    wire.close()


class Client:
    """A client of a lane."""

    def __init__(self, spent_seconds: float = 0.0) -> None:
        self.spent_seconds = spent_seconds


def test_who_has_spent_much_waits_behind_who_has_not() -> None:
    now = 0.0
    lane = Lane("test", 1, lambda: now)
    begun, release, order = threading.Event(), threading.Event(), list[str]()

    def hold() -> None:
        begun.set()
        release.wait()

    lane.submit(hold, Client())
    begun.wait()
    lane.submit(lambda: order.append("greedy"), Client(spent_seconds=5.0))
    now = 2.0
    lane.submit(lambda: order.append("polite"), Client())
    now = 7.0
    lane.submit(lambda: order.append("late"), Client())
    release.set()
    lane.stop()
    assert order == ["polite", "greedy", "late"]


def test_what_a_client_spends_is_forgotten_by_halves() -> None:
    times = iter([0.0, 1.0, 4.0])
    lane, client = Lane("test", 1, lambda: next(times)), Client(spent_seconds=2.0)
    lane.submit(lambda: None, client)
    lane.stop()
    assert client.spent_seconds == 4.0


class HeldLane:
    """A lane whose work lasts until the test releases it, and the names of what has begun."""

    def __init__(self, threads: int) -> None:
        self.now = 0.0
        self.lane = Lane("test", threads, lambda: self.now)
        self.begun: list[str] = []
        self._changed = threading.Condition()
        self._released: set[str] = set()

    def submit(self, name: str, owner: str, client: Client | None = None) -> None:
        def work() -> None:
            with self._changed:
                self.begun.append(name)
                self._changed.notify_all()
                self._changed.wait_for(lambda: name in self._released)

        self.lane.submit(work, client or Client(), owner)

    def wait_for(self, count: int) -> list[str]:
        """Wait until so many have begun, and return their names."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= count, timeout=60)
            return self.begun[:]

    def release(self, *names: str) -> None:
        with self._changed:
            self._released.update(names)
            self._changed.notify_all()


def test_many_connections_of_one_owner_leave_a_thread_for_others() -> None:
    held = HeldLane(threads=4)
    greedy = [f"greedy {number}" for number in range(50)]
    for name in greedy:
        held.submit(name, "192.0.2.1")
    assert sorted(held.wait_for(4)) == sorted(greedy[:4])
    held.submit("polite", "192.0.2.2")
    assert held.wait_for(5)[4] == "polite", "it does not wait for any of the fifty"
    held.release("polite", *greedy)
    held.lane.stop()
    assert sorted(held.begun) == sorted(["polite", *greedy]), "nothing is lost"


def test_owners_take_turns_however_many_connections_they_have() -> None:
    held = HeldLane(threads=1)
    held.submit("first", "a")
    held.wait_for(1)
    for number in range(20):
        held.submit(f"a{number}", "a")
    held.submit("hold", "z")
    held.wait_for(2)
    for number in range(3):
        held.submit(f"b{number}", "b")
    running = "first"
    for count in range(3, 9):
        # Each takes a second.
        held.now += 1.0
        held.release(running)
        running = held.wait_for(count)[-1]
    assert held.begun[2:] == ["b0", "a0", "b1", "a1", "b2", "a2"]
    held.release("hold", *(f"a{number}" for number in range(20)))
    held.lane.stop()


@pytest.mark.parametrize(
    ("verifies_keys", "owner"), [(None, "192.0.2.1"), (False, "192.0.2.1"), (True, "key key")]
)
def test_the_owner_is_a_verified_key_or_an_address(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, verifies_keys: bool | None, owner: str
) -> None:
    """Otherwise a client could take any key's turns, or make up as many keys as it likes."""
    gate = None if verifies_keys is None else ReadingGate()
    if gate is not None and verifies_keys is not None:
        gate.verifies_keys = verifies_keys
    wire = Wire(engine, gate=gate)
    owners: list[str] = []
    submit = Lane.submit

    def note(lane: Lane, work: Callable[[], None], client: Any, name: str = "") -> None:
        owners.append(name)
        submit(lane, work, client, name)

    monkeypatch.setattr(Lane, "submit", note)
    wire.exchange(ask("Scan", {"TableName": TABLE}))
    assert owners == [owner]
    owners.clear()
    wire.exchange(ask("Scan", {"TableName": TABLE, "Filler": "x" * 100_000}))
    # A large body is decoded before its key is verified, and freed in the end.
    assert owners == ["192.0.2.1", owner, "192.0.2.1"]
    wire.close()


def test_work_that_has_not_begun_can_be_discarded() -> None:
    held = HeldLane(threads=1)
    held.submit("runs", "a")
    held.wait_for(1)
    for number in range(10):
        held.submit(f"waits {number}", "a")
    assert held.lane.discard() == 10
    held.release("runs")
    held.lane.stop()
    assert held.begun == ["runs"]


class CommitRecorder(Engine):
    """An engine that notes each shared commit: its number of outcomes, and whether a thread ran it.

    It also notes the operations that were carried out by themselves, beside the others.
    """

    commits: list[tuple[int, bool]]
    aside: list[str]

    def execute_parsed(
        self, operation: str, request: Any, deadline: Deadline = NO_DEADLINE
    ) -> dict[str, Any]:
        assert threading.current_thread().name.startswith("keyfold-writes")
        assert deadline is not NO_DEADLINE
        self.aside.append(operation)
        return super().execute_parsed(operation, request, deadline)

    def execute_together(
        self,
        calls: Sequence[tuple[str, Any]],
        *,
        may_wait: bool = True,
        deadline: Deadline = NO_DEADLINE,
    ) -> list[dict[str, Any] | KeyfoldError | NeedsThread]:
        outcomes = super().execute_together(calls, may_wait=may_wait, deadline=deadline)
        is_in_thread = threading.current_thread().name == "keyfold-commits"
        self.commits.append((len(outcomes), is_in_thread))
        return outcomes


@pytest.fixture
def commits() -> Iterator[CommitRecorder]:
    with CommitRecorder.open(":memory:", upkeep_seconds=None) as engine:
        engine.commits, engine.aside = [], []
        make_table(engine)
        yield engine


def test_a_large_write_is_carried_out_beside_the_others(commits: CommitRecorder) -> None:
    wire = Wire(commits)
    large = put("large", t={"S": "x" * 100_000})
    sent = [large, put("a"), put("b"), large, put("c")]
    connected = [wire.connect() for _ in sent]
    for (connection, _), request in zip(connected, sent, strict=True):
        connection.data_received(request)
    wire.run_until_idle()
    assert all(transport.written.startswith(b"HTTP/1.1 200") for _, transport in connected)
    assert commits.commits == [(3, False)]
    assert commits.aside == ["PutItem", "PutItem"]
    wire.close()


class HeldWrites(CommitRecorder):
    """An engine whose large writes wait for an event."""

    may_write: threading.Event

    def execute_parsed(
        self, operation: str, request: Any, deadline: Deadline = NO_DEADLINE
    ) -> dict[str, Any]:
        assert self.may_write.wait(30), "a small write waited for a large one"
        return super().execute_parsed(operation, request, deadline)


@pytest.mark.parametrize("durability", ["process", "durable"])
def test_small_writes_do_not_wait_for_large_ones(tmp_path: Path, durability: Durability) -> None:
    body = {"TableName": TABLE, "Item": {"pk": {"S": "large"}, "t": {"S": "x" * 100_000}}}
    done: list[str] = []
    path = tmp_path / "things.db"
    with HeldWrites.open(path, durability=durability, upkeep_seconds=None) as engine:
        engine.commits, engine.aside, engine.may_write = [], [], threading.Event()
        make_table(engine)
        wire = Wire(engine)
        for name in ("large 1", "large 2", "small"):
            item = body if name != "small" else {"TableName": TABLE, "Item": {"pk": {"S": "small"}}}
            kind = (
                WireCall if name == "small" else partial(LargeCall, encoding=None, longest_body=1)
            )

            def note(_: object, name: str = name) -> None:
                done.append(name)
                engine.may_write.set()

            wire.scheduler.run(kind("PutItem", orjson.dumps(item), AMZ_JSON), note)
        wire.run_until_idle()
        assert done == ["small", "large 1", "large 2"]
        wire.close()


def test_a_condition_that_is_much_work_is_evaluated_in_a_thread(commits: CommitRecorder) -> None:
    wire = Wire(commits)
    wire.exchange(put("a", t={"S": "x" * 50_000}))
    commits.commits.clear()
    condition = " OR ".join(f"contains(t, :v{number})" for number in range(100))
    update = {
        "TableName": TABLE,
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": "SET n = :n",
        "ConditionExpression": f"{condition} OR t <> :n",
        "ExpressionAttributeValues": {
            ":n": {"N": "1"},
            **{f":v{number}": {"S": "y"} for number in range(100)},
        },
    }
    (response,) = wire.exchange(ask("UpdateItem", update))
    assert response.status == 200
    assert commits.aside == ["UpdateItem"]
    wire.close()


def test_a_transaction_of_many_long_items_runs_in_a_thread(commits: CommitRecorder) -> None:
    wire = Wire(commits)
    for number in range(20):
        wire.exchange(put(str(number), t={"S": "x" * 20_000}))
    commits.commits.clear()
    checks = [
        {
            "ConditionCheck": {
                "TableName": TABLE,
                "Key": {"pk": {"S": str(number)}},
                "ConditionExpression": "attribute_exists(t)",
            }
        }
        for number in range(20)
    ]
    (response,) = wire.exchange(ask("TransactWriteItems", {"TransactItems": checks}))
    assert response.status == 200
    assert commits.aside == ["TransactWriteItems"]
    wire.close()


def test_writes_that_take_long_are_committed_in_several_groups(commits: CommitRecorder) -> None:
    wire = Wire(commits)
    wire.scheduler._monotonic = Ticks()
    connected = [wire.connect() for _ in range(5)]
    for number, (connection, _) in enumerate(connected):
        connection.data_received(put(str(number)))
    wire.run_until_idle()
    assert all(transport.written.startswith(b"HTTP/1.1 200") for _, transport in connected)
    assert commits.commits == [(1, False)] * 5
    assert commits.execute("Scan", {"TableName": TABLE})["Count"] == 5
    wire.close()


def test_an_update_of_a_long_item_runs_in_a_thread(commits: CommitRecorder) -> None:
    wire = Wire(commits)
    wire.exchange(put("long", t={"S": "x" * 300_000}))
    commits.aside.clear()
    update = {
        "TableName": TABLE,
        "Key": {"pk": {"S": "long"}},
        "UpdateExpression": "SET n = :n",
        "ExpressionAttributeValues": {":n": {"N": "1"}},
        "ReturnValues": "UPDATED_NEW",
    }
    (response,) = wire.exchange(ask("UpdateItem", update))
    assert response.json == {"Attributes": {"n": {"N": "1"}}}
    assert commits.aside == ["UpdateItem"]
    wire.close()


def test_others_get_their_turn_after_much_data(engine: Engine) -> None:
    wire = Wire(engine)
    client, transport = wire.connect()
    request = put("long", t={"S": "x" * 300_000})
    client.data_received(request[:150_000])
    assert transport.is_paused
    wire.run_until_idle()
    assert not transport.is_paused
    client.data_received(request[150_000:151_000])
    assert not transport.is_paused
    client.data_received(request[151_000:])
    wire.run_until_idle()
    (response,) = read_responses(transport.written)
    assert response.status == 200
    wire.close()


def test_others_get_their_turn_while_data_is_discarded(engine: Engine) -> None:
    wire = Wire(engine)
    client, transport = wire.connect()
    client.data_received(b"what is this?\r\n\r\n")
    for _ in range(3):
        client.data_received(b"x" * 150_000)
        assert transport.is_paused
        wire.run_until_idle()
        assert not transport.is_paused
    assert transport.written.startswith(b"HTTP/1.1 400")
    wire.close()


def test_a_busy_loop_lets_a_commit_have_the_interpreter(engine: Engine) -> None:
    wire = Wire(engine)
    slept: list[float] = []
    wire.scheduler._sleep = slept.append
    wire.scheduler.run_next_turn(lambda: None)
    wire.run_until_idle()
    assert slept == []
    wire.scheduler._is_committing = True
    for _ in range(10):
        wire.scheduler.run_next_turn(lambda: None)
    wire.run_until_idle()
    # Of the turns of one iteration, one sleeps.
    assert 1 <= len(slept) < 10
    wire.close()
