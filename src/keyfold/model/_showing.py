"""Values and items as people read them."""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.values import AttributeValue

_LONGEST = 80


def show_value(value: AttributeValue) -> str:
    """Show a value, and only the beginning of a long one."""
    ((kind, data),) = value.items()
    text = repr(data) if kind in ("S", "B") else str(data)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def show_item(item: Mapping[str, AttributeValue]) -> str:
    """Show an item, or a key."""
    return " ".join(f"{name}={show_value(value)}" for name, value in item.items())
