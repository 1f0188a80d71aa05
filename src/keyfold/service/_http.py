"""Requests and responses of HTTP, by the ASGI protocol."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, quote

from keyfold.errors import AuthenticationUnavailable
from keyfold.service._problems import PROBLEM_TYPE, HttpProblem, ServiceProblem, refuse
from keyfold.wire.server._browsers import BrowserRules

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON_TYPE = "application/json"
_MAX_FIELDS = 200
_DIGITS = 18
_SHOWN_PATH = 200


@dataclass(frozen=True, slots=True)
class ServiceResponse:
    """A response with a whole body."""

    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    async def send(self, send: Send, *, has_body: bool = True) -> None:
        """Send the response."""
        headers = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in self.headers.items()
        ]
        if self.body:
            headers.append((b"content-type", self.content_type.encode()))
        if self.status not in (204, 304):
            headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body if has_body else b""})


def respond_with(problem: HttpProblem) -> ServiceResponse:
    """Return the response of a problem."""
    return ServiceResponse(problem.status, problem.to_bytes(), PROBLEM_TYPE, problem.headers)


class ServiceRequest:
    """A request: its method, path and headers; the body is received on demand."""

    __slots__ = ("_query", "_receive", "headers", "method", "path", "root", "scope", "sent_path")

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = scope
        self._receive = receive
        self._query: list[tuple[str, str]] | None = None
        self.method: str = scope["method"]
        # Where the application is mounted; servers differ in whether the path has it.
        self.root: str = scope.get("root_path", "")
        path: str = scope["path"]
        self.path = path.removeprefix(self.root) if self.root else path
        raw: bytes | None = scope.get("raw_path")
        # As it was sent, where servers tell: there, a slash within a segment is `%2F`.
        self.sent_path = (
            quote(self.path) if raw is None else raw.decode("latin-1").removeprefix(self.root)
        )
        pairs: list[tuple[bytes, bytes]] = scope["headers"]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
        self.headers = headers if len(headers) == len(pairs) else _join_repeated(pairs)

    @property
    def query(self) -> list[tuple[str, str]]:
        """The names and values of the query string, in order."""
        if self._query is None:
            self._query = self._parse_query()
        return self._query

    @property
    def sent_query(self) -> str:
        """The query string as it was sent."""
        return self.scope["query_string"].decode("latin-1")

    def _parse_query(self) -> list[tuple[str, str]]:
        text: bytes = self.scope["query_string"]
        if not text:
            return []
        plain = _split_plain(text)
        if plain is not None:
            return plain
        try:
            return parse_qsl(
                text.decode("ascii"),
                keep_blank_values=True,
                strict_parsing=True,
                errors="strict",
                max_num_fields=_MAX_FIELDS,
            )
        except ValueError:
            fact = f"The query string is not of the form name=value&…, in UTF-8, with up to {_MAX_FIELDS} values."
            raise refuse(400, "request-malformed", fact) from None

    async def read_body(self, most: int) -> bytes:
        """Return the body; raises ServiceProblem if it has more than `most` bytes, or ends early."""
        declared = self.headers.get("content-length", "")
        if declared.isdecimal() and len(declared) <= _DIGITS and int(declared) > most:
            raise _too_large(most)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > most:
                raise _too_large(most)
            parts.append(part)
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)

    async def wait_until_gone(self) -> None:
        """Return when the client has hung up."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _split_plain(text: bytes) -> list[tuple[str, str]] | None:
    """Return the names and values of a query string in which nothing is quoted; None for any other."""
    if b"%" in text or b"+" in text or not text.isascii():
        return None
    pairs: list[tuple[str, str]] = []
    for each in text.decode("ascii").split("&"):
        name, equals, value = each.partition("=")
        if not equals:
            return None
        pairs.append((name, value))
    return pairs if len(pairs) <= _MAX_FIELDS else None


def _join_repeated(pairs: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name, with the values of repeated ones joined by commas, as HTTP says.

    None of them is preferred: what is between a client and the service may have checked another one.
    """
    joined: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def check_browser(request: ServiceRequest, browsers: BrowserRules) -> str | None:
    """Return the origin of a web page that sent a request; raises a problem if it may not send any."""
    host, origin = request.headers.get("host"), request.headers.get("origin")
    sent = None if host is None else host.encode("latin-1")
    if origin is None and sent in browsers.known_hosts:
        return None
    fact = browsers.find_refusal(sent, None if origin is None else origin.encode("latin-1"))
    if fact is not None:
        raise refuse(403, "origin-refused", f"{fact}.")
    return origin


class ClientGone(Exception):
    """The client has hung up: nobody waits for a response."""


def _too_large(most: int) -> Exception:
    return refuse(413, "request-too-large", f"The body may have up to {most:,} bytes.")


def log_fault(
    log: logging.Logger, request: ServiceRequest, problem: HttpProblem, error: Exception
) -> None:
    """Log a problem of the service itself; with a traceback if it was not foreseen."""
    if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR:
        return
    # As it was sent: in a decoded path, a line could end.
    shown = f"{request.method} {request.sent_path[:_SHOWN_PATH]} failed"
    if problem.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("%s", shown, exc_info=error)
    elif not isinstance(error, ServiceProblem | AuthenticationUnavailable):
        # Others are meant, such as that of a service that stops, or logged where they are found.
        log.warning("%s: %s", shown, error)
