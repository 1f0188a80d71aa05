"""The access log: records each request, but nothing that would allow a replay."""

from __future__ import annotations

import io
import json

from keyfold.wire.server._access_log import AccessLog
from keyfold.wire.server._answers import Answer
from keyfold.wire.server._requests import HttpRequest
from tests.unit.wire.server.signing import sign_by_botocore


def log(url: str) -> dict[str, object]:
    stream = io.StringIO()
    request = HttpRequest(b"POST", url.encode(), {}, b"{}", True, None)
    AccessLog(stream, clock=lambda: 0.0).note(
        "192.0.2.1:1", "ListTables", request, Answer(200, b"{}"), 0.001, "ID"
    )
    return json.loads(stream.getvalue())


def test_a_line_records_the_request_and_the_response() -> None:
    assert log("/?a=b") == {
        "time": "1970-01-01T00:00:00.000+00:00",
        "client": "192.0.2.1:1",
        "method": "POST",
        "url": "/?a=b",
        "operation": "ListTables",
        "status": 200,
        "milliseconds": 1.0,
        "request_bytes": 2,
        "response_bytes": 2,
        "request_id": "ID",
    }


def test_a_signature_in_the_query_is_not_logged() -> None:
    sent = sign_by_botocore(in_query=True, token="secret-token")
    assert "secret-token" in sent.url
    assert log(sent.url)["url"] == "/?..."


def test_a_long_url_is_truncated() -> None:
    assert log("/" + "x" * 1_000)["url"] == "/" + "x" * 199
