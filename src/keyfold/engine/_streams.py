"""The streams of tables: switched on and off with a table's settings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from keyfold.engine._tables import StreamSettings, TableBody
from keyfold.errors import ValidationException


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
