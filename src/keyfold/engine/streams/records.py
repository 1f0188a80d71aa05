"""Conversion of changes into the records of a stream."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import orjson

from keyfold.engine.context import EngineContext
from keyfold.engine.items.responses import Rendering
from keyfold.engine.storage import RowChange
from keyfold.engine.streams.iterators import to_sequence_number
from keyfold.engine.streams.lifecycle import StreamBody
from keyfold.engine.tables.table import Unreadable
from keyfold.values import Item, item_size_bytes

_ID_BYTES = 16
_EXPIRY = {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
# The images that each view type includes.
_SHOWN = {
    "KEYS_ONLY": (),
    "NEW_IMAGE": ("NewImage",),
    "OLD_IMAGE": ("OldImage",),
    "NEW_AND_OLD_IMAGES": ("NewImage", "OldImage"),
}


def to_record(
    context: EngineContext, stream: StreamBody, arn: str, change: RowChange, rendering: Rendering
) -> dict[str, Any]:
    """Return the API's Record for one change; raise Unreadable if the change is damaged."""
    number = to_sequence_number(change.sequence)
    image = change.old if change.new is None else change.new
    try:
        item: Item = orjson.loads(image or b"")
        keys = {each["AttributeName"]: item[each["AttributeName"]] for each in stream["key"]}
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"change {change.sequence} of table {stream['table']}") from error
    details: dict[str, Any] = {
        # The service rounds down to the second.
        "ApproximateCreationDateTime": float(int(change.at)),
        "Keys": rendering.item(keys),
    }
    size = item_size_bytes(keys)
    images = {"NewImage": change.new, "OldImage": change.old}
    for name in _SHOWN[stream["view"]]:
        value = images[name]
        if value is not None:
            details[name] = rendering.stored(value)
            size += item_size_bytes(item if value is image else orjson.loads(value))
    details["SequenceNumber"] = number
    details["SizeBytes"] = size
    details["StreamViewType"] = stream["view"]
    record: dict[str, Any] = {
        # Always the same for the same record: consumers detect duplicates by it.
        "eventID": blake2b(f"{arn}/{number}".encode(), digest_size=_ID_BYTES).hexdigest(),
        "eventName": _name_event(change),
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": context.region,
        "dynamodb": details,
    }
    if change.is_expiry:
        record["userIdentity"] = _EXPIRY
    return record


def _name_event(change: RowChange) -> str:
    if change.old is None:
        return "INSERT"
    return "REMOVE" if change.new is None else "MODIFY"
