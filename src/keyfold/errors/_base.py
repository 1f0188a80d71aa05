"""The base class of every Keyfold error."""

from __future__ import annotations

from typing import ClassVar


class KeyfoldError(Exception):
    """The base class of every error that Keyfold raises on purpose."""

    code: ClassVar[str] = "keyfold"

    def __init_subclass__(cls) -> None:
        """Make tracebacks show `keyfold.errors`, from which callers import the error."""
        package, found, _ = cls.__module__.partition("errors._")
        if found:
            cls.__module__ = f"{package}errors"
