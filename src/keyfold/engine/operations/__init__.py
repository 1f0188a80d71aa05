"""DynamoDB's operations, one module each.

An operation takes the engine's context, a request whose shape has been checked and a rendering,
and returns the response or raises a ServiceError. To add one, add its module and its name in
`OPERATIONS`.
"""

from __future__ import annotations

from keyfold.engine.operations._registry import LOADED, OPERATIONS, Operation, load_operation

__all__ = ["LOADED", "OPERATIONS", "Operation", "load_operation"]
