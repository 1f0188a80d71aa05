"""Runs an ASGI application on a socket, by uvicorn, until a signal stops it, or beside another server."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from keyfold.errors import ExtraMissing
from keyfold.service._connections import make_protocol
from keyfold.service._http import Receive, Scope, Send
from keyfold.wire.server import Limits
from keyfold.wire.server._server import new_event_loop


class DrainedApp(Protocol):
    """An ASGI application that is told when it is about to stop."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the events of the application's lifespan."""
        ...

    def drain(self) -> None:
        """End what would go on for ever, and tell load balancers to send no more requests."""
        ...


@dataclass(frozen=True, slots=True)
class Tls:
    """The paths of a certificate and its private key."""

    cert: str
    key: str | None = None


def run_app(
    app: DrainedApp,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    extra: str,
    tls: Tls | None = None,
    limits: Limits | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the requests that were accepted.

    Raises ExtraMissing, which names the extra that has uvicorn.
    """
    server = _make_server(app, listener, on_ready=on_ready, extra=extra, tls=tls, limits=limits)

    async def serve() -> None:
        def stop() -> None:
            app.drain()
            server.should_exit = True

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        await server.serve(sockets=[listener])

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())


@contextlib.contextmanager
def running_app(app: DrainedApp, listener: socket.socket, *, extra: str) -> Generator[None]:
    """Serve in a thread, beside another server, until the end of the context.

    Raises ExtraMissing, which names the extra that has uvicorn.
    """
    ready = threading.Event()
    server = _make_server(app, listener, on_ready=ready.set, extra=extra)

    def serve() -> None:
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(server.serve(sockets=[listener]))
        finally:
            # A server that could not start is not waited for.
            ready.set()

    thread = threading.Thread(target=serve, name="keyfold-app", daemon=True)
    thread.start()
    ready.wait()
    try:
        yield
    finally:
        app.drain()
        server.should_exit = True
        thread.join()


def _make_server(
    app: DrainedApp,
    listener: socket.socket,
    *,
    on_ready: Callable[[], None],
    extra: str,
    tls: Tls | None = None,
    limits: Limits | None = None,
) -> Any:
    """Return a server of uvicorn that signals do not stop; raises ExtraMissing."""
    try:
        uvicorn: Any = import_module("uvicorn")
    except ImportError:
        raise ExtraMissing("The server", "uvicorn", extra) from None
    limits = limits or Limits()
    # Inherited by every connection. Otherwise a response in two packets may wait for 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(
        app,
        lifespan="on",
        # Requests have a log of their own.
        log_config=None,
        access_log=False,
        server_header=False,
        # No proxy is trusted to say who calls.
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.idle_seconds),
        timeout_graceful_shutdown=int(limits.stop_seconds) + 1,
        http=make_protocol(limits),
        ws="none",
        # Invalid requests, which anybody can send, are warnings.
        log_level="error",
        ssl_certfile=None if tls is None else tls.cert,
        ssl_keyfile=None if tls is None else tls.key,
        ssl_version=ssl.PROTOCOL_TLS_SERVER,
    )

    class AppServer(uvicorn.Server):
        """Stops by our own signal handlers, so that a stopped process exits with 0."""

        @contextlib.contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)  # pyright: ignore[reportUnknownMemberType] - of a module that may be missing
            if self.started:
                on_ready()

    return AppServer(config)
