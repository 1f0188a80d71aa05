"""Records the consumed capacity of all calls in the metrics, whether callers request it or not."""

from __future__ import annotations

from typing import Any

import orjson

from keyfold.api import names_where
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._requests import WireCall

_PARAMETER = "ReturnConsumedCapacity"

_METERED = names_where(lambda each: each.is_metered)


def ask_for_capacity(call: WireCall) -> WireCall:
    """Return a call that reports its capacity, marked to hide it if the caller did not ask."""
    if call.operation not in _METERED:
        return call
    try:
        request: Any = orjson.loads(call.body)
    except orjson.JSONDecodeError:
        return call
    if request.__class__ is not dict or request.get(_PARAMETER, "NONE") != "NONE":
        return call
    body = orjson.dumps({**request, _PARAMETER: "TOTAL"})
    return call._replace(body=body, hides_capacity=True)


def note_capacity(metrics: Metrics, call: WireCall, body: bytes) -> bytes:
    """Record the capacity in a response; return the body, without it if it is to be hidden."""
    if call.operation not in _METERED:
        return body
    response = orjson.loads(body)
    consumed: dict[str, Any] | list[dict[str, Any]] | None = response.get("ConsumedCapacity")
    if consumed is None:
        return body
    for each in consumed if isinstance(consumed, list) else [consumed]:
        metrics.note_capacity(call.operation, each)
    if not call.hides_capacity:
        return body
    del response["ConsumedCapacity"]
    return orjson.dumps(response)
