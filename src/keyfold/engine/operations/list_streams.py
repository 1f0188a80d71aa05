"""The ListStreams operation."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from keyfold.api.shapes import table_name
from keyfold.engine.context import EngineContext
from keyfold.engine.streams.lifecycle import list_streams as read_streams
from keyfold.engine.streams.lifecycle import name_of, parse_arn, stream_arn
from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID

PAGE_STREAMS = 100


def list_streams(context: EngineContext, request: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the streams of all tables, or of one.

    Disabled streams and those of deleted tables are listed for one more day.
    """
    limit = request.get("Limit") or PAGE_STREAMS
    if limit > PAGE_STREAMS:
        raise ValidationException(
            f"{INVALID}Limit cannot be greater than the maximum allowed size: {PAGE_STREAMS}"
        )
    start = request.get("ExclusiveStartStreamArn")
    after = None if start is None else parse_arn(start)
    now = context.clock()
    streams = context.storage.read(lambda reader: read_streams(reader, now))
    if request.get("TableName") is not None:
        wanted = table_name(request)
        streams = [stream for stream in streams if stream["table"] == wanted]
    first = 0 if after is None else bisect_right(streams, after, key=name_of)
    page = streams[first : first + limit]
    listed = [
        {
            "StreamArn": stream_arn(context, stream),
            "TableName": stream["table"],
            "StreamLabel": stream["label"],
        }
        for stream in page
    ]
    response: dict[str, Any] = {"Streams": listed}
    if first + limit < len(streams):
        response["LastEvaluatedStreamArn"] = listed[-1]["StreamArn"]
    return response
