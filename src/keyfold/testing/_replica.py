"""A copy of the engine that hears of writes later: what eventual consistency looks like."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

from keyfold.engine import Engine
from keyfold.errors import ServiceError

T = TypeVar("T")

_BATCH = 25

# What CreateTable takes of that which DescribeTable says.
_TABLE_FIELDS = ("TableName", "AttributeDefinitions", "KeySchema")
_INDEX_FIELDS = ("IndexName", "KeySchema", "Projection")


class Replica:
    """Lags behind `primary` by up to `lag_writes` writes, on an engine that `open_engine` makes.

    Every stale answer brings it one write nearer, as a real copy would catch up meanwhile: who
    reads again and again sees the last write in the end.
    """

    def __init__(self, primary: Engine, open_engine: Callable[[], Engine], lag_writes: int) -> None:
        self._primary, self._open_engine = primary, open_engine
        self._lag_writes = lag_writes
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque()
        # Writes reach both in the same order because they are made under this lock.
        self._lock = threading.Lock()
        self._engine = self._make_copy()
        self._is_open = True

    def write(self, operation: str, request: dict[str, Any], run: Callable[[], T]) -> T:
        """Make a write to the primary by `run`, and keep it for later."""
        with self._lock:
            result = run()
            if self._is_open:
                self._waiting.append((operation, deepcopy(request)))
                if len(self._waiting) > self._lag_writes:
                    self._record_one()
            return result

    def change_tables(self, operation: str, request: dict[str, Any], run: Callable[[], T]) -> T:
        """Make a change of a table by `run`, and the same here at once."""
        with self._lock:
            result = run()
            if self._is_open:
                self._waiting.append((operation, request))
                self._record_all()
            return result

    def read(self, run: Callable[[Engine], T]) -> T:
        """Answer a read from what is known here."""
        with self._lock:
            if self._waiting:
                try:
                    return run(self._engine)
                except ServiceError:
                    # Of a table that it has not heard of, perhaps: the primary knows.
                    pass
                finally:
                    self._record_one()
            return run(self._primary)

    def catch_up(self) -> None:
        """Hear of everything, and do the upkeep that the primary has done."""
        with self._lock:
            if self._is_open:
                self._record_all()
                self._engine.run_upkeep()

    def start_over(self) -> None:
        """Copy the primary anew, since it has tables that no request can make again."""
        with self._lock:
            if self._is_open:
                self._copy_again()

    def close(self) -> None:
        """Give the copy up. Calls that are under way go on with the primary alone."""
        with self._lock:
            self._is_open = False
            self._waiting.clear()
            self._engine.close()

    def _record_all(self) -> None:
        while self._waiting:
            self._record_one()

    def _record_one(self) -> None:
        operation, request = self._waiting.popleft()
        try:
            self._engine.execute(operation, request)
        except ServiceError:
            # The primary was changed without its knowledge, by its own methods.
            self._copy_again()

    def _copy_again(self) -> None:
        self._waiting.clear()
        self._engine.close()
        self._engine = self._make_copy()

    def _make_copy(self) -> Engine:
        engine = self._open_engine()
        copy_tables(self._primary, engine)
        return engine


def copy_tables(source: Engine, target: Engine) -> None:
    """Make the tables of one engine in another that has none, with their items."""
    for name in _list_tables(source):
        described = source.execute("DescribeTable", {"TableName": name})["Table"]
        target.execute("CreateTable", _to_create_request(described))
        expiry = source.execute("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]
        if expiry["TimeToLiveStatus"] == "ENABLED":
            specification = {"AttributeName": expiry["AttributeName"], "Enabled": True}
            target.execute(
                "UpdateTimeToLive",
                {"TableName": name, "TimeToLiveSpecification": specification},
            )
        # Last, so that nothing is left to fill afterwards.
        _copy_items(source, target, name)


def is_global_index(engine: Engine, request: dict[str, Any]) -> bool:
    """Tell whether a query or scan asks a global index."""
    index = request.get("IndexName")
    if index is None:
        return False
    try:
        table = engine.execute("DescribeTable", {"TableName": request.get("TableName")})["Table"]
    except ServiceError:
        return False
    return any(each["IndexName"] == index for each in table.get("GlobalSecondaryIndexes", ()))


def _list_tables(engine: Engine) -> list[str]:
    names: list[str] = []
    page: dict[str, Any] = {}
    while True:
        answer = engine.execute("ListTables", page)
        names += answer["TableNames"]
        if "LastEvaluatedTableName" not in answer:
            return names
        page = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}


def _to_create_request(described: dict[str, Any]) -> dict[str, Any]:
    """Return the request that makes a table like one that is described."""
    request = {name: described[name] for name in _TABLE_FIELDS}
    indexes: dict[str, list[dict[str, Any]]] = {
        kind: [{field: index[field] for field in _INDEX_FIELDS} for index in described[kind]]
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        if described.get(kind)
    }
    if described.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        request["BillingMode"] = "PAY_PER_REQUEST"
    else:
        # Later changes of it are made here too, and have to find what they change.
        request["ProvisionedThroughput"] = _to_throughput(described)
        for index, made in zip(
            described.get("GlobalSecondaryIndexes", ()),
            indexes.get("GlobalSecondaryIndexes", ()),
            strict=True,
        ):
            made["ProvisionedThroughput"] = _to_throughput(index)
    return request | indexes


def _to_throughput(described: dict[str, Any]) -> dict[str, int]:
    throughput = described["ProvisionedThroughput"]
    return {name: throughput[name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")}


def _copy_items(source: Engine, target: Engine, name: str) -> None:
    page: dict[str, Any] = {"TableName": name, "ConsistentRead": True}
    while True:
        answer = source.execute("Scan", page)
        items = answer["Items"]
        for first in range(0, len(items), _BATCH):
            puts = [{"PutRequest": {"Item": item}} for item in items[first : first + _BATCH]]
            target.execute("BatchWriteItem", {"RequestItems": {name: puts}})
        if "LastEvaluatedKey" not in answer:
            return
        page = {**page, "ExclusiveStartKey": answer["LastEvaluatedKey"]}
