"""The client for event loops."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from keyfold.errors import OptionInvalid
from keyfold.wire.client._calls import Lost, Tell, is_of_streams
from keyfold.wire.client._endpoints import Endpoint
from keyfold.wire.client._prefixes import Prefix
from keyfold.wire.client._retries import Retries, Timeouts, draw_fraction
from keyfold.wire.client._settings import Settings
from keyfold.wire.client._signing import Credentials

if TYPE_CHECKING:
    import ssl

    from keyfold.wire.client._async_connections import AsyncPool


class AsyncClient:
    """DynamoDB's API for an event loop; takes what Client takes.

    `connections` is how many calls are made at a time at most; those beyond wait for their turn.
    """

    def __init__(
        self,
        url: str,
        *,
        credentials: Credentials | Callable[[], Credentials] | None = None,
        profile: str | None = None,
        region: str | None = None,
        endpoint: str | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        accepts_gzip: bool | None = None,
        sends_gzip: bool | None = None,
        tls: ssl.SSLContext | None = None,
        connections: int = 64,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        draw: Callable[[], float] = draw_fraction,
    ) -> None:
        if not isinstance(connections, int) or connections < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise OptionInvalid("connections", connections, "Give 1 or more.")
        settings = Settings(
            url,
            credentials=credentials,
            profile=profile,
            region=region,
            endpoint=endpoint,
            timeouts=timeouts or Timeouts(),
            retries=retries or Retries(),
            accepts_gzip=accepts_gzip,
            sends_gzip=sends_gzip,
            tls=tls,
            clock=clock,
            monotonic=monotonic,
            draw=draw,
        )
        self.url = url
        self._monotonic = monotonic
        self._prefix = Prefix(settings.place.prefix) if settings.place.prefix else None
        self._tables, self._streams = settings.make_conducts()
        # To load asyncio takes longer than all else here together, and threads do without it.
        carrying = import_module("keyfold.wire.client._async_connections")
        self._run_aside: Callable[[Callable[[], Any]], Awaitable[Any]] = carrying.run_aside
        self._sleep: Callable[[float], Awaitable[None]] = sleep or carrying.sleep
        self._pools: dict[Endpoint, AsyncPool] = {
            conduct.endpoint: carrying.AsyncPool(
                conduct.endpoint, settings.timeouts, settings.make_context, connections
            )
            for conduct in (self._tables, self._streams)
        }

    async def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one operation of DynamoDB's API; raises what `Client.execute` does."""
        if self._prefix is None:
            return await self._execute(operation, request)
        answer = await self._execute(operation, self._prefix.add(operation, request))
        return self._prefix.remove(operation, answer)

    async def execute_telling(
        self, operation: str, request: dict[str, Any], tell: Tell
    ) -> dict[str, Any]:
        """Carry out one operation as `execute` does, and tell of every try that is made again.

        `tell` is given what came of the try, and for how many seconds is paused before the next.
        """
        if self._prefix is None:
            return await self._execute(operation, request, tell)
        prefixed = self._prefix.add(operation, request)
        return self._prefix.remove(operation, await self._execute(operation, prefixed, tell))

    async def close(self) -> None:
        """Close the connections. Closing again does nothing."""
        for pool in self._pools.values():
            await pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncClient {self.url}>"

    async def _execute(
        self, operation: str, request: dict[str, Any], tell: Tell | None = None
    ) -> dict[str, Any]:
        conduct = self._streams if is_of_streams(operation) else self._tables
        exchange = self._pools[conduct.endpoint].exchange
        call = conduct.begin(operation, request)
        while True:
            credentials = conduct.find_credentials()
            if credentials is None:
                # It may ask a file, a program or the network.
                credentials = await self._run_aside(conduct.renew_credentials)
            message = conduct.render(call, credentials)
            try:
                response = await exchange(message, call.deadline - self._monotonic())
            except Lost as lost:
                outcome = conduct.mourn(call, lost)
            else:
                outcome = conduct.settle(call, response)
                if isinstance(outcome, dict):
                    return outcome
            if tell is not None:
                tell(conduct.explain(call), outcome)
            await self._sleep(outcome)
