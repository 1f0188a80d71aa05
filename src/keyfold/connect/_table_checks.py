"""What the table of an embedded file lacks of its declaration, found when the file is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from keyfold.errors import ResourceNotFoundException, TableOutdated

if TYPE_CHECKING:
    from keyfold.engine import Engine
    from keyfold.model import Table

_INDEXES = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")


def has_table(engine: Engine, table: Table) -> bool:
    """Return whether a table exists; raises TableOutdated if it lacks part of its declaration."""
    try:
        described = engine.execute("DescribeTable", {"TableName": table.name})["Table"]
    except ResourceNotFoundException:
        return False
    lacking = tuple(_find_lacking(engine, table, described))
    if lacking:
        raise TableOutdated(table.name, str(engine.path or ":memory:"), lacking)
    return True


def _find_lacking(engine: Engine, table: Table, described: Mapping[str, Any]) -> Iterator[str]:
    """Yield the declared indexes, expiry and stream that a table does not have."""
    if table.indexes:
        listed = [each for kind in _INDEXES for each in described.get(kind, ())]
        keys = {each["IndexName"]: each["KeySchema"] for each in listed}
        for index in table.indexes:
            if keys.get(index.name) != index.to_dynamodb()["KeySchema"]:
                yield f"the index {index.name} by {', '.join(index.key.names)}"
    if table.ttl is not None:
        found = engine.execute("DescribeTimeToLive", {"TableName": table.name})
        if found["TimeToLiveDescription"].get("AttributeName") != table.ttl:
            yield f"expiry by {table.ttl}"
    if table.stream is not None:
        wanted = table.stream_to_dynamodb()
        if described.get("StreamSpecification") != wanted:
            yield f"a stream with {table.stream}"
