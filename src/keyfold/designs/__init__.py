"""Four complete tables, each written with the public model and store alone: import one by its name."""

from __future__ import annotations

__all__ = ()
