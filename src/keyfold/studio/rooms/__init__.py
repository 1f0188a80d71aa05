"""The rooms of the studio: what the browser can ask each of them for.

A room has a module here, with its actions, and one of the same name in `static/js/rooms`.
"""

from __future__ import annotations

from keyfold.studio.rooms.registry import ACTIONS, STREAMS

__all__ = ["ACTIONS", "STREAMS"]
