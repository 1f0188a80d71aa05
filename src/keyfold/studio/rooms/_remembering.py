"""What follows from a declaration, made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from keyfold.studio._workspace import StudioTable, Workspace

V = TypeVar("V")


def remember_for(workspace: Workspace, subject: StudioTable, name: str, make: Callable[[], V]) -> V:
    """Return what was made of a table's declaration before, or make it now.

    A table without items may be declared otherwise by the next request: nothing is kept of that.
    """
    if not subject.is_final:
        return make()
    return workspace.remember((name, subject.name), make)
