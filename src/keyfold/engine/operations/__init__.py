"""DynamoDB's operations, one module each.

An operation takes the engine's context and a request whose shape has been checked, and, if its
response has items, a rendering of them. It returns the response or raises a ServiceError. To add
one, add its module here and its row in `keyfold.api.operations`. One that only keeps and describes
metadata is declared by data, with the classes of `keyfold.engine.metadata_operations`.
"""

from __future__ import annotations

from keyfold.engine.operations.registry import LOADED, LoadedOperation, load_operation

__all__ = ["LOADED", "LoadedOperation", "load_operation"]
