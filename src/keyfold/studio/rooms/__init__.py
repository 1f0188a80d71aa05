"""The rooms of the studio: what the browser can ask each of them for.

A room has a module here, with its actions, and one of the same name in `static/js/rooms`.
"""

from __future__ import annotations

from keyfold.studio._actions import Action, StreamAction
from keyfold.studio.rooms import (
    changes,
    console,
    costs,
    design,
    edits,
    items,
    overview,
    patterns,
    roles,
)

ACTIONS: tuple[Action, ...] = (
    *overview.ACTIONS,
    *design.ACTIONS,
    *items.ACTIONS,
    *patterns.ACTIONS,
    *edits.ACTIONS,
    *roles.ACTIONS,
    *changes.ACTIONS,
    *costs.ACTIONS,
    *console.ACTIONS,
)
STREAMS: tuple[StreamAction, ...] = changes.STREAMS

__all__ = ["ACTIONS", "STREAMS"]
