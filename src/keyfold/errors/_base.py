"""The base of every error that Keyfold raises."""

from __future__ import annotations

from typing import ClassVar


class KeyfoldError(Exception):
    """The base of every error that Keyfold raises on purpose."""

    code: ClassVar[str] = "keyfold"

    def __init_subclass__(cls) -> None:
        """Say in tracebacks where a caller would import the error from."""
        package, found, _ = cls.__module__.partition("errors._")
        if found:
            cls.__module__ = f"{package}errors"
