"""The room changes."""

from __future__ import annotations

from keyfold.studio._actions import Action, StreamAction

ACTIONS: tuple[Action, ...] = ()
STREAMS: tuple[StreamAction, ...] = ()
