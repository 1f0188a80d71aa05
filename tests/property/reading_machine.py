"""Reads of an engine and a plain table: the same items, in the same order, on full pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from keyfold.errors import ValidationException
from tests.property import strategies as drawn
from tests.property.plain_conditions import (
    Compared,
    Condition,
    Placeholders,
    SortCondition,
    holds,
    write_condition,
)
from tests.property.plain_table import Attribute, IndexPlan
from tests.property.plain_values import Item, comparable_item
from tests.property.table_requests import Request, names_in, query_request
from tests.property.writing_machine import TABLE, WritingMachine, comparable_answer


@dataclass(frozen=True)
class Reading:
    """A query or a scan, and the items that it must read, in order if there is one."""

    operation: str
    request: Request
    index: IndexPlan | None
    scanned: list[Item]
    filter_: Condition | None

    @property
    def found(self) -> list[Item]:
        return [item for item in self.scanned if self.filter_ is None or holds(self.filter_, item)]


class ReadingMachine(WritingMachine):
    """Adds reads of every kind to the writes."""

    @rule(data=st.data(), consistent=st.booleans())
    def get(self, data: st.DataObject, consistent: bool) -> None:
        key = data.draw(self.keys)
        request: Request = {"TableName": TABLE, "Key": key}
        if consistent:
            request["ConsistentRead"] = True
        answer = self.run(data, "GetItem", request)
        wanted = self.table.get(key)
        assert comparable_answer(answer) == comparable_answer({"Item": wanted} if wanted else {})

    @rule(data=st.data())
    def get_several(self, data: st.DataObject) -> None:
        keys = data.draw(self.distinct_keys(6))
        wanted = [item for item in map(self.table.get, keys) if item is not None]
        batch = self.run(data, "BatchGetItem", {"RequestItems": {TABLE: {"Keys": keys}}})
        assert batch["UnprocessedKeys"] == {}
        assert _bag(batch["Responses"][TABLE]) == _bag(wanted)
        members = [{"Get": {"TableName": TABLE, "Key": key}} for key in keys]
        answers = self.run(data, "TransactGetItems", {"TransactItems": members})["Responses"]
        assert [comparable_answer(each) for each in answers] == [
            {} if item is None else {"Item": comparable_item(item)}
            for item in map(self.table.get, keys)
        ]

    @rule(data=st.data(), filter_=st.none() | drawn.conditions, limit=st.integers(1, 5))
    def query(self, data: st.DataObject, filter_: Condition | None, limit: int) -> None:
        index = self._draw_readable(data)
        partition = self._draw_partition(data, index)
        conditions = _draw_conditions(data, self.table.sort_of(index))
        filter_ = self._usable_filter(index, filter_)
        request = query_request(TABLE, index, partition, conditions, filter_)
        wanted = self.table.query(index, partition, conditions)
        reading = Reading("Query", request, index, wanted, filter_)
        forward = self._read(data, reading)
        assert [self.table.sort_key(index, item) for item in forward] == [
            self.table.sort_key(index, item) for item in reading.found
        ]
        backward = self._read(data, reading, ScanIndexForward=False)
        assert backward == forward[::-1]
        if index is not None or self.table.sort is not None:
            # A query for one item has no next page.
            assert self._read(data, reading, Limit=limit) == forward
            assert self._read(data, reading, Limit=limit, ScanIndexForward=False) == backward
        counted = self.run(data, "Query", {**request, "Select": "COUNT"})
        assert (counted["Count"], counted["ScannedCount"]) == (len(forward), len(wanted))
        if index is not None and not index.is_global:
            # A local index fetches attributes that it does not hold.
            whole = self.run(data, "Query", {**request, "Select": "ALL_ATTRIBUTES"})
            assert _bag(whole["Items"]) == _bag(reading.found)

    @rule(
        data=st.data(),
        filter_=st.none() | drawn.conditions,
        limit=st.integers(1, 9),
        segments=st.integers(1, 4),
    )
    def scan(
        self, data: st.DataObject, filter_: Condition | None, limit: int, segments: int
    ) -> None:
        index = self._draw_readable(data)
        filter_ = self._usable_filter(index, filter_)
        request: Request = {"TableName": TABLE}
        if index is not None:
            request["IndexName"] = index.name
        if filter_ is not None:
            used = Placeholders()
            request["FilterExpression"] = write_condition(filter_, used)
            request |= used.parameters()
        reading = Reading("Scan", request, index, self.table.scan(index), filter_)
        whole = self._read(data, reading)
        self._check_scan_order(index, whole)
        assert self._read(data, reading, Limit=limit) == whole
        parts: list[Item] = []
        for segment in range(segments):
            part = {"Segment": segment, "TotalSegments": segments, "Limit": limit}
            parts += self._pages(data, reading, part)[0]
        # Segments are consecutive ranges of the order of a scan.
        assert parts == whole

    def _check_scan_order(self, index: IndexPlan | None, items: list[Item]) -> None:
        """Check that each partition is contiguous and in order of its sort keys."""
        seen: list[tuple[Any, ...]] = []
        for place, item in enumerate(items):
            partition = self.table.partition_key(index, item)
            if not seen or seen[-1] != partition:
                assert partition not in seen
                seen.append(partition)
            else:
                before = self.table.sort_key(index, items[place - 1])
                assert before <= self.table.sort_key(index, item)

    def _draw_readable(self, data: st.DataObject) -> IndexPlan | None:
        """Draw the table or an index; an index that is still being filled must refuse."""
        index = data.draw(st.sampled_from([None, *self.table.indexes.values()]))
        if index is not None and self.statuses()[index.name] != "ACTIVE":
            with pytest.raises(ValidationException, match="Cannot read from backfilling"):
                self.run(data, "Scan", {"TableName": TABLE, "IndexName": index.name})
            return None
        return index

    def statuses(self) -> dict[str, str]:
        """Return the state of each index, as the engine describes it."""
        described = self.engines[0].execute("DescribeTable", {"TableName": TABLE})["Table"]
        kinds = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        indexes = [index for kind in kinds for index in described.get(kind, [])]
        # Local indexes have no status: they are created with their table.
        return {index["IndexName"]: index.get("IndexStatus", "ACTIVE") for index in indexes}

    def _draw_partition(self, data: st.DataObject, index: IndexPlan | None) -> Item:
        key = self.table.partition_of(index)
        freely = st.fixed_dictionaries({each.name: drawn.key_values(each.kind) for each in key})
        # Most random partitions are empty.
        there = [{each.name: item[each.name] for each in key} for item in self.table.scan(index)]
        return data.draw(st.sampled_from(there) | freely if there else freely)

    def _usable_filter(
        self, index: IndexPlan | None, filter_: Condition | None
    ) -> Condition | None:
        """Drop a filter on key attributes, or on attributes that the index does not hold."""
        if filter_ is None:
            return None
        names = names_in(filter_)
        keys = self.table.key_names if index is None else [each.name for each in index.attributes]
        held = index is None or index.included is None or names <= index.included
        return filter_ if held and not names & set(keys) else None

    def _read(self, data: st.DataObject, reading: Reading, **more: object) -> list[Item]:
        """Read every page; check the items in any order, and the counts."""
        items, scanned_count = self._pages(data, reading, more)
        assert scanned_count == len(reading.scanned)
        wanted = [self.table.projected(reading.index, item) for item in reading.found]
        assert _bag(items) == _bag(wanted)
        return items

    def _pages(
        self, data: st.DataObject, reading: Reading, more: Request
    ) -> tuple[list[Item], int]:
        request = {**reading.request, **more}
        index_names = [each.name for each in reading.index.attributes] if reading.index else []
        names = {*self.table.key_names, *index_names}
        items: list[Item] = []
        scanned, limit = 0, request.get("Limit")
        while True:
            page = self.run(data, reading.operation, request)
            assert page["Count"] == len(page["Items"])
            items += page["Items"]
            scanned += page["ScannedCount"]
            assert scanned <= len(self.table.items), "pages that never end"
            last = page.get("LastEvaluatedKey")
            # All items fit one page, so only a limit ends a page early.
            assert (last is not None) is (page["ScannedCount"] == limit)
            if last is None:
                return items, scanned
            assert last.keys() == names
            if reading.filter_ is None:
                assert last == {name: items[-1][name] for name in names}
            request = {**request, "ExclusiveStartKey": last}


def _draw_conditions(data: st.DataObject, sort: tuple[Attribute, ...]) -> tuple[SortCondition, ...]:
    """Draw conditions on the first sort attributes: equality, or a range for the last one."""
    depth = data.draw(st.integers(0, len(sort)))
    equal = [
        Compared(each.name, "=", data.draw(drawn.crowding_values(each.kind)))
        for each in sort[: max(0, depth - 1)]
    ]
    last = [data.draw(drawn.sort_conditions(each)) for each in sort[depth - 1 : depth] if depth]
    return (*equal, *last)


def _bag(items: list[Item]) -> Counter[object]:
    return Counter(map(comparable_item, items))
