"""A small client for DynamoDB, and for any endpoint that speaks its API.

A call passes these modules: `_calls` signs it and decides what to do after each attempt, by the
rules of `_repeating` and `_retries`; `_connections` and `_async_connections` send and receive
bytes; `_responses`, `_bodies` and `_faults` parse the response. `Client` and `AsyncClient` are
loops around these.
"""

from __future__ import annotations

from keyfold.wire.client._async_client import AsyncClient
from keyfold.wire.client._client import Client
from keyfold.wire.client._retries import Retries, Timeouts
from keyfold.wire.client._signing import Credentials

__all__ = ["AsyncClient", "Client", "Credentials", "Retries", "Timeouts"]
