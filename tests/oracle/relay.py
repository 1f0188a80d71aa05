"""Run a server, and relay a unix socket to its port: `relay.py SOCKET PORT COMMAND…`.

It runs as a file in a network namespace, and imports no other module of the repository.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _serve(socket_path: str, port: int, command: list[str]) -> None:
    """Run the server and relay `socket_path` to it."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            near, far = await asyncio.open_connection("127.0.0.1", port)
        except OSError:  # the server is still starting
            writer.close()
            return
        await asyncio.gather(_pipe(reader, far), _pipe(near, writer))

    relay = await asyncio.start_unix_server(connect, socket_path)
    server = await asyncio.create_subprocess_exec(*command)
    async with relay:
        await server.wait()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
