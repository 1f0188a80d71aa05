"""One interface to both clients, and a server that sends scripted responses."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Self

from keyfold.wire.client import AsyncClient, Client

Kind = Literal["sync", "async"]


class AnyClient:
    """A sync or async client; calls of the async one run to completion in its own event loop."""

    def __init__(self, kind: Kind, url: str, **options: Any) -> None:
        self.pauses: list[float] = []
        self._runner: asyncio.Runner | None = None
        if kind == "sync":
            self._client: Any = Client(url, sleep=self.pauses.append, **options)
            return
        self._runner = asyncio.Runner()

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        self._client = AsyncClient(url, sleep=sleep, **options)

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._wait(self._client.execute(operation, request))

    def close(self) -> None:
        self._wait(self._client.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        if self._runner is not None:
            self._runner.close()

    def _wait(self, answer: Any) -> Any:
        return answer if self._runner is None else self._runner.run(answer)


class ScriptedServer:
    """Answers each request with the next of the scripted responses, byte for byte.

    None closes the connection without a response. A response with `Connection: close` is sent
    and followed by a close.
    """

    def __init__(self, answers: list[bytes | None], *, tls: ssl.SSLContext | None = None) -> None:
        self._answers = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls = tls
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        self.connections = 0
        # Released once per request, after its response was taken from the script.
        self.received = threading.Semaphore(0)
        # Called with the connection after each response.
        self.after: Callable[[socket.socket], None] = lambda _: None
        self._clients: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        for each in (self._listener, *self._clients):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._tls is not None:
                try:
                    client = self._tls.wrap_socket(client, server_side=True)
                except OSError:
                    continue
            self.connections += 1
            self._clients.append(client)
            self._threads.append(threading.Thread(target=self._serve, args=(client,), daemon=True))
            self._threads[-1].start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), client.makefile("rb") as stream:
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = stream.readline()
                    if not line:
                        return
                    head += line
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                self.requests.append(head + stream.read(length))
                answer = self._answers.pop(0)
                self.received.release()
                if answer is None:
                    return
                client.sendall(answer)
                self.after(client)
                if b"Connection: close" in answer:
                    return


def ok(body: bytes = b"{}", *headers: bytes) -> bytes:
    """Return a successful response."""
    lines = b"".join(line + b"\r\n" for line in headers)
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (lines, len(body), body)
