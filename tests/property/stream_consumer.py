"""A stream consumer as AWS documents it, which replays the stream into a copy of the table.

It starts a shard only when its parent is read to the end, finds new shards by listing them again,
and checks the invariants of every record.
"""

from __future__ import annotations

from typing import Any

from keyfold.engine import Engine
from keyfold.errors import ExpiredIteratorException
from tests.unit.engine.stream_reading import get_iterator, list_shards

Item = dict[str, Any]


class Consumer:
    """Replays the stream of `table`, with both images, into the same table of `copy`."""

    def __init__(self, engine: Engine, table: str, copy: Engine) -> None:
        self._engine, self._table, self._copy = engine, table, copy
        described = engine.execute("DescribeTable", {"TableName": table})["Table"]
        self._arn: str = described["LatestStreamArn"]
        # The iterator of each shard that was started; None at its end.
        self._places: dict[str, str | None] = {}
        # The sequence number of the last record of each shard.
        self._last: dict[str, str] = {}
        self._seen: set[str] = set()
        self.shards = 0
        self.records: list[dict[str, Any]] = []

    def read_some(self, limit: int = 100) -> int:
        """Read one page of every shard whose parent is done; return the number of records."""
        shards = list_shards(self._engine, self._arn, page=100)
        listed = {shard["ShardId"] for shard in shards}
        self.shards = len(shards)
        came = 0
        for shard in shards:
            name, parent = shard["ShardId"], shard.get("ParentShardId")
            if parent is not None and parent in listed and not self._is_done(parent):
                continue
            if self._is_done(name):
                continue
            answer = self._read_page(name, limit)
            self._places[name] = answer.get("NextShardIterator")
            for record in answer["Records"]:
                self._apply(record, shard)
                self._last[name] = record["dynamodb"]["SequenceNumber"]
            came += len(answer["Records"])
        return came

    def _is_done(self, shard: str) -> bool:
        return self._places.get(shard, "unread") is None

    def _read_page(self, shard: str, limit: int) -> dict[str, Any]:
        place = self._places.get(shard) or self._start(shard)
        try:
            return self._engine.execute("GetRecords", {"ShardIterator": place, "Limit": limit})
        except ExpiredIteratorException:
            again = {"ShardIterator": self._start(shard), "Limit": limit}
            return self._engine.execute("GetRecords", again)

    def _start(self, shard: str) -> str:
        """Return an iterator that continues after the last record read of a shard."""
        if shard in self._last:
            number = {"SequenceNumber": self._last[shard]}
            return get_iterator(self._engine, self._arn, shard, "AFTER_SEQUENCE_NUMBER", **number)
        return get_iterator(self._engine, self._arn, shard)

    def read_all(self) -> None:
        """Read until there are no more records, new shards included."""
        while self.read_some() or self._has_unread_shards():
            pass

    def _has_unread_shards(self) -> bool:
        listed = list_shards(self._engine, self._arn, page=100)
        return any(shard["ShardId"] not in self._places for shard in listed)

    def _apply(self, record: dict[str, Any], shard: dict[str, Any]) -> None:
        change = record["dynamodb"]
        number, span = change["SequenceNumber"], shard["SequenceNumberRange"]
        assert span["StartingSequenceNumber"] <= number
        assert record["eventID"] not in self._seen, "delivered twice"
        self._seen.add(record["eventID"])
        found = self._copy.execute(
            "GetItem", {"TableName": self._table, "Key": change["Keys"], "ConsistentRead": True}
        )
        # No record was skipped or out of order.
        assert found.get("Item") == change.get("OldImage")
        assert change.get("OldImage") != change.get("NewImage"), "nothing changed"
        name = record["eventName"]
        if name == "REMOVE":
            self._copy.execute("DeleteItem", {"TableName": self._table, "Key": change["Keys"]})
        else:
            assert name == ("MODIFY" if "OldImage" in change else "INSERT")
            item = change["NewImage"]
            self._copy.execute("PutItem", {"TableName": self._table, "Item": item})
        self.records.append(record)


def read_table(engine: Engine, table: str) -> list[Item]:
    """Return every item of a table, in the order of a scan."""
    items: list[Item] = []
    request: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    while True:
        page = engine.execute("Scan", request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]
