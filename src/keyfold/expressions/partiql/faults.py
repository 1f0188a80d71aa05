"""The service's error for malformed statements."""

from __future__ import annotations

from keyfold.errors import ValidationException


def not_well_formed(detail: str = "") -> ValidationException:
    """Return the error for a statement that cannot be parsed; `detail` is empty for some."""
    return ValidationException(f"Statement wasn't well formed, can't be processed: {detail}")
