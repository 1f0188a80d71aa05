"""A proxy that injects scripted faults into requests and responses."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedReader
from typing import Literal, NamedTuple, Self
from urllib.parse import urlsplit
from zlib import crc32

# The fate of a request. Those above the line never reach the server.
Fault = Literal[
    "refuse",  # the connection is closed before anything is read
    "lose",  # the connection is closed after the request is read
    "stall",  # there is no response until the client times out
    "throttle",  # the response is a throttling error
    "busy",  # the response is our server's 503 for requests that it has no room for
    "fail",  # the response is an internal server error
    # ---
    "forget",  # the connection is closed instead of a response
    "delay",  # the response comes after the client has timed out
    "truncate",  # the connection is closed in the middle of the response
    "corrupt",  # a byte of the response's body is changed
    "fail late",  # the response is an internal server error although the request succeeded
    "gateway",  # the same, from a gateway that is not DynamoDB
    # --- these are harmless
    "trickle",  # the response comes byte by byte
    "chunk",  # the response comes in chunks
    "hang up",  # the connection is closed after the response
    "pass",
]
FAULTS: tuple[Fault, ...] = (
    *("refuse", "lose", "stall", "throttle", "busy", "fail"),
    *("forget", "delay", "truncate", "corrupt", "fail late", "gateway"),
    *("trickle", "chunk", "hang up", "pass"),
)
HARMLESS: frozenset[Fault] = frozenset({"trickle", "chunk", "hang up", "pass"})

WAITING: frozenset[Fault] = frozenset({"stall", "delay"})

_NAMESPACE = "com.amazonaws.dynamodb.v20120810#"


class _Request(NamedTuple):
    headers: dict[str, str]
    body: bytes


class FaultProxy:
    """Forwards requests to a server; each meets the next fault of the script, or none."""

    def __init__(self, server_url: str) -> None:
        self._server = urlsplit(server_url)
        self._script: deque[Fault] = deque()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._clients: set[socket.socket] = set()
        self._busy = 0
        self._changed = threading.Condition()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="fault-proxy", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        # A close does not wake a thread that waits in accept().
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in list(self._clients):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self.settle()

    def plan(self, script: Iterable[Fault]) -> None:
        """Set the faults for the next requests, one each."""
        with self._changed:
            self._script = deque(script)

    def settle(self) -> None:
        """Wait until all requests are done and all scripted closes have happened."""
        with self._changed:
            assert self._changed.wait_for(lambda: not self._busy, timeout=60)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._clients.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        is_busy = False
        try:
            with client, suppress(OSError), client.makefile("rb") as stream:
                while stream.peek(1):
                    is_busy = self._count(+1)
                    if not self._answer(client, stream):
                        break
                    is_busy = self._count(-1)
        finally:
            # By now the client can see that the connection is closed.
            if is_busy:
                self._count(-1)
            self._clients.discard(client)

    def _count(self, change: int) -> bool:
        """Count a request that begins or ends; return whether one begins."""
        with self._changed:
            self._busy += change
            self._changed.notify_all()
        return change > 0

    def _answer(self, client: socket.socket, stream: BufferedReader) -> bool:
        """Answer one request; return whether the connection stays open."""
        with self._changed:
            if self._script and self._script[0] == "refuse":
                self._script.popleft()
                return False
        request = _read_request(stream)
        if _has_ended(client):
            # The client timed out before the request was read: treat it as lost on the way.
            return False
        with self._changed:
            fault = self._script.popleft() if self._script else "pass"
        match fault:
            case "lose" | "refuse":
                return False
            case "stall":
                _wait_for_end(stream)
                return False
            case "throttle":
                kind = "ProvisionedThroughputExceededException"
                client.sendall(_write_error(400, kind))
                return True
            case "busy":
                client.sendall(_write_error(503, "ServiceUnavailable", "X-Keyfold-Undone: true"))
                return True
            case "fail":
                client.sendall(_write_error(500, "InternalServerError"))
                return True
            case _:
                return self._respond_with_fault(client, stream, self._forward(request), fault)

    def _respond_with_fault(
        self,
        client: socket.socket,
        stream: BufferedReader,
        answer: tuple[bytes, bytes],
        fault: Fault,
    ) -> bool:
        head, body = answer
        whole = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
        match fault:
            case "forget":
                return False
            case "delay":
                _wait_for_end(stream)
                return False
            case "truncate":
                client.sendall(whole[: len(whole) - max(1, len(body) // 2)])
                return False
            case "corrupt":
                client.sendall(whole[:-1] + bytes([whole[-1] ^ 1]))
            case "fail late":
                client.sendall(_write_error(500, "InternalServerError"))
            case "gateway":
                page = b"<html>Bad gateway</html>"
                line = b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n"
                client.sendall(line + b"Content-Length: %d\r\n\r\n%b" % (len(page), page))
            case "trickle":
                for place in range(len(whole)):
                    client.sendall(whole[place : place + 1])
            case "chunk":
                chunks = [body[place : place + 7] for place in range(0, len(body), 7)]
                lines = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
                framing = b"Transfer-Encoding: chunked\r\n\r\n"
                client.sendall(head + framing + b"".join(lines) + b"0\r\n\r\n")
            case _:
                client.sendall(whole)
        return fault != "hang up"

    def _forward(self, request: _Request) -> tuple[bytes, bytes]:
        assert self._server.hostname is not None
        server = http.client.HTTPConnection(self._server.hostname, self._server.port)
        try:
            server.request("POST", "/", request.body, request.headers)
            answer = server.getresponse()
            body = answer.read()
        finally:
            server.close()
        lines = [f"HTTP/1.1 {answer.status} {answer.reason}"]
        framing = ("content-length", "connection")
        lines += [
            f"{name}: {text}"
            for name, text in answer.headers.items()
            if name.lower() not in framing
        ]
        return "\r\n".join((*lines, "")).encode("latin-1"), body


def _read_request(stream: BufferedReader) -> _Request:
    headers: dict[str, str] = {}
    first = stream.readline()
    assert first == b"POST / HTTP/1.1\r\n", first
    while line := stream.readline().strip():
        name, _, text = line.decode("latin-1").partition(":")
        headers[name] = text.strip()
    return _Request(headers, stream.read(int(headers.pop("Content-Length"))))


def _has_ended(client: socket.socket) -> bool:
    try:
        return client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False


def _wait_for_end(stream: BufferedReader) -> None:
    assert stream.read(1) == b""


def _write_error(status: int, kind: str, *headers: str) -> bytes:
    body = json.dumps({"__type": f"{_NAMESPACE}{kind}", "message": "says the proxy"}).encode()
    lines = "".join(line + "\r\n" for line in headers)
    return (
        f"HTTP/1.1 {status} No\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"x-amz-crc32: {crc32(body)}\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    ).encode() + body
