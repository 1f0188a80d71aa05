"""The log of requests: one line of JSON for each, without arguments or results."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TextIO

import orjson

from keyfold.clocks import Clock
from keyfold.terminals import escape_controls


class RequestLog:
    """Logs who called what, and how it ended; never what was read or written."""

    def __init__(self, stream: TextIO, clock: Clock = time.time) -> None:
        self._stream = stream
        self._clock = clock

    def note(
        self,
        *,
        method: str,
        path: str,
        endpoint: str,
        caller: str,
        status: int,
        code: str,
        seconds: float,
        units: float,
        request_id: str,
    ) -> None:
        """Log one answered request; fields without a value are omitted."""
        entry: dict[str, str | float] = {
            "time": datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds"),
            "method": method,
            "path": path[:200],
            "endpoint": endpoint,
            "caller": caller,
            "status": status,
            "code": code,
            "milliseconds": round(seconds * 1_000, 3),
            "units": units,
            "request_id": request_id,
        }
        shown = {name: value for name, value in entry.items() if value != ""}
        self._stream.write(escape_controls(orjson.dumps(shown).decode()) + "\n")
        self._stream.flush()
