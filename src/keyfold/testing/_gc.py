"""Pausing the garbage collector while many long-lived objects are created."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Generator[None]:
    """Pause the garbage collector inside the `with` block.

    A client's model consists of a hundred thousand long-lived objects, and the engine's modules
    add more: scanning them repeatedly while they are created takes a quarter of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
