"""Interrupts, such as Ctrl-C: wherever one strikes, work is done once or not at all.

The tests raise them in the storage's view of SQLite, before or after each of its calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from keyfold.engine import Engine
from keyfold.engine.storage import StorageWriter
from tests.unit.engine.storage.tables import (
    ADD_INDEX,
    TABLE,
    add,
    create,
    get,
    names,
    put,
    query_index,
)

# The view's methods that a write calls, in order.
INTERRUPTS = [
    (call, timing) for call in ("begin", "get", "put", "commit") for timing in ("before", "after")
]
COMMITTED = ("commit", "after")


@pytest.fixture(params=["memory", "file"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with (
        Engine.open(":memory:", upkeep_seconds=None)
        if request.param == "memory"
        else Engine.open(tmp_path / "things.db", durability="process", upkeep_seconds=None)
    ) as engine:
        create(engine)
        put(engine, "there", a={"S": "x"})
        engine.execute("UpdateTable", ADD_INDEX)
        assert get(engine, "there") is not None
        yield engine
        assert not _is_in_transaction(engine)
        assert engine.verify() == []


def _is_in_transaction(engine: Engine) -> bool:
    return engine._storage._view.is_in_transaction


@contextmanager
def _interrupted(engine: Engine, call: str, timing: str, *, at: int = 1) -> Generator[None]:
    """Raise KeyboardInterrupt once, before or after the view's `at`-th call of this name."""
    view = type(engine._storage._view)
    original: Callable[..., Any] = getattr(view, call)
    count = 0

    def interrupt(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count == at and timing == "before":
            raise KeyboardInterrupt
        result = original(*arguments, **options)
        if count == at:
            raise KeyboardInterrupt
        return result

    with mock.patch.object(view, call, interrupt):
        yield
    assert count >= at, "the call was never made"


@pytest.mark.parametrize(("call", "timing"), INTERRUPTS)
def test_an_interrupted_update_is_done_once_or_not_at_all(
    engine: Engine, call: str, timing: str
) -> None:
    with _interrupted(engine, call, timing), pytest.raises(KeyboardInterrupt):
        add(engine, "sum")
    assert not _is_in_transaction(engine)
    done = int((call, timing) == COMMITTED)
    assert names(engine) == ({"there", "sum"} if done else {"there"})
    assert add(engine, "sum") == done + 1
    # Later writes are kept, and the interrupted one does not reappear after them.
    put(engine, "later")
    assert add(engine, "sum") == done + 2
    assert names(engine) == {"there", "sum", "later"}


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("timing", ["before", "after"])
def test_an_interrupted_transaction_is_rolled_back(engine: Engine, timing: str, place: int) -> None:
    members = [
        {"Put": {"TableName": TABLE, "Item": {"pk": {"S": name}, "a": {"S": "x"}}}}
        for name in ("one", "two", "three")
    ]
    request = {"TransactItems": members, "ClientRequestToken": "token"}
    with _interrupted(engine, "put", timing, at=place), pytest.raises(KeyboardInterrupt):
        engine.execute("TransactWriteItems", request)
    assert names(engine) == {"there"}
    assert query_index(engine, "x") == {"there"}
    engine.execute("TransactWriteItems", request)
    assert query_index(engine, "x") == {"there", "one", "two", "three"}


@pytest.mark.parametrize("timing", ["before", "after"])
def test_an_interrupted_put_writes_item_and_index_entry_or_neither(
    engine: Engine, timing: str
) -> None:
    with _interrupted(engine, "put", timing), pytest.raises(KeyboardInterrupt):
        put(engine, "new", a={"S": "x"})
    assert not _is_in_transaction(engine)
    assert names(engine) == query_index(engine, "x")
    put(engine, "later", a={"S": "x"})
    assert names(engine) == query_index(engine, "x") >= {"there", "later"}


@pytest.mark.parametrize("call", ["begin", "get_record", "change_columns", "set_record", "commit"])
@pytest.mark.parametrize("timing", ["before", "after"])
def test_an_interrupted_table_change_is_complete_or_absent(
    engine: Engine, call: str, timing: str
) -> None:
    expire = {
        "TableName": TABLE,
        "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": True},
    }
    with _interrupted(engine, call, timing), pytest.raises(KeyboardInterrupt):
        engine.execute("UpdateTimeToLive", expire)
    assert not _is_in_transaction(engine)
    described = engine.execute("DescribeTimeToLive", {"TableName": TABLE})["TimeToLiveDescription"]
    is_done = (call, timing) == COMMITTED
    assert described["TimeToLiveStatus"] == ("ENABLED" if is_done else "DISABLED")
    put(engine, "new", a={"S": "x"})
    assert query_index(engine, "x") == {"there", "new"}


