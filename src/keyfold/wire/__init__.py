"""DynamoDB's JSON protocol over HTTP: a server for an engine, and a client for any endpoint."""

from __future__ import annotations

__all__ = ()
