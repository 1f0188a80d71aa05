"""Every operation, each in a file of its own."""

from __future__ import annotations

from keyfold.engine.operations._registry import OPERATIONS, QUICK_OPERATIONS, Operation

__all__ = ["OPERATIONS", "QUICK_OPERATIONS", "Operation"]