@pytest.mark.parametrize("call", ["get", "read_span"])
@pytest.mark.parametrize("timing", ["before", "after"])
def test_an_interrupted_read_does_not_block_writers(engine: Engine, call: str, timing: str) -> None:
    read = {"get": lambda: get(engine, "there"), "read_span": lambda: names(engine)}[call]
    with _interrupted(engine, call, timing), pytest.raises(KeyboardInterrupt):
        read()
    assert not _is_in_transaction(engine)
    assert add(engine, "sum") == 1
    assert read()


def test_an_interrupt_inside_a_transaction_rolls_it_back(engine: Engine) -> None:
    def work(writer: StorageWriter) -> None:
        writer.set_record("test", "trace", b"x")
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            engine._storage.write(work)
    assert engine._storage.read(lambda reader: reader.get_record("test", "trace")) is None
    assert add(engine, "sum") == 1


class _Writers:
    """Threads that wait for the storage's lock and then share a commit."""

    def __init__(self, engine: Engine, count: int) -> None:
        self.acknowledged: list[int] = []
        self.interrupted = 0
        self._engine = engine
        self._threads = [threading.Thread(target=self._run) for _ in range(count)]

    def _run(self) -> None:
        try:
            self.acknowledged.append(add(self._engine, "sum"))
        except KeyboardInterrupt:
            self.interrupted += 1

    def run_together(self) -> None:
        """Start the threads, and hold the lock until all of them wait for it."""
        storage = self._engine._storage
        lock: Any = storage._lock
        with lock:
            for place, thread in enumerate(self._threads, start=1):
                thread.start()
                while len(storage._waiting) < place:
                    thread.join(0.0005)
                    assert thread.is_alive()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive()


@pytest.mark.parametrize(("call", "timing"), INTERRUPTS)
def test_writers_that_waited_with_an_interrupted_one_are_committed_once(
    engine: Engine, call: str, timing: str
) -> None:
    writers = _Writers(engine, 3)
    with _interrupted(engine, call, timing):
        writers.run_together()
    assert writers.interrupted == 1
    assert len(writers.acknowledged) == 2
    item = get(engine, "sum")
    assert item is not None
    done = 3 if (call, timing) == COMMITTED else 2
    assert item["n"] == {"N": str(done)}
    assert len(set(writers.acknowledged)) == 2
    assert not engine._storage._waiting
    assert add(engine, "sum") == done + 1


class _InterruptingLock:
    """A lock that looks held; waiting for it raises KeyboardInterrupt."""

    def acquire(self, blocking: bool = True) -> bool:
        if blocking:
            raise KeyboardInterrupt
        return False

    def release(self) -> None:
        raise AssertionError

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def test_a_writer_interrupted_while_waiting_is_removed_from_the_queue(engine: Engine) -> None:
    storage = engine._storage
    lock, storage._lock = storage._lock, _InterruptingLock()  # pyright: ignore[reportAttributeAccessIssue] - stands in for a lock
    try:
        with pytest.raises(KeyboardInterrupt):
            add(engine, "sum")
        with pytest.raises(KeyboardInterrupt):
            put(engine, "new")
    finally:
        storage._lock = lock
    put(engine, "later")
    assert add(engine, "sum") == 1
    assert names(engine) == {"there", "later", "sum"}
