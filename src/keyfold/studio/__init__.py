"""The studio: a table's design and its data in a browser.

A `Workspace` is a database with its tables; `create_studio` returns an ASGI application for it. The rooms
are in `rooms`, one module each, and their browser's side is in `static`.
"""

from __future__ import annotations

from keyfold.studio._app import StudioApp, StudioSettings, create_studio
from keyfold.studio._opening import open_workspace
from keyfold.studio._workspace import StudioTable, Workspace

__all__ = [
    "StudioApp",
    "StudioSettings",
    "StudioTable",
    "Workspace",
    "create_studio",
    "open_workspace",
]
