"""The least that a server in Python could do: parse HTTP, respond with constant bytes.

python -m benchmarks._wire_bare PORT BYTES
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import httptools

from keyfold.wire.server._server import new_event_loop


class _Connection(asyncio.Protocol):
    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._parser = httptools.HttpRequestParser(self)
        self._transport = cast(asyncio.Transport, None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(self._answer)


def make_answer(size: int) -> bytes:
    """Return a response of `size` bytes."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    body = size - len(head % size)
    return head % body + b" " * body


async def _serve(port: int, size: int) -> None:
    answer = make_answer(size)
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(answer), "127.0.0.1", port
    )
    await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        # The same kind of event loop as that of the server it is compared with.
        runner.run(_serve(int(sys.argv[1]), int(sys.argv[2])))
