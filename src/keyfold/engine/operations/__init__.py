"""DynamoDB's operations, one module each.

An operation takes the engine's context, a request whose shape has been checked and a rendering,
and returns the response or raises a ServiceError. To add one, add its module here and its row
in `keyfold.api.operations`.
"""

from __future__ import annotations

from keyfold.engine.operations.registry import LOADED, LoadedOperation, load_operation

__all__ = ["LOADED", "LoadedOperation", "load_operation"]
