"""The registry of operations, which are imported when they are first called.

An operation's module and function are named after it: PutItem is `put_item` in `put_item.py`. It
takes the engine's context, a request whose shape has been checked and, if its response has items, a
rendering of them. Most programs call only a few operations, and importing all of them would take
longer than importing the rest of the engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from keyfold.api import OPERATIONS
from keyfold.engine.context import EngineContext
from keyfold.engine.items.responses import Rendering
from keyfold.engine.loading import load_module
from keyfold.errors import UnknownOperationException

Run = Callable[[EngineContext, dict[str, Any], Rendering], dict[str, Any]]
RunWithoutItems = Callable[[EngineContext, dict[str, Any]], dict[str, Any]]

# A fast path is tried before the request is validated. It returns None for requests that it does
# not handle.
TryFast = Callable[[EngineContext, dict[str, Any], Rendering], dict[str, Any] | None]

_next_word = re.compile(r"(?<!^)(?=[A-Z])")


class LoadedOperation(NamedTuple):
    """The functions that run one operation."""

    run: Run
    try_fast: TryFast | None


LOADED: dict[str, LoadedOperation] = {}


def load_operation(name: str) -> LoadedOperation:
    """Import an operation and add it to `LOADED`; raises UnknownOperationException."""
    if name not in OPERATIONS:
        raise UnknownOperationException
    function = _next_word.sub("_", name).lower()
    module = load_module(f"keyfold.engine.operations.{function}")
    # The fast path is in the same module: `try_fast_get_item` next to `get_item`.
    try_fast = getattr(module, f"try_fast_{function}", None)
    run = getattr(module, function)
    if not OPERATIONS[name].returns_items:
        run = _without_rendering(run)
    operation = LOADED[name] = LoadedOperation(run, try_fast)
    return operation


def _without_rendering(run: RunWithoutItems) -> Run:
    return lambda context, request, _: run(context, request)
