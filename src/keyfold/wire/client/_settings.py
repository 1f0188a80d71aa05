"""The options of both clients, checked, and the objects made from them."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from keyfold.clocks import Clock
from keyfold.errors import OptionInvalid
from keyfold.wire.client._calls import CallPolicy
from keyfold.wire.client._credentials import find_source
from keyfold.wire.client._endpoints import Endpoint, find_location
from keyfold.wire.client._prefixes import TablePrefix
from keyfold.wire.client._retries import Retries, RetryBudget, Timeouts
from keyfold.wire.client._signing import Credentials, Signer

if TYPE_CHECKING:
    import ssl


class ClientSettings:
    """The checked options of a client; makes its call policies and TLS context."""

    def __init__(
        self,
        url: str,
        *,
        credentials: Credentials | Callable[[], Credentials] | None,
        profile: str | None,
        region: str | None,
        endpoint: str | None,
        timeouts: Timeouts | None,
        retries: Retries | None,
        accepts_gzip: bool | None,
        sends_gzip: bool | None,
        tls: ssl.SSLContext | None,
        clock: Clock,
        monotonic: Callable[[], float],
        jitter: Callable[[], float],
    ) -> None:
        timeouts, retries = timeouts or Timeouts(), retries or Retries()
        for name, value, kind in (("timeouts", timeouts, Timeouts), ("retries", retries, Retries)):
            if not isinstance(value, kind):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not check types
                raise OptionInvalid(name, value, f"Give keyfold.wire.client.{kind.__name__}.")
        self.location = find_location(url, endpoint=endpoint, region=region)
        self.prefix = TablePrefix(self.location.prefix) if self.location.prefix else None
        self.timeouts = timeouts
        self._retries = retries
        self._accepts_gzip, self._sends_gzip = accepts_gzip, sends_gzip
        self._tls = tls
        self._clock, self._monotonic, self._jitter = clock, monotonic, jitter
        # Requests to AWS are never signed with placeholder credentials.
        is_aws = url.startswith("dynamodb:") and endpoint is None
        self._source = find_source(
            credentials,
            profile=profile,
            is_aws=is_aws or self.location.tables.is_aws,
            clock=clock,
        )

    def make_policies(self) -> tuple[CallPolicy, CallPolicy]:
        """Return the policy of calls on tables, and that of calls on streams."""
        budget = RetryBudget(self._retries.budget)
        tables = self._make_policy(self.location.tables, budget)
        if self.location.streams == self.location.tables:
            return tables, tables
        return tables, self._make_policy(self.location.streams, budget)

    def make_context(self) -> ssl.SSLContext:
        """Return the TLS context; the default one verifies certificates and host names."""
        if self._tls is not None:
            return self._tls
        # Imported here, so that clients without TLS do not pay for loading it.
        ssl = import_module("ssl")
        return ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE") or None)

    def _make_policy(self, endpoint: Endpoint, budget: RetryBudget) -> CallPolicy:
        accepts_gzip, sends_gzip = self._accepts_gzip, self._sends_gzip
        if endpoint.is_loopback:
            # On one machine there is no network whose bandwidth compression would save.
            sends_gzip = bool(sends_gzip)
        if accepts_gzip is None:
            accepts_gzip = not endpoint.is_loopback
        signer = Signer(
            endpoint.authority,
            self.location.region,
            agent="keyfold",
            accepts="gzip" if accepts_gzip else "identity",
        )
        return CallPolicy(
            endpoint,
            signer,
            self._source,
            retries=self._retries,
            budget=budget,
            total_seconds=self.timeouts.total_seconds,
            sends_gzip=sends_gzip,
            clock=self._clock,
            monotonic=self._monotonic,
            jitter=self._jitter,
        )
