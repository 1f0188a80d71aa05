"""Opens stores by URL: embedded files, servers, DynamoDB."""

from __future__ import annotations

from keyfold.connect._opening import open, open_async, open_executor  # noqa: A004 - as users call it

__all__ = ["open", "open_async", "open_executor"]
