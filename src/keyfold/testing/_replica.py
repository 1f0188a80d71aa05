"""A replica of the engine that receives writes later, to simulate eventual consistency."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

from keyfold.api.statements import statements_in
from keyfold.engine import Engine
from keyfold.errors import ServiceError
from keyfold.expressions.partiql.parser import parse_statement
from keyfold.expressions.partiql.trees import SelectStatement, StatementSource

T = TypeVar("T")

_BATCH = 25

# The fields of DescribeTable that CreateTable takes.
_TABLE_FIELDS = ("TableName", "AttributeDefinitions", "KeySchema")
_INDEX_FIELDS = ("IndexName", "KeySchema", "Projection")


class Replica:
    """A copy of `primary` that lags by up to `lag_writes` writes; `open_engine` opens its engine.

    With every stale response it catches up by one write, as a real replica would in the meantime:
    a caller that reads repeatedly eventually sees the last write.
    """

    def __init__(self, primary: Engine, open_engine: Callable[[], Engine], lag_writes: int) -> None:
        self._primary, self._open_engine = primary, open_engine
        self._lag_writes = lag_writes
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque()
        # Writes reach both engines in the same order because they are made under this lock.
        self._lock = threading.Lock()
        self._engine = self._make_copy()
        self._is_open = True

    def write(self, operation: str, request: dict[str, Any], run: Callable[[], T]) -> T:
        """Run a write on the primary with `run`, and queue it for the replica."""
        with self._lock:
            result = run()
            if self._is_open:
                self._waiting.append((operation, deepcopy(request)))
                if len(self._waiting) > self._lag_writes:
                    self._apply_one()
            return result

    def change_tables(self, operation: str, request: dict[str, Any], run: Callable[[], T]) -> T:
        """Run a change of a table on the primary with `run`, and apply it to the replica at once."""
        with self._lock:
            result = run()
            if self._is_open:
                self._waiting.append((operation, request))
                self._apply_all()
            return result

    def read(self, run: Callable[[Engine], T]) -> T:
        """Run a read on the replica; on the primary if no write is queued, or the replica fails."""
        with self._lock:
            if self._waiting:
                try:
                    return run(self._engine)
                except ServiceError:
                    # The primary decides: the replica may not have the table yet.
                    pass
                finally:
                    self._apply_one()
            return run(self._primary)

    def catch_up(self) -> None:
        """Apply all queued writes, and run the upkeep that the primary has run."""
        with self._lock:
            if self._is_open:
                self._apply_all()
                self._engine.run_upkeep()

    def recreate(self) -> None:
        """Copy the primary again, because it has tables that no request can create."""
        with self._lock:
            if self._is_open:
                self._recreate_copy()

    def close(self) -> None:
        """Close the replica's engine. Calls in progress continue with the primary alone."""
        with self._lock:
            self._is_open = False
            self._waiting.clear()
            self._engine.close()

    def _apply_all(self) -> None:
        while self._waiting:
            self._apply_one()

    def _apply_one(self) -> None:
        operation, request = self._waiting.popleft()
        try:
            self._engine.execute(operation, request)
        except ServiceError:
            # The primary was changed directly, by methods of its engine, so the copies differ.
            self._recreate_copy()

    def _recreate_copy(self) -> None:
        self._waiting.clear()
        self._engine.close()
        self._engine = self._make_copy()

    def _make_copy(self) -> Engine:
        engine = self._open_engine()
        copy_tables(self._primary, engine)
        return engine


def copy_tables(source: Engine, target: Engine) -> None:
    """Copy all tables and items of one engine to an empty one."""
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
        # Last, so that the indexes are filled as the items are written.
        _copy_items(source, target, name)


def reads_global_index(engine: Engine, request: dict[str, Any]) -> bool:
    """Return whether a query, a scan or one of several statements reads a global index."""
    if "IndexName" in request:
        return _is_global_index(engine, request.get("TableName"), request["IndexName"])
    if not request.keys() & {"Statement", "Statements"}:
        return False
    sources = map(_find_source, statements_in(request))
    return any(each is not None and _is_global_index(engine, *each) for each in sources)


def _find_source(member: dict[str, Any]) -> StatementSource | None:
    """Return what a statement selects from; None if it is not a SELECT of an index."""
    try:
        statement = parse_statement(str(member.get("Statement"))).statement
    except ServiceError:
        return None
    if not isinstance(statement, SelectStatement) or statement.source.index_name is None:
        return None
    return statement.source


def _is_global_index(engine: Engine, table: object, index: object) -> bool:
    try:
        described = engine.execute("DescribeTable", {"TableName": table})["Table"]
    except ServiceError:
        return False
    return any(each["IndexName"] == index for each in described.get("GlobalSecondaryIndexes", ()))


def _list_tables(engine: Engine) -> list[str]:
    names: list[str] = []
    page: dict[str, Any] = {}
    while True:
        response = engine.execute("ListTables", page)
        names += response["TableNames"]
        if "LastEvaluatedTableName" not in response:
            return names
        page = {"ExclusiveStartTableName": response["LastEvaluatedTableName"]}


def _to_create_request(described: dict[str, Any]) -> dict[str, Any]:
    """Return the request that creates a table like the described one."""
    request = {name: described[name] for name in _TABLE_FIELDS}
    indexes: dict[str, list[dict[str, Any]]] = {
        kind: [{field: index[field] for field in _INDEX_FIELDS} for index in described[kind]]
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        if described.get(kind)
    }
    if described.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST":
        request["BillingMode"] = "PAY_PER_REQUEST"
    else:
        # Later changes of the throughput are applied to the replica too, so it must start equal.
        request["ProvisionedThroughput"] = _to_throughput(described)
        for index, copied in zip(
            described.get("GlobalSecondaryIndexes", ()),
            indexes.get("GlobalSecondaryIndexes", ()),
            strict=True,
        ):
            copied["ProvisionedThroughput"] = _to_throughput(index)
    return request | indexes


def _to_throughput(described: dict[str, Any]) -> dict[str, int]:
    throughput = described["ProvisionedThroughput"]
    return {name: throughput[name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")}


def _copy_items(source: Engine, target: Engine, name: str) -> None:
    page: dict[str, Any] = {"TableName": name, "ConsistentRead": True}
    while True:
        response = source.execute("Scan", page)
        items = response["Items"]
        for first in range(0, len(items), _BATCH):
            puts = [{"PutRequest": {"Item": item}} for item in items[first : first + _BATCH]]
            target.execute("BatchWriteItem", {"RequestItems": {name: puts}})
        if "LastEvaluatedKey" not in response:
            return
        page = {**page, "ExclusiveStartKey": response["LastEvaluatedKey"]}
