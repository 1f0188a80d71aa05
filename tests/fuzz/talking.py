"""A live server, and bare connections to it."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self
from urllib.parse import urlsplit

from keyfold.engine import Engine
from keyfold.wire.server import Limits, Server
from keyfold.wire.server._state import ServerState
from tests.fuzz.engines import open_repeatable
from tests.unit.wire.server.http import Response, ask, read_responses

# Only a server that hangs makes anybody wait so long.
PATIENCE_SECONDS = 30.0

_CHUNK_BYTES = 1 << 16


class Line:
    """One connection, as bytes."""

    def __init__(self, address: tuple[str, int], tls: ssl.SSLContext | None = None) -> None:
        self._socket = socket.create_connection(address, PATIENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname="localhost")
        self._received = b""
        self.is_cut_off = False

    def send(self, data: bytes) -> None:
        """Send bytes; a server that has hung up need not take them."""
        try:
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            self.is_cut_off = True

    def end(self) -> None:
        """Send nothing more."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.is_cut_off = True

    def ask(self, data: bytes) -> Response:
        """Send one request, and read its answer."""
        self.send(data)
        return self.read_response()

    def read_response(self) -> Response:
        """The next answer."""
        while b"\r\n\r\n" not in self._received:
            self._receive_more()
        head, end, self._received = self._received.partition(b"\r\n\r\n")
        (response,) = read_responses(head + end)
        length = int(response.headers.get("content-length", "0"))
        while len(self._received) < length:
            self._receive_more()
        body, self._received = self._received[:length], self._received[length:]
        return Response(response.status, response.headers, body)

    def read_rest(self) -> bytes:
        """Everything until the server hangs up."""
        parts = [self._received]
        self._received = b""
        while part := self._receive():
            parts.append(part)
        return b"".join(parts)

    def reset(self) -> None:
        """Hang up at once, whatever is on its way."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _receive(self) -> bytes:
        """Whatever comes next; nothing once the server has hung up."""
        try:
            return self._socket.recv(_CHUNK_BYTES)
        except ConnectionResetError:
            return b""

    def _receive_more(self) -> None:
        part = self._receive()
        assert part, f"the server hung up after {self._received!r}"
        self._received += part


@dataclass(frozen=True, slots=True)
class Live:
    """A server that runs, and what is behind it."""

    engine: Engine
    address: tuple[str, int]

    def call(self, tls: ssl.SSLContext | None = None) -> Line:
        """A new connection."""
        return Line(self.address, tls)

    def exchange(self, data: bytes) -> bytes:
        """Send bytes on a new connection, and no more; everything that comes back."""
        with self.call() as line:
            # A pipeline is sent while its first answers come.
            sender = threading.Thread(target=_send_all, args=(line, data))
            sender.start()
            received = line.read_rest()
            sender.join()
            return received

    def check_health(self) -> None:
        """Have the loop, and a thread with the engine, answer on a new connection."""
        with self.call() as line:
            assert line.ask(b"GET / HTTP/1.1\r\n\r\n").status == 200
            assert line.ask(ask("ListTables", {})).status == 200


def _send_all(line: Line, data: bytes) -> None:
    line.send(data)
    line.end()


@contextmanager
def serving(limits: Limits | None = None, *, tls: ssl.SSLContext | None = None) -> Generator[Live]:
    """Run a server on an empty engine; in the end nothing may be left over, nor be damaged."""
    with (
        TemporaryDirectory() as folder,
        open_repeatable(buckets=Path(folder)) as engine,
    ):
        (Path(folder) / "bucket").mkdir()
        server = Server(engine, limits=limits, tls=tls)
        with server.running() as url:
            state = server._state
            assert state is not None
            parts = urlsplit(url)
            live = Live(engine, (parts.hostname or "", parts.port or 0))
            yield live
            if tls is None:
                live.check_health()
            _await_release(state)
        assert state.clients == set()
        assert (state.memory.pooled_bytes, state.memory.work_bytes) == (0, 0)
        assert not state.scheduler.is_full
        assert engine.verify() == []


def _await_release(state: ServerState) -> None:
    """Wait until nothing is held for requests: a thread frees what large ones became.

    A stopping server does not wait for that, since its memory is freed with it.
    """
    for _ in range(1_000):
        if not state.memory.work_bytes and not state.memory.pooled_bytes:
            return
        time.sleep(0.01)


def check_answers(received: bytes, *, may_lack_bodies: bool = False) -> list[Response]:
    """The answers in what was received, once everything about them is in order.

    An answer to HEAD has no body, whatever its head says of one.
    """
    answers: list[Response] = []
    while received:
        head, end, received = received.partition(b"\r\n\r\n")
        (answer,) = read_responses(head + end)
        length = int(answer.headers.get("content-length", "0"))
        if not may_lack_bodies or received[:5] not in {b"", b"HTTP/"}:
            body, received = received[:length], received[length:]
            answer = Response(answer.status, answer.headers, body)
            if answer.status != 100:
                assert len(body) == length
                assert int(answer.headers["x-amz-crc32"]) == zlib.crc32(body)
        if answer.status != 100:
            assert answer.headers["x-amzn-requestid"]
            assert answer.headers["connection"] in {"keep-alive", "close"}
        answers.append(answer)
    return answers
