"""A proxy that gets in the way of requests and answers, by a script."""

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

# What happens to a request. Those above the line never reach the server.
Fault = Literal[
    "refuse",  # the connection ends before anything is read
    "lose",  # the connection ends once the request is read
    "stall",  # nothing is answered until the client gives up
    "throttle",  # it is answered that capacity is used up
    "busy",  # it is answered, as our server does, that there is no room for it
    "fail",  # it is answered that the service failed
    # ---
    "forget",  # the connection ends in place of an answer
    "delay",  # the answer comes after the client has given up
    "truncate",  # the connection ends in the middle of the answer
    "corrupt",  # a byte of the answer's body is another
    "fail late",  # it is answered that the service failed, though it did not
    "gateway",  # likewise, by something that is no DynamoDB
    # --- these do no harm
    "trickle",  # the answer comes byte by byte
    "chunk",  # the answer comes in chunks
    "hang up",  # the connection ends after the answer
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
    """Stands before a server; each request meets the next fault of the script, or none."""

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
        # A thread that waits in accept() is not woken by a close.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in list(self._clients):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        self.settle()

    def plan(self, script: Iterable[Fault]) -> None:
        """Have the next requests meet these, one each."""
        with self._changed:
            self._script = deque(script)

    def settle(self) -> None:
        """Wait until the server is done with all that came, and what is to end has ended."""
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
                    is_busy = self._note(+1)
                    if not self._answer(client, stream):
                        break
                    is_busy = self._note(-1)
        finally:
            # By now the client can know that the connection has ended.
            if is_busy:
                self._note(-1)
            self._clients.discard(client)

    def _note(self, change: int) -> bool:
        """Note that a request has come, or is done with; tell which."""
        with self._changed:
            self._busy += change
            self._changed.notify_all()
        return change > 0

    def _answer(self, client: socket.socket, stream: BufferedReader) -> bool:
        """Answer one request; tell whether there may be another on this connection."""
        with self._changed:
            if self._script and self._script[0] == "refuse":
                self._script.popleft()
                return False
        request = _read_request(stream)
        if _has_ended(client):
            # The client gave up before anybody looked: as if it had got lost on the way.
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
                return self._spoil(client, stream, self._forward(request), fault)

    def _spoil(
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
    told = "".join(line + "\r\n" for line in headers)
    return (
        f"HTTP/1.1 {status} No\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"x-amz-crc32: {crc32(body)}\r\nContent-Length: {len(body)}\r\n{told}\r\n"
    ).encode() + body
