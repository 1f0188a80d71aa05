"""File descriptors: how many connections there may be, so that files can still be opened."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from keyfold.wire.server._limits import Limits

try:
    import resource
except ImportError:  # pragma: no cover - Windows has no such limit
    resource = None

# Kept free: for the database, its log and index, opened by each thread; for exports; and for connections
# that are being refused.
RESERVED_DESCRIPTORS = 128
# Of these, at most so many are connections that are being refused.
REFUSED_CONNECTIONS = 64


def raise_descriptor_limit(limits: Limits) -> None:
    """Let this process open as many files as its limits need, if the system allows it."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.connections + RESERVED_DESCRIPTORS
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # Some systems have a lower limit than the one they report.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def fit_to_descriptors(limits: Limits) -> Limits:
    """Return limits with no more connections than this process has descriptors for."""
    if resource is None:
        return limits
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits
    most = max(soft - RESERVED_DESCRIPTORS, soft // 2)
    return replace(limits, connections=min(limits.connections, most))
