"""The access log: one line of JSON for each answered request."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TextIO

import orjson

from keyfold.clocks import Clock
from keyfold.terminals import escape_controls
from keyfold.wire.server._answers import Answer
from keyfold.wire.server._requests import HttpRequest

_LONGEST_URL = 200


class AccessLog:
    """Logs requests and the status of their answers; never the contents of items."""

    def __init__(self, stream: TextIO, clock: Clock = time.time) -> None:
        self._stream = stream
        self._clock = clock

    def note(
        self,
        peer: str,
        operation: str,
        request: HttpRequest,
        answer: Answer,
        seconds: float,
        request_id: str,
    ) -> None:
        """Log one answered request; fields without a value are omitted."""
        entry: dict[str, str | float] = {
            "time": datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds"),
            "client": peer,
            "method": request.method.decode("latin-1"),
            "url": _show_url(request.url),
            "operation": operation,
            "status": answer.status,
            "error": answer.error,
            "milliseconds": round(seconds * 1000, 3),
            "request_bytes": request.body_bytes,
            "response_bytes": len(answer.body),
            "request_id": request_id,
        }
        shown = {name: value for name, value in entry.items() if value != ""}
        self._stream.write(escape_controls(orjson.dumps(shown).decode()) + "\n")
        self._stream.flush()


def _show_url(url: bytes) -> str:
    # The query of a presigned URL is a credential while it is valid, so it is not logged.
    path, mark, query = url.partition(b"?")
    shown = url if b"X-Amz-" not in query else path + mark + b"..."
    return shown[:_LONGEST_URL].decode("latin-1")
