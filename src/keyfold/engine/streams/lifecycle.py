"""The streams of tables, as stored in the metadata, from their start to their expiry.

A stream is a range of its table's log: it has a first number, and a last one once it is disabled.
The shard of a record follows from the shards' ranges (see `shards`), so nothing is written for a
record except the change itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, NotRequired, TypedDict, TypeVar, cast

import orjson

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import Storage, StorageReader, StorageWriter
from keyfold.engine.streams.change_log import STREAM_SECONDS
from keyfold.engine.streams.shards import (
    ShardBody,
    check_shard,
    close_all,
    drop_expired,
    find_shard_faults,
    is_due,
    open_first,
    roll,
)
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import KeyElement, StreamSettings, TableBody, Unreadable
from keyfold.errors import ResourceNotFoundException, ValidationException

T = TypeVar("T")

STREAM_RECORD = "stream"

_ARN = re.compile(
    r"arn:[a-z0-9-]+:dynamodb:[a-z0-9-]*:[0-9]*:"
    r"table/(?P<table>[a-zA-Z0-9_.-]{3,255})/stream/(?P<label>[0-9T:.-]+)"
)


class StreamBody(TypedDict):
    """A stream as stored in the metadata."""

    table: str
    label: str
    view: str
    key: list[KeyElement]
    created_at: float
    # Its records are the changes in this log after `start`, up to `end` once it is disabled.
    log: int
    start: int
    end: NotRequired[int]
    ended_at: NotRequired[float]
    shards: list[ShardBody]


_REQUIRED_FIELDS = frozenset(StreamBody.__annotations__) - {"end", "ended_at"}


class StreamName(NamedTuple):
    """Identifies a stream; sorts in the order in which streams are listed."""

    table: str
    label: str


def change_stream(request: dict[str, Any], body: TableBody, now: float) -> None:
    """Enable or disable the stream of `body`, as an UpdateTable request says.

    Raises ValidationException if it is already enabled or disabled.
    """
    wanted = request.get("StreamSpecification")
    if wanted is None:
        return
    if not wanted["StreamEnabled"]:
        if "stream" not in body:
            raise ValidationException(f"Table has no stream to disable: TableName: {body['name']}")
        del body["stream"]
        return
    if "stream" in body:
        raise ValidationException(f"Table already has an enabled stream: TableName: {body['name']}")
    switch_stream_on(body, wanted["StreamViewType"], now)


def switch_stream_on(body: TableBody, view: str, now: float) -> None:
    """Give `body` a new stream with the StreamViewType `view`."""
    label = _new_label(body, now)
    body["stream"] = StreamSettings(label=label, view=view)
    body["latest_stream"] = label


def ensure_unique_label(writer: StorageWriter, body: TableBody) -> None:
    """Give a new table's stream a label that no stream of a deleted table of that name has.

    Such a stream can still be read, by its name and label, for a day after its table was deleted.
    """
    stream = body.get("stream")
    if stream is None:
        return
    prefix = f"{body['name']}/"
    kept = [name for name, _ in writer.list_records(STREAM_RECORD) if name.startswith(prefix)]
    newest = max(kept, default="").removeprefix(prefix)
    if stream["label"] <= newest:
        body["latest_stream"] = newest
        switch_stream_on(body, stream["view"], body["created_at"])


def _new_label(body: TableBody, now: float) -> str:
    """Return the time as a stream label that is greater than the table's previous ones."""
    label = _to_label(now)
    while label <= body.get("latest_stream", ""):
        # The clock stood still, or went back.
        now += 0.001
        label = _to_label(now)
    return label


def _to_label(seconds: float) -> str:
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00")


def apply_stream_change(
    writer: StorageWriter, before: TableBody | None, after: TableBody | None, now: float
) -> None:
    """Begin and end streams after a change of a table's settings; its body is already written."""
    ended = None if before is None else before.get("stream")
    begun = None if after is None else after.get("stream")
    if ended == begun:
        return
    if before is not None and ended is not None:
        stream = _require(writer, StreamName(before["name"], ended["label"]))
        _, last = writer.log_span(stream["log"])
        close_all(stream["shards"], last, now)
        _write(writer, {**stream, "end": last, "ended_at": now})
    if after is not None and begun is not None:
        assert "log" in after  # every table with a stream has one
        _, last = writer.log_span(after["log"])
        stream = StreamBody(
            table=after["name"],
            label=begun["label"],
            view=begun["view"],
            key=after["key"],
            created_at=now,
            log=after["log"],
            start=last,
            shards=open_first(last, now),
        )
        _write(writer, stream)


def parse_arn(arn: str) -> StreamName:
    """Return the stream that an ARN names; raise ValidationException if it is not a stream's."""
    found = _ARN.fullmatch(arn)
    if found is None:
        raise ValidationException("Invalid StreamArn")
    return StreamName(found["table"], found["label"])


def stream_arn(context: EngineContext, stream: StreamBody) -> str:
    """Return the ARN of a stream."""
    return f"{context.table_arn(stream['table'])}/stream/{stream['label']}"


