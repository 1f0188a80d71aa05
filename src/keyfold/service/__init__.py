"""Access patterns as a service: each pattern is an HTTP endpoint, and each caller has its tenant.

`create_app` returns an ASGI application, for any server of that kind, or mounted in another application.
The types of callers say who may use it.
"""

from __future__ import annotations

from keyfold.service._app import PatternService, ServiceSettings, create_app
from keyfold.service._authentication import Authentication, open_authentication
from keyfold.service._callers import Authenticator, Authenticators, Caller, FixedCaller, Nobody
from keyfold.service._endpoints import PatternEndpoint, make_endpoints
from keyfold.service._exports import export_client, export_openapi
from keyfold.service._rate_limits import RateLimit, RateLimits
from keyfold.service._running import PageLimits

__all__ = [
    "Authentication",
    "Authenticator",
    "Authenticators",
    "Caller",
    "FixedCaller",
    "Nobody",
    "PageLimits",
    "PatternEndpoint",
    "PatternService",
    "RateLimit",
    "RateLimits",
    "ServiceSettings",
    "create_app",
    "export_client",
    "export_openapi",
    "make_endpoints",
    "open_authentication",
]
