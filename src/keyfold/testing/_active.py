"""The active services, and the patches that redirect clients from the network to an engine.

Methods of the clients' classes are replaced, so that existing clients are redirected too:
`_own_clients` and `_botocore` say which, and by what.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from keyfold.testing._core import Core

Method = Callable[..., Any]
# A class, the name of a method, and the function that makes the replacement of the method.
Replaceable = tuple[type, str, Callable[[Method], Method]]

_CLIENTS = ("keyfold.testing._own_clients", "keyfold.testing._botocore")


class ActiveServices:
    """The stack of active services, and the patches that redirect clients to the innermost."""

    def __init__(self) -> None:
        self.core: Core | None = None
        self._cores: list[Core] = []
        self._patches: list[Patch] = []
        self._lock = threading.RLock()

    def enter(self, core: Core) -> None:
        """Redirect clients to `core` until it leaves, or another enters."""
        with self._lock:
            self.patch()
            self._cores.append(core)
            self.core = core

    def leave(self, core: Core) -> None:
        """Redirect clients to the previous service; remove the patches if there is none."""
        with self._lock:
            self._cores.remove(core)
            self.core = self._cores[-1] if self._cores else None
            if self.core is None:
                for patch in reversed(self._patches):
                    patch.remove()
                self._patches.clear()

    def patch(self) -> None:
        """Replace the methods of classes loaded since the last call."""
        with self._lock:
            done = {(patch.owner, patch.name) for patch in self._patches}
            for module in _CLIENTS:
                # Imported here, since these modules ask which service is active.
                for owner, name, make in import_module(module).find_methods():
                    if (owner, name) not in done:
                        self._patches.append(Patch.apply(owner, name, make))


class Patch(NamedTuple):
    """A replaced method of a class."""

    owner: type
    name: str
    original: Method
    replacement: Method

    @classmethod
    def apply(cls, owner: type, name: str, make: Callable[[Method], Method]) -> Patch:
        """Replace a method by what `make` returns for it."""
        original = vars(owner)[name]
        replacement = make(original)
        setattr(owner, name, replacement)
        return cls(owner, name, original, replacement)

    def remove(self) -> None:
        """Restore the original method."""
        # If others have patched it since, it stays: their patch calls ours, which now calls the
        # original.
        if vars(self.owner)[self.name] is self.replacement:
            setattr(self.owner, self.name, self.original)


active = ActiveServices()
