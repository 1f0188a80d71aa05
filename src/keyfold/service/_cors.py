"""Cross-origin requests (CORS): what browsers need to know before a page may see a response.

Only pages whose origin a service accepts come here; requests of others are refused before.
"""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.service._http import ServiceResponse

_METHODS = "GET, HEAD, POST"
# The headers that a service reads. Pages send others only where a browser lets them without asking.
_REQUEST_HEADERS = (
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Keyfold-Capacity, "
    "Last-Event-ID, Prefer, Traceparent, Tracestate, X-Api-Key"
)
# The headers that a service writes, besides those that pages always see.
_RESPONSE_HEADERS = (
    "ETag, Idempotency-Replayed, Keyfold-Capacity, Link, Preference-Applied, "
    "Retry-After, WWW-Authenticate, X-Request-Id"
)
# How long a browser may remember the answer to a preflight.
_PREFLIGHT_SECONDS = 600
_PRIVATE_NETWORK = "access-control-request-private-network"


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Return whether a browser asks if a page may send a request."""
    return method == "OPTIONS" and "access-control-request-method" in headers


def answer_preflight(headers: Mapping[str, str]) -> ServiceResponse:
    """Return the answer to a preflight of an accepted origin: which methods and headers pages may send.

    There are no cookies, so credentials are not allowed: tokens and API keys are headers.
    """
    allowed = {
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": _REQUEST_HEADERS,
        "access-control-max-age": str(_PREFLIGHT_SECONDS),
    }
    if headers.get(_PRIVATE_NETWORK) == "true":
        # Chrome asks before a public page may send requests to a private address.
        allowed["access-control-allow-private-network"] = "true"
    return ServiceResponse(204, headers=allowed)


def share_with(origin: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a response with those that let the pages of an origin see it.

    >>> share_with("https://app.example", {})["access-control-allow-origin"]
    'https://app.example'
    """
    vary = headers.get("vary")
    return {
        **headers,
        "access-control-allow-origin": origin,
        "access-control-expose-headers": _RESPONSE_HEADERS,
        "vary": "Origin" if vary is None else f"{vary}, Origin",
    }
