"""The streams of tables: what the metadata say about them, from switching on to oblivion.

A stream is a stretch of its table's log: it has a first number, and a last one once it is off.
What its shards are is said by their lineage (see `_shards`), so nothing is written for a record
but the change itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple, NotRequired, TypedDict, TypeVar, cast

import orjson

from keyfold.engine._catalog import read_body
from keyfold.engine._changes import STREAM_SECONDS
from keyfold.engine._context import EngineContext
from keyfold.engine._shards import (
    ShardBody,
    check_shard,
    close_all,
    find_shard_faults,
    forget_old,
    is_due,
    open_first,
    roll,
)
from keyfold.engine._tables import KeyElement, StreamSettings, TableBody, Unreadable
from keyfold.engine.storage import Storage, StorageReader, StorageWriter
from keyfold.errors import ResourceNotFoundException, ValidationException

T = TypeVar("T")

STREAM_RECORD = "stream"

_ARN = re.compile(
    r"arn:[a-z0-9-]+:dynamodb:[a-z0-9-]*:[0-9]*:"
    r"table/(?P<table>[a-zA-Z0-9_.-]{3,255})/stream/(?P<label>[0-9T:.-]+)"
)


class StreamBody(TypedDict):
    """A stream as the metadata have it."""

    table: str
    label: str
    view: str
    key: list[KeyElement]
    created_at: float
    # Its records are the changes in this log after `start`, until `end` if it is off.
    log: int
    start: int
    end: NotRequired[int]
    ended_at: NotRequired[float]
    shards: list[ShardBody]


_REQUIRED_FIELDS = frozenset(StreamBody.__annotations__) - {"end", "ended_at"}


class StreamName(NamedTuple):
    """What tells one stream from every other; sorts as streams are listed."""

    table: str
    label: str


def change_stream(request: dict[str, Any], body: TableBody, now: float) -> None:
    """Switch the stream of `body` on or off, as an UpdateTable request asks."""
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
    """Give `body` a new stream, whose records show an item as `view` says."""
    label = _new_label(body, now)
    body["stream"] = StreamSettings(label=label, view=view)
    body["latest_stream"] = label


def keep_labels_apart(writer: StorageWriter, body: TableBody) -> None:
    """Give a new table's stream a label that no stream of a former table of that name has.

    Such a stream can be read for a day after its table was deleted, by its name and label.
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
    """Return the time as a label of a stream that the table has not had before."""
    label = _to_label(now)
    while label <= body.get("latest_stream", ""):
        # A clock that stood still, or went back.
        now += 0.001
        label = _to_label(now)
    return label


def _to_label(moment: float) -> str:
    text = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00")


def follow_table(
    writer: StorageWriter, before: TableBody | None, after: TableBody | None, now: float
) -> None:
    """Begin and end streams as a table's settings have changed, once its body is kept."""
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
        assert "log" in after  # a stream is a reason to keep one
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
    """Return which stream an ARN means; raises ValidationException for one that means none."""
    found = _ARN.fullmatch(arn)
    if found is None:
        raise ValidationException("Invalid StreamArn")
    return StreamName(found["table"], found["label"])


def stream_arn(services: EngineContext, stream: StreamBody) -> str:
    """Return the ARN of a stream."""
    return f"{services.table_arn(stream['table'])}/stream/{stream['label']}"


def with_stream(
    services: EngineContext, arn: str, work: Callable[[StorageReader, StreamBody], T]
) -> T:
    """Run `work` on a stream, its shards and its log, all as of one moment.

    Shards that are due are closed before. Raises ResourceNotFoundException for a stream that
    never was, or is over for a day.
    """
    name, now = parse_arn(arn), services.clock()

    def look(reader: StorageReader) -> T | None:
        stream = _read(reader, name)
        if stream is None or _is_over(stream, now):
            raise ResourceNotFoundException(
                f"Requested resource not found: Stream: {arn} not found"
            )
        if _is_due(reader, stream, now, services.shard_records):
            return None
        # Shards whose every record is too old are not told of, whether upkeep was there or not.
        return work(reader, {**stream, "shards": forget_old(stream["shards"], now)})

    while (result := services.storage.read(look)) is None:
        services.storage.write(lambda writer: _roll(writer, name, now, services.shard_records))
    return result


def list_streams(reader: StorageReader, now: float) -> list[StreamBody]:
    """Return every stream that can be read, in the order of their names."""
    streams: list[StreamBody] = []
    for name, record in reader.list_records(STREAM_RECORD):
        # What is damaged is met by whoever uses it; the others go on.
        with suppress(Unreadable):
            streams.append(_parse(name, record))
    streams.sort(key=name_of)
    return [stream for stream in streams if not _is_over(stream, now)]


def keep_streams(storage: Storage, now: float, shard_records: int) -> None:
    """Close and open shards that are due, and forget what is too old, for upkeep."""

    def find(reader: StorageReader) -> list[StreamName]:
        return [
            name_of(stream)
            for stream in map(_parse_record, reader.list_records(STREAM_RECORD))
            if stream is not None
            and (
                _is_over(stream, now)
                or len(forget_old(stream["shards"], now)) < len(stream["shards"])
                or _is_due(reader, stream, now, shard_records)
            )
        ]

    # Looking first keeps a round that finds nothing from taking the write lock.
    for name in storage.read(find):
        storage.write(lambda writer: _roll(writer, name, now, shard_records))  # noqa: B023 - run at once


def find_stream_faults(name: str, reader: StorageReader) -> list[str]:
    """Return what does not hold of a stream in the metadata, for `verify`."""
    record = reader.get_record(STREAM_RECORD, name)
    if record is None:
        return []
    stream = _parse(name, record)
    _, last = reader.log_span(stream["log"])
    end = stream.get("end", last)
    if not stream["start"] <= end <= last:
        return [f"is not a stretch of log {stream['log']}"]
    if "end" in stream:
        is_open = any("end" not in shard for shard in stream["shards"])
        return ["is off, and has an open shard"] if is_open else []
    body = read_body(reader, stream["table"])
    settings = None if body is None else body.get("stream")
    if settings != {"label": stream["label"], "view": stream["view"]}:
        return [f"is on, and not the one of table {stream['table']}"]
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
    shards = forget_old(stream["shards"], now)
    if "end" not in stream:
        _, last = writer.log_span(stream["log"])

        def count(after: int, low: bytes, high: bytes) -> int:
            return writer.count_changes(stream["log"], after=after, until=last, low=low, high=high)

        shards = roll(shards, last, now, shard_records, count)
    _write(writer, {**stream, "shards": shards})


def _is_over(stream: StreamBody, now: float) -> bool:
    return "ended_at" in stream and stream["ended_at"] + STREAM_SECONDS <= now


def name_of(stream: StreamBody) -> StreamName:
    """Return what tells a stream from every other."""
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
