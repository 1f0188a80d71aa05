"""Items and keys as text, for messages and explanations."""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.expressions import readable_value
from keyfold.values import AttributeValue


def show_item(item: Mapping[str, AttributeValue]) -> str:
    """Return an item or a key as text, with long values truncated."""
    return " ".join(f"{name}={readable_value(value)}" for name, value in item.items())
