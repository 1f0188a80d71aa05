"""Captures the message of a ValidationException."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from keyfold.errors import ValidationException


def refusal_of(act: Callable[[], object]) -> str:
    """Return the message of the ValidationException that `act` raises; fails if it raises none."""
    with pytest.raises(ValidationException, match=r".") as caught:
        act()
    return caught.value.message
