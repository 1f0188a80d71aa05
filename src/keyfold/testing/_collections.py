"""Pausing the collection of garbage while much is made that stays."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Generator[None]:
    """Collect no garbage for a moment.

    A client's model is a hundred thousand objects that stay, and so are the engine's modules: to
    look through them again and again while they are made takes a quarter of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
