"""Importing modules when they are first needed, and never in the middle of a fork.

A module that one thread is importing when another forks stays half imported in the child, and
whoever needs it there waits for ever. So a fork waits for imports, as it waits for SQLite.
"""

from __future__ import annotations

import threading
from importlib import import_module
from types import ModuleType

# Held by whoever imports, and by a fork. Who imports waits for no other lock meanwhile.
IMPORTING = threading.Lock()


def load_module(name: str) -> ModuleType:
    """Return a module, imported if it is not yet."""
    with IMPORTING:
        return import_module(name)
