"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from keyfold.api import find_operation
from keyfold.clocks import Clock
from keyfold.wire.client._calls import CallPolicy, ClientCall, NoResponse, OnRetry
from keyfold.wire.client._connections import Pool
from keyfold.wire.client._responses import Response
from keyfold.wire.client._retries import Retries, Timeouts, random_fraction
from keyfold.wire.client._settings import ClientSettings
from keyfold.wire.client._signing import Credentials

if TYPE_CHECKING:
    import ssl


class Client:
    """A client for DynamoDB's API, at AWS or any other endpoint that speaks it.

    >>> from keyfold.engine import Engine
    >>> from keyfold.wire.server import Server
    >>> with Engine.open(":memory:") as engine, Server(engine).running() as url:
    ...     with Client(url) as client:
    ...         client.execute("ListTables", {})
    {'TableNames': []}

    `url` is `dynamodb://REGION`, `dynamodb://REGION/TABLE-PREFIX` or `http(s)://HOST:PORT`.
    `credentials` sign the requests; a function that returns them works too. Without them, the
    client reads the environment and the profile files, then asks botocore, if it is installed.
    `profile` names a profile. `endpoint` replaces the AWS endpoint of a `dynamodb://` URL;
    `region` is the region to sign for with an `http(s)://` URL.
    `accepts_gzip` asks for compressed responses; by default of every endpoint but those on this
    machine. `sends_gzip` compresses requests of 10 KiB or more; by default once an endpoint on
    another machine has announced that it accepts them, as `keyfold serve` does. DynamoDB accepts
    them without announcing it. `tls` replaces the default TLS context.

    A client is thread-safe, and can be used after a fork.
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
        clock: Clock = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random_fraction,
    ) -> None:
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
        self._sleep = sleep
        self._prefix = settings.prefix
        self._tables, self._streams = settings.make_policies()
        pools = {
            policy.endpoint: Pool(
                policy.endpoint, settings.timeouts, settings.make_context, monotonic
            )
            for policy in (self._tables, self._streams)
        }
        self._pools = tuple(pools.values())
        self._exchange_tables = pools[self._tables.endpoint].exchange
        self._exchange_streams = pools[self._streams.endpoint].exchange

    def execute(
        self, operation: str, request: dict[str, Any], *, on_retry: OnRetry | None = None
    ) -> dict[str, Any]:
        """Carry out one operation of DynamoDB's API.

        Request and response are dicts in the form of the API's JSON, with binaries as bytes.
        Raises ServiceError with the service's type, status and message; Unavailable or
        Unreachable if the service did not respond usefully and nothing was changed;
        OutcomeUnknown if a write may have been carried out.

        `on_retry` is called before each retry, with the error of the failed attempt and the
        seconds until the next one.
        """
        if self._prefix is None:
            return self._execute(operation, request, on_retry)
        prefixed = self._prefix.add(operation, request)
        return self._prefix.remove(operation, self._execute(operation, prefixed, on_retry))

    def close(self) -> None:
        """Close the connections. Closing again does nothing."""
        for pool in self._pools:
            pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client {self.url}>"

    def _execute(
        self, operation: str, request: dict[str, Any], on_retry: OnRetry | None
    ) -> dict[str, Any]:
        policy = self._streams if find_operation(operation).is_stream else self._tables
        call = policy.begin(operation, request)
        while True:
            try:
                response = self._send(policy, call)
            except NoResponse as failure:
                outcome = policy.handle_no_response(call, failure)
            else:
                outcome = policy.handle_response(call, response)
                if isinstance(outcome, dict):
                    return outcome
            policy.report_retry(call, outcome, on_retry)
            self._pause(outcome)

    # `keyfold.testing` replaces these two methods.

    def _send(self, policy: CallPolicy, call: ClientCall) -> Response:
        """Begin another attempt: sign and send a call; raises NoResponse, CredentialsMissing."""
        exchange = self._exchange_tables if policy is self._tables else self._exchange_streams
        credentials = policy.find_credentials() or policy.renew_credentials()
        return exchange(policy.render(call, credentials), call.deadline)

    def _pause(self, seconds: float) -> None:
        self._sleep(seconds)
