"""The server: a listening socket, an event loop, and the engine that they serve."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TextIO

from keyfold.clocks import Clock, check_clock
from keyfold.errors import AddressUnavailable, OptionInvalid
from keyfold.wire.server._acceptor import Acceptor
from keyfold.wire.server._access_log import AccessLog
from keyfold.wire.server._browsers import BrowserRules, check_exposure, is_loopback_address
from keyfold.wire.server._descriptors import fit_to_descriptors
from keyfold.wire.server._gate import Gate
from keyfold.wire.server._limits import Limits
from keyfold.wire.server._metrics import Metrics
from keyfold.wire.server._scheduler import Scheduler, ServedEngine
from keyfold.wire.server._state import ServerState

_SWEEP_SECONDS = 1.0
# How long a stop waits for what it has cancelled.
_LAST_SECONDS = 0.5
_LAST_PORT = 65_535


class Server:
    """Serves an engine over HTTP with DynamoDB's API.

    >>> from keyfold.engine import Engine
    >>> with Engine.open(":memory:") as engine, Server(engine).running() as url:
    ...     url.startswith("http://127.0.0.1:")
    True

    Port 0 picks a free one; `url` has it once the server runs. `listener` is an already bound
    socket, in place of a host and port. A `gate` decides which requests are carried out; without
    one, all are. With a `date_clock`, requests must be signed at most five minutes before or after
    its time, whatever the key; a gate of access keys checks that itself. Stopping the server does not
    close the service.

    Web pages cannot use the server, except those of this machine and of the origins in
    `allow_origin`. On a loopback address, requests must name a loopback host, or one of `allow_host`;
    on any other address, one of `allow_host` if there are some. An address that other machines reach
    needs a gate, or `insecure=True`.
    """

    def __init__(
        self,
        service: ServedEngine,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        listener: socket.socket | None = None,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
        metrics: Metrics | None = None,
        access_log: TextIO | None = None,
        gate: Gate | None = None,
        allow_host: Sequence[str] = (),
        allow_origin: Sequence[str] = (),
        insecure: bool = False,
        date_clock: Clock | None = None,
    ) -> None:
        if date_clock is not None:
            check_clock(date_clock)
        self._service = service
        self._host, self._port = host, port
        self._listener = listener
        self._limits = fit_to_descriptors(limits or Limits())
        self._tls = tls
        self._metrics = metrics
        self._access_log = None if access_log is None else AccessLog(access_log)
        self._gate = gate
        self._allow_host, self._allow_origin = allow_host, allow_origin
        self._insecure = insecure
        self._date_clock = date_clock
        self._acceptor: Acceptor | None = None
        self._state: ServerState | None = None
        self._sweeping: asyncio.TimerHandle | None = None

    @property
    def url(self) -> str:
        """The server's URL, for clients."""
        scheme = "http" if self._tls is None else "https"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{scheme}://{host}:{self._port}"

    async def start(self) -> None:
        """Start listening on the running event loop; raises AddressUnavailable."""
        loop = asyncio.get_running_loop()
        listener = self._listener or bind(self._host, self._port)
        self._host, self._port = listener.getsockname()[:2]
        browsers = self._make_browser_rules(listener)
        limits = self._limits
        scheduler = Scheduler(
            self._service, loop, waiting=limits.waiting, run_seconds=limits.run_seconds
        )
        state = self._state = ServerState(
            scheduler,
            self._limits,
            metrics=self._metrics,
            access_log=self._access_log,
            gate=self._gate,
            browsers=browsers,
            date_clock=self._date_clock,
        )
        self._acceptor = Acceptor(listener, state, loop, self._tls)
        self._acceptor.start()
        self._sweep()

    async def stop(self) -> None:
        """Finish the accepted requests, and close every connection.

        Requests that take longer than `Limits.stop_seconds` are cancelled.
        """
        state, acceptor = self._state, self._acceptor
        if state is None or acceptor is None:
            return
        loop = asyncio.get_running_loop()
        emptied = asyncio.Event()
        state.on_empty = emptied.set
        acceptor.close()
        state.stop()
        if state.clients:
            await _wait(emptied, self._limits.stop_seconds)
        state.scheduler.cancel()
        if state.clients:
            # Pages that were being read have ended, and are still answered.
            await _wait(emptied, _LAST_SECONDS)
        for client in list(state.clients):
            client.abort()
        with suppress(TimeoutError):
            await asyncio.wait_for(state.scheduler.drain(), _LAST_SECONDS)
        await loop.run_in_executor(None, state.scheduler.close)
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._acceptor = self._state = None

    @contextmanager
    def running(self) -> Generator[str]:
        """Run the server in a background thread inside the `with` block; yields its URL."""
        loop = new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="keyfold-server", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.start(), loop).result()
            yield self.url
        finally:
            asyncio.run_coroutine_threadsafe(self.stop(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _make_browser_rules(self, listener: socket.socket) -> BrowserRules:
        try:
            has_keys = self._gate is not None
            check_exposure(self._host, has_keys=has_keys, insecure=self._insecure)
            # Beyond loopback, only the operator knows the names of the server.
            any_host = not self._allow_host and not is_loopback_address(self._host)
            return BrowserRules(self._allow_host, self._allow_origin, any_host=any_host)
        except OptionInvalid:
            listener.close()
            raise

    def _sweep(self) -> None:
        if self._state is not None and self._acceptor is not None:
            # Scheduled first: whatever fails in one sweep, there is a next one.
            self._sweeping = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)
            self._state.sweep()
            self._acceptor.sweep(self._state.now)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, for some seconds at most."""
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound but not yet listening; raises AddressUnavailable."""
    if not 0 <= port <= _LAST_PORT:
        raise AddressUnavailable(host, port, f"ports go from 0 to {_LAST_PORT}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise AddressUnavailable(host, port, error.strerror or str(error)) from error
    return listener


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop: uvloop's if it is installed, else asyncio's."""
    try:
        uvloop: Any = import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
