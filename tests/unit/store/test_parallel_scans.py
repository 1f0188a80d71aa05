"""Parallel scans: complete, in any order, resumable, and bounded; on both stores."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from keyfold.errors import CursorInvalid, InternalServerError, QueryInvalid, Unavailable
from keyfold.model import Entity, Index, Key, Table
from keyfold.policy import EVERYTHING, READ, Role
from keyfold.store._parallel import MAX_PARALLEL
from tests.transports import Database
from tests.unit.store.store_kinds import AnyStore, OpenStore

by_color = Index("ByColor", key=Key("color"))
stones = Table("Stones", key=Key("pk", "sk"), indexes=[by_color])
stones.add_role(Role("reader", can={EVERYTHING: READ}))
stones.add_role(Role("other", can={"Stone": READ}))


class Stone(Entity, table=stones, key=("STONE#{number:03}", "S")):
    number: int
    color: str = "grey"
    text: str = ""


class Leaf(Entity, table=stones, key=("LEAF#{number:03}", "L")):
    number: int


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    store = open_store(stones)
    for number in range(60):
        store.run(Stone(number=number, color="red" if number % 3 else "grey").put())
        store.run(Leaf(number=number).put())
    store.calls.clear()
    return store


@pytest.mark.parametrize("segments", [1, 2, 7, 40])
def test_a_parallel_scan_finds_everything_once(store: AnyStore, segments: int) -> None:
    found = store.iterate(Stone.scan(segments=segments))
    assert sorted(each.number for each in found) == list(range(60))
    assert len(store.iterate(stones.scan(segments=segments))) == 120
    assert {each.request.get("TotalSegments", 1) for each in store.calls} == {segments}


@pytest.mark.indexes
def test_segments_with_filters_projections_and_indexes(store: AnyStore) -> None:
    red = Stone.scan(segments=3).where(Stone.f.color.eq("red"))
    assert len(store.iterate(red)) == 40
    colored = Stone.scan(by_color, segments=3).refs()
    store.run_until(colored, lambda refs: len(refs) == 60)
    assert len(store.iterate(colored)) == 60
    assert store.run(red.count()) == 40
    assert store.run(Stone.scan(segments=5).count()) == 60


def test_a_page_has_items_of_all_segments_and_adds_up_their_cost(store: AnyStore) -> None:
    page = store.run(Stone.scan(segments=4))
    assert (len(page), page.cursor, page.reads, page.scanned) == (60, None, 4, 120)
    assert page.consumed == sum(each.consumed for each in store.calls)
    assert [each.request["Segment"] for each in store.calls] != [0, 0, 0, 0]


def test_pages_continue_every_segment_by_one_cursor(store: AnyStore) -> None:
    for number in range(60):
        # More than one page of the service for each segment.
        store.run(Stone(number=number, text="x" * 100_000).put())
    scan = Stone.scan(segments=2)
    numbers: list[int] = []
    pages = 0
    request = scan
    while True:
        page = store.run(request)
        pages += 1
        numbers += [each.number for each in page]
        if page.cursor is None:
            break
        request = scan.after(page.cursor)
    assert pages > 1
    assert sorted(numbers) == list(range(60))
    assert sorted(each.number for each in store.iterate(scan)) == list(range(60))
    first = store.run(scan)
    with pytest.raises(CursorInvalid):
        store.run(Stone.scan(segments=3).after(first.cursor))
    with pytest.raises(CursorInvalid):
        store.run(Stone.scan().after(first.cursor))


def test_items_that_do_not_fit_are_reported_for_all_segments(store: AnyStore) -> None:
    for number in range(3):
        key = {"pk": {"S": f"STONE#{number:03}"}, "sk": {"S": "S"}}
        item = {**key, "number": {"S": "many"}, "color": {"S": "red"}}
        store.execute("PutItem", {"TableName": "Stones", "Item": item})
    page = store.run(Stone.scan(segments=5))
    assert (len(page), len(page.invalid)) == (57, 3)


def test_a_limit_is_refused_before_any_call(store: AnyStore) -> None:
    for request in (Stone.scan(segments=2).limit(3), Stone.scan(segments=2).first()):
        with pytest.raises(QueryInvalid, match="a limit would not say which items"):
            store.run(request)
    assert store.calls == []


@pytest.mark.parametrize("segments", [0, -1, True, "2", 1.5])
def test_wrong_numbers_of_segments_are_refused(segments: Any) -> None:
    with pytest.raises(QueryInvalid, match="Pass an integer of at least 1"):
        Stone.scan(segments=segments)


def test_there_is_a_greatest_number_of_segments() -> None:
    with pytest.raises(QueryInvalid, match="got 1,001 segments, but a scan has at most 1,000"):
        stones.scan(segments=1_001)


def test_every_segment_of_a_principal_is_checked_before_the_first_call(store: AnyStore) -> None:
    reader = store.as_principal("reader")
    assert len(reader.iterate(Stone.scan(segments=3))) == 60
    store.calls.clear()
    with pytest.raises(Exception, match="query of EVERYTHING"):
        store.as_principal("other").run(Stone.scan(segments=3))
    assert store.calls == []


class SlowEngine:
    """An engine that counts the calls in progress, and fails in one segment."""

    def __init__(self, engine: Database) -> None:
        self.engine = engine
        self.fails_in: int | None = None
        self.failures = 0
        self.running = self.most = 0
        self._lock = threading.Lock()

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            if operation == "Scan":
                time.sleep(0.005)
                if request.get("Segment") == self.fails_in and self.failures:
                    self.failures -= 1
                    raise InternalServerError("lost")
            return self.engine.execute(operation, request)
        finally:
            with self._lock:
                self.running -= 1


@pytest.fixture
def slow(engine: Database) -> SlowEngine:
    return SlowEngine(engine)


@pytest.fixture
def slow_store(make_store: OpenStore, slow: SlowEngine) -> AnyStore:
    store = make_store(slow, [stones])
    store.create_table(stones)
    for number in range(30):
        store.run(Stone(number=number).put())
    store.calls.clear()
    return store


def test_segments_run_at_the_same_time_but_not_too_many(
    slow_store: AnyStore, slow: SlowEngine, kind: str
) -> None:
    assert len(slow_store.iterate(Stone.scan(segments=3 * MAX_PARALLEL))) == 30
    assert slow.most <= MAX_PARALLEL
    if kind == "sync":
        # The async store is given an executor that blocks its loop.
        assert slow.most > 1


def test_each_segment_retries_by_itself(slow_store: AnyStore, slow: SlowEngine) -> None:
    slow.fails_in, slow.failures = 2, 3
    assert len(slow_store.iterate(Stone.scan(segments=4))) == 30
    failed = [each for each in slow_store.calls if each.error is not None]
    assert [each.request["Segment"] for each in failed] == [2, 2, 2]
    assert [each.attempt for each in failed] == [1, 2, 3]


def test_a_segment_that_fails_for_good_fails_the_scan(
    slow_store: AnyStore, slow: SlowEngine
) -> None:
    slow.fails_in, slow.failures = 1, 99
    with pytest.raises(Unavailable, match="Scan: tried 8 times"):
        slow_store.run(Stone.scan(segments=4))
    slow.failures = 0
    assert slow.running == 0
    assert slow_store.run(Stone.scan(segments=4).count()) == 30


def test_a_parallel_scan_is_explained() -> None:
    def all_stones() -> Any:
        return Stone.scan(segments=8)

    explained = Table("Own", key=Key("pk")).pattern("all")(all_stones).explain()
    assert explained.scans
    assert repr(all_stones()) == "<Scan Stone in Stones by 8 segments>"
    body = all_stones().to_dynamodb()
    assert (body["Segment"], body["TotalSegments"]) == (0, 8)
