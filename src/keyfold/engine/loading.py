"""Lazy imports that are safe with forks.

A module that one thread is importing while another forks stays half imported in the child, and a
thread that needs it there waits for ever. So a fork waits for imports, as it waits for SQLite.
"""

from __future__ import annotations

import threading
from importlib import import_module
from types import ModuleType

# Held during an import and during a fork. A thread that imports waits for no other lock meanwhile.
IMPORTING = threading.Lock()


def load_module(name: str) -> ModuleType:
    """Return a module, importing it if necessary."""
    with IMPORTING:
        return import_module(name)
