"""What a command shows to its user: keys, or handles to a principal that is an end user."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from keyfold.cli._errors import PublicError, UsageError, is_negative
from keyfold.errors import KeyfoldError, PatternFailed, TableMissing, ValueInvalid
from keyfold.model import RawItem
from keyfold.store import Handles

_INVALID = "it does not fit its declaration"


@dataclass(frozen=True, slots=True)
class Surface:
    """Shows and reads texts for the user of a command; without `handles`, as they are."""

    handles: Handles | None = None

    @property
    def shows_keys(self) -> bool:
        """Whether keys are shown."""
        return self.handles is None

    def show(self, text: str) -> str:
        """Return a text as it may be shown."""
        return text if self.handles is None else self.handles.show(text)

    def show_json(self, value: Any) -> Any:
        """Return a JSON value as it may be shown."""
        return value if self.handles is None else self.handles.show_json(value)

    def read(self, text: str) -> str:
        """Return a text with ids in place of handles; raises HandleInvalid."""
        return text if self.handles is None else self.handles.read(text)

    def read_json(self, value: Any) -> Any:
        """Return a JSON value with ids in place of handles; raises HandleInvalid."""
        return value if self.handles is None else self.handles.read_json(value)

    def show_invalid(self, item: RawItem) -> RawItem:
        """Return what may be shown of an item that does not fit the declaration."""
        return item if self.shows_keys else replace(item, key={}, item={}, reason=_INVALID)

    def show_error(self, error: BaseException) -> str:
        """Return the message of an error as it may be shown, without its code."""
        if self.handles is None:
            return str(error)
        if isinstance(error, KeyfoldError | ValidationError):
            return self.handles.show_error(error)
        # Whatever a pattern's own code raises may have keys in it.
        return f"The pattern failed with {type(error).__name__}."

    @contextmanager
    def public_errors(self) -> Generator[None]:
        """Replace errors that may name keys by errors that end users may see."""
        try:
            yield
        except Exception as error:
            # A missing table is about the command, not about anybody's items.
            if self.handles is None or isinstance(error, TableMissing | PublicError):
                raise
            if isinstance(error, UsageError):
                error.message = self.handles.show(error.message)
                raise
            message = self.show_error(error)
            raise PublicError(_code_of(error), message, is_negative=is_negative(error)) from None


def _code_of(error: Exception) -> str:
    match error:
        case KeyfoldError():
            return error.code
        case ValidationError():
            return ValueInvalid.code
        case _:
            return PatternFailed.code
