"""What tests of declarations share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keyfold.errors import DeclarationInvalid


def problems_of(declare: Callable[[], Any]) -> list[str]:
    """Return the problems with which a declaration is refused."""
    with pytest.raises(DeclarationInvalid) as caught:
        declare()
    assert str(caught.value).count("[declaration-invalid]") == len(caught.value.problems)
    return list(caught.value.problems)
