"""Operations by the names that clients use, loaded when they are first called.

An operation's module is named after it, and so is its function there: PutItem is `put_item`
in `put_item.py`. Most programs call a few of them, and all together take longer to import
than anything else of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from keyfold.api import OPERATIONS
from keyfold.engine._context import EngineContext
from keyfold.engine._loading import load_module
from keyfold.engine._responses import Rendering
from keyfold.errors import UnknownOperationException

Run = Callable[[EngineContext, dict[str, Any], Rendering], dict[str, Any]]

# A fast path is tried before the request is even validated. It answers only what it is sure of,
# and returns None for the rest.
TryFast = Callable[[EngineContext, dict[str, Any], Rendering], dict[str, Any] | None]

_next_word = re.compile(r"(?<!^)(?=[A-Z])")


class LoadedOperation(NamedTuple):
    """What carries out one operation."""

    run: Run
    try_fast: TryFast | None


LOADED: dict[str, LoadedOperation] = {}


def load_operation(name: str) -> LoadedOperation:
    """Return an operation, and keep it in `LOADED`; raises UnknownOperationException."""
    if name not in OPERATIONS:
        raise UnknownOperationException
    function = _next_word.sub("_", name).lower()
    module = load_module(f"keyfold.engine.operations.{function}")
    # A fast path stands beside the function: `try_fast_get_item` beside `get_item`.
    try_fast = getattr(module, f"try_fast_{function}", None)
    operation = LOADED[name] = LoadedOperation(getattr(module, function), try_fast)
    return operation
