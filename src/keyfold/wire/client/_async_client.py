"""The asynchronous client."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from keyfold.api import find_operation
from keyfold.clocks import Clock
from keyfold.errors import OptionInvalid
from keyfold.wire.client._calls import CallPolicy, ClientCall, NoResponse, OnRetry
from keyfold.wire.client._endpoints import Endpoint
from keyfold.wire.client._responses import Response
from keyfold.wire.client._retries import Retries, Timeouts, random_fraction
from keyfold.wire.client._settings import ClientSettings
from keyfold.wire.client._signing import Credentials

if TYPE_CHECKING:
    import ssl

    from keyfold.wire.client._async_connections import AsyncPool


class AsyncClient:
    """A client for DynamoDB's API on an event loop; takes the options of `Client`.

    `connections` limits the calls in flight; further calls wait for a free connection.
    """

    reports_retries = True
    """`execute` takes `on_retry`."""

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
        clock: Clock = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        jitter: Callable[[], float] = random_fraction,
    ) -> None:
        if not isinstance(connections, int) or connections < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
            raise OptionInvalid("connections", connections, "Give 1 or more.")
        settings = ClientSettings(
            url,
            credentials=credentials,
            profile=profile,
            region=region,
            endpoint=endpoint,
            timeouts=timeouts,
            retries=retries,
            accepts_gzip=accepts_gzip,
            sends_gzip=sends_gzip,
            tls=tls,
            clock=clock,
            monotonic=monotonic,
            jitter=jitter,
        )
        self.url = url
        self._monotonic = monotonic
        self._prefix = settings.prefix
        self._tables, self._streams = settings.make_policies()
        # Loaded here: importing asyncio takes longer than all other imports of the client
        # together, and the synchronous client does without it.
        transport = import_module("keyfold.wire.client._async_connections")
        self._run_in_thread: Callable[[Callable[[], Any]], Awaitable[Any]] = transport.run_in_thread
        self._sleep: Callable[[float], Awaitable[None]] = sleep or transport.sleep
        self._pools: dict[Endpoint, AsyncPool] = {
            policy.endpoint: transport.AsyncPool(
                policy.endpoint, settings.timeouts, settings.make_context, connections
            )
            for policy in (self._tables, self._streams)
        }

    async def execute(
        self, operation: str, request: dict[str, Any], *, on_retry: OnRetry | None = None
    ) -> dict[str, Any]:
        """Carry out one operation of DynamoDB's API.

        Takes the same arguments as `Client.execute`, and raises the same errors.
        """
        if self._prefix is None:
            return await self._execute(operation, request, on_retry)
        prefixed = self._prefix.add(operation, request)
        return self._prefix.remove(operation, await self._execute(operation, prefixed, on_retry))

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
        self, operation: str, request: dict[str, Any], on_retry: OnRetry | None
    ) -> dict[str, Any]:
        policy = self._streams if find_operation(operation).is_stream else self._tables
        call = policy.begin(operation, request)
        while True:
            try:
                response = await self._send(policy, call)
            except NoResponse as failure:
                outcome = policy.handle_no_response(call, failure)
            else:
                outcome = policy.handle_response(call, response)
                if isinstance(outcome, dict):
                    return outcome
            policy.report_retry(call, outcome, on_retry)
            await self._pause(outcome)

    # `keyfold.testing` replaces these two methods.

    async def _send(self, policy: CallPolicy, call: ClientCall) -> Response:
        """Begin another attempt: sign and send a call; raises NoResponse, CredentialsMissing."""
        credentials = policy.find_credentials()
        if credentials is None:
            # In a thread, since it may read files, run a program or use the network.
            credentials = await self._run_in_thread(policy.renew_credentials)
        message = policy.render(call, credentials)
        exchange = self._pools[policy.endpoint].exchange
        return await exchange(message, call.deadline - self._monotonic())

    async def _pause(self, seconds: float) -> None:
        await self._sleep(seconds)
