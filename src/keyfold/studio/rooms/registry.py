"""Every action and stream of the rooms."""

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