def with_stream(
    context: EngineContext, arn: str, work: Callable[[StorageReader, StreamBody], T]
) -> T:
    """Run `work` on a stream, its shards and its log, as of one point in time.

    Shards that are due are closed first. Raises ResourceNotFoundException if there is no such
    stream, or if it ended more than a day ago.
    """
    name, now = parse_arn(arn), context.clock()

    def find_and_run(reader: StorageReader) -> T | None:
        stream = _read(reader, name)
        if stream is None or _is_over(stream, now):
            raise ResourceNotFoundException(
                f"Requested resource not found: Stream: {arn} not found"
            )
        if _is_due(reader, stream, now, context.shard_records):
            return None
        # Shards with only expired records are hidden, whether upkeep has removed them or not.
        return work(reader, {**stream, "shards": drop_expired(stream["shards"], now)})

    while (result := context.storage.read(find_and_run)) is None:
        context.storage.write(lambda writer: _roll(writer, name, now, context.shard_records))
    return result


def list_streams(reader: StorageReader, now: float) -> list[StreamBody]:
    """Return every stream that can be read, ordered by name."""
    streams: list[StreamBody] = []
    for name, record in reader.list_records(STREAM_RECORD):
        # Requests for a damaged stream fail; the other streams can still be listed.
        with suppress(Unreadable):
            streams.append(_parse(name, record))
    streams.sort(key=name_of)
    return [stream for stream in streams if not _is_over(stream, now)]


def maintain_streams(storage: Storage, now: float, shard_records: int) -> None:
    """Replace the shards that are due and remove what has expired; called by upkeep."""

    def find(reader: StorageReader) -> list[StreamName]:
        return [
            name_of(stream)
            for stream in map(_parse_record, reader.list_records(STREAM_RECORD))
            if stream is not None
            and (
                _is_over(stream, now)
                or len(drop_expired(stream["shards"], now)) < len(stream["shards"])
                or _is_due(reader, stream, now, shard_records)
            )
        ]

    # Reading first avoids the write lock when there is nothing to do.
    for name in storage.read(find):
        storage.write(lambda writer: _roll(writer, name, now, shard_records))  # noqa: B023 - run at once


def find_stream_faults(name: str, reader: StorageReader) -> list[str]:
    """Return the problems of a stream in the metadata, for `verify`."""
    record = reader.get_record(STREAM_RECORD, name)
    if record is None:
        return []
    stream = _parse(name, record)
    _, last = reader.log_span(stream["log"])
    end = stream.get("end", last)
    if not stream["start"] <= end <= last:
        return [f"is not a range of log {stream['log']}"]
    if "end" in stream:
        is_open = any("end" not in shard for shard in stream["shards"])
        return ["is disabled, but has an open shard"] if is_open else []
    body = read_body(reader, stream["table"])
    settings = None if body is None else body.get("stream")
    if settings != {"label": stream["label"], "view": stream["view"]}:
        return [f"is enabled, but is not the stream of table {stream['table']}"]
    return find_shard_faults(stream["shards"])


def _is_due(reader: StorageReader, stream: StreamBody, now: float, shard_records: int) -> bool:
    if "end" in stream:
        return False
    _, last = reader.log_span(stream["log"])
    return is_due(stream["shards"], last, now, shard_records)


def _roll(writer: StorageWriter, name: StreamName, now: float, shard_records: int) -> None:
    stream = _read(writer, name)
    if stream is None:
        return
    if _is_over(stream, now):
        writer.set_record(STREAM_RECORD, "/".join(name), None)
        return
    shards = drop_expired(stream["shards"], now)
    if "end" not in stream:
        _, last = writer.log_span(stream["log"])

        def count(after: int, low: bytes, high: bytes) -> int:
            return writer.count_changes(stream["log"], after=after, until=last, low=low, high=high)

        shards = roll(shards, last, now, shard_records, count)
    _write(writer, {**stream, "shards": shards})


def _is_over(stream: StreamBody, now: float) -> bool:
    return "ended_at" in stream and stream["ended_at"] + STREAM_SECONDS <= now


def name_of(stream: StreamBody) -> StreamName:
    """Return the name of a stream."""
    return StreamName(stream["table"], stream["label"])


def _require(reader: StorageReader, name: StreamName) -> StreamBody:
    stream = _read(reader, name)
    if stream is None:
        raise Unreadable(f"stream {name.label} of table {name.table}")
    return stream


def _read(reader: StorageReader, name: StreamName) -> StreamBody | None:
    key = "/".join(name)
    record = reader.get_record(STREAM_RECORD, key)
    return None if record is None else _parse(key, record)


def _parse_record(record: tuple[str, bytes]) -> StreamBody | None:
    with suppress(Unreadable):
        return _parse(*record)
    return None


def _parse(key: str, record: bytes) -> StreamBody:
    try:
        stream = orjson.loads(record)
        if not stream.keys() >= _REQUIRED_FIELDS:
            raise KeyError(key)
        for shard in stream["shards"]:
            check_shard(shard)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"the record of stream {key}") from error
    return cast(StreamBody, stream)


def _write(writer: StorageWriter, stream: StreamBody) -> None:
    writer.set_record(STREAM_RECORD, "/".join(name_of(stream)), orjson.dumps(stream))
