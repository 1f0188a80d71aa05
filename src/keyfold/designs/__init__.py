"""Four complete single-table designs, written with the public API only; import one by its name."""

from __future__ import annotations

__all__ = ()
