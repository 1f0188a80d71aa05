"""DynamoDB's protocol: the server that puts an engine behind it."""

from __future__ import annotations

__all__ = ()
