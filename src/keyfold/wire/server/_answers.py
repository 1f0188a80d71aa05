"""HTTP responses as DynamoDB sends them: statuses, headers, and the bodies of errors."""

from __future__ import annotations

import os
import time
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple
from zlib import crc32

import orjson

from keyfold.api.bodies import render_error
from keyfold.errors import ServiceError

AMZ_JSON = b"application/x-amz-json-1.0"
JSON = b"application/json"
HTML = b"text/html"
TEXT = b"text/plain; charset=utf-8"

_INTERNAL = "com.amazonaws.dynamodb.v20120810#InternalServerError"
_UNAVAILABLE = "com.amazonaws.dynamodb.v20120810#ServiceUnavailable"
_DENIED = "com.amazon.coral.service#AccessDeniedException"

# After a 503 of the service, a write may have been carried out; this header tells our client that
# it was not.
_UNDONE = b"Retry-After: 1\r\nX-Keyfold-Undone: true\r\n"

_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode())
    for status in HTTPStatus
}


# What `ResponseWriter.write` returns for a successful response on a connection that stays open.
_RESPONSE = (
    b"HTTP/1.1 200 OK\r\nServer: Server\r\nDate: %b\r\nContent-Type: application/x-amz-json-1.0\r\n"
    b"Content-Length: %d\r\nConnection: keep-alive\r\nx-amzn-RequestId: %b%013d\r\n"
    b"x-amz-crc32: %d\r\n\r\n"
)


class Answer(NamedTuple):
    """An HTTP response to a client; `headers` are complete lines."""

    status: int
    body: bytes
    content_type: bytes = AMZ_JSON
    headers: bytes = b""
    # The short name of the error, for metrics and the log.
    error: str = ""
    # The checksum of the body; None if it is still to be computed.
    crc: int | None = None


def answer_error(error: ServiceError, content_type: bytes = AMZ_JSON) -> Answer:
    """Return the answer that DynamoDB sends for an error."""
    return Answer(error.status, render_error(error), content_type, error=error.type)


def answer_failure(message: str = "Internal server error") -> Answer:
    """Return the answer to a request that failed because of the server (500)."""
    body = orjson.dumps({"__type": _INTERNAL, "message": message})
    return Answer(500, body, error="InternalServerError")


def answer_unavailable(message: str) -> Answer:
    """Return the answer to a request that the server had no capacity to begin (503)."""
    body = orjson.dumps({"__type": _UNAVAILABLE, "message": message})
    return Answer(503, body, headers=_UNDONE, error="ServiceUnavailable")


# The service's answer to requests outside its API.
NOT_FOUND = Answer(404, b"<UnknownOperationException/>\n", HTML, error="NotFound")


def answer_plain(status: int, text: str) -> Answer:
    """Return a plain text answer, for requests that fail at the level of HTTP."""
    return Answer(status, f"{text}\n".encode(), TEXT, error=HTTPStatus(status).phrase)


def answer_denied(fact: str) -> Answer:
    """Return the answer to a request that is refused before anybody asks who sent it."""
    body = orjson.dumps({"__type": _DENIED, "message": fact})
    return Answer(403, body, error="AccessDeniedException")


class ResponseWriter:
    """Renders answers as HTTP, each with a unique request id."""

    def __init__(self) -> None:
        # Ids have the length and the characters of the service's own.
        self._prefix = os.urandom(20).hex().upper()[:39].encode()
        self._number = 0
        self._date = b""
        self._date_second = 0

    def tick(self, now: float | None = None) -> None:
        """Update the Date header; called about once a second."""
        second = int(time.time() if now is None else now)
        if second != self._date_second:
            self._date_second = second
            self._date = formatdate(second, usegmt=True).encode()

    @property
    def last_id(self) -> str:
        """The request id of the last rendered answer."""
        return f"{self._prefix.decode()}{self._number:013d}"

    def write_response(self, body: bytes) -> bytes:
        """Return a successful response as bytes: a faster `write` for the most common case."""
        self._number += 1
        return b"".join(
            (
                _RESPONSE % (self._date, len(body), self._prefix, self._number, crc32(body)),
                body,
            )
        )

    def write(self, answer: Answer, *, keeps_alive: bool, has_body: bool = True) -> bytes:
        """Return an answer as bytes."""
        self._number += 1
        status, body, content_type, headers, _, crc = answer
        head = (
            b"%bServer: Server\r\nDate: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n"
            b"Connection: %b\r\nx-amzn-RequestId: %b%013d\r\nx-amz-crc32: %d\r\n%b\r\n"
        ) % (
            _STATUS_LINES[status],
            self._date,
            content_type,
            len(body),
            b"keep-alive" if keeps_alive else b"close",
            self._prefix,
            self._number,
            crc32(body) if crc is None else crc,
            headers,
        )
        return head + body if has_body else head
