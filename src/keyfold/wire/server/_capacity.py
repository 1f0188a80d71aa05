"""Records the consumed capacity of all calls in the metrics, whether callers request it or not."""

from __future__ import annotations

from typing import Any

from keyfold.api import names_where
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._requests import WireCall

_PARAMETER = "ReturnConsumedCapacity"

_METERED = names_where(lambda each: each.is_metered)


def ask_for_capacity(call: WireCall) -> None:
    """Let a call report its capacity, marked to hide it if the caller did not ask."""
    if call.operation not in _METERED:
        return
    request = call.request
    if request.__class__ is dict and request.get(_PARAMETER, "NONE") == "NONE":
        request[_PARAMETER] = "TOTAL"
        call.hides_capacity = True


def note_capacity(metrics: Metrics, call: WireCall) -> None:
    """Record what a call consumed."""
    consumed: dict[str, Any] | list[dict[str, Any]] | None = call.consumed
    if consumed is not None and call.operation in _METERED:
        for each in consumed if isinstance(consumed, list) else [consumed]:
            metrics.note_capacity(call.operation, each)
