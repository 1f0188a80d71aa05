"""What is wrong with a statement, in the service's words."""

from __future__ import annotations

from keyfold.errors import ValidationException


def not_well_formed(detail: str = "") -> ValidationException:
    """Return the error for a statement that cannot be read; some faults have no detail."""
    return ValidationException(f"Statement wasn't well formed, can't be processed: {detail}")
