"""The message with which something is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from keyfold.errors import ValidationException


def refusal_of(act: Callable[[], object]) -> str:
    """Return the service's message for what `act` does; it must be refused."""
    with pytest.raises(ValidationException, match=r".") as caught:
        act()
    return caught.value.message
