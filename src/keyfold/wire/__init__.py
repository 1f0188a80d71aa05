"""DynamoDB's protocol: a server that puts an engine behind it, and a client for it."""

from __future__ import annotations

__all__ = ()
