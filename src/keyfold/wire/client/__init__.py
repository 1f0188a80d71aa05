"""A lean client for DynamoDB, and for anything that speaks its API.

A call passes these modules: `_calls` signs it and judges what comes of each try, by the rules of
`_repeating` and `_retries`; `_connections` and `_async_connections` carry bytes to and fro;
`_responses`, `_bodies` and `_faults` read what came back. `Client` and `AsyncClient` are loops
around these.
"""

from __future__ import annotations

from keyfold.wire.client._async_client import AsyncClient
from keyfold.wire.client._client import Client
from keyfold.wire.client._retries import Retries, Timeouts
from keyfold.wire.client._signing import Credentials

__all__ = ["AsyncClient", "Client", "Credentials", "Retries", "Timeouts"]
