"""The room items."""

from __future__ import annotations

from keyfold.studio._actions import Action

ACTIONS: tuple[Action, ...] = ()
