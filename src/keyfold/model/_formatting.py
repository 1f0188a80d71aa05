"""Values and items as text, for messages and explanations."""

from __future__ import annotations

from collections.abc import Mapping

from keyfold.values import AttributeValue

_MAX_LENGTH = 80


def show_value(value: AttributeValue) -> str:
    """Return a value as text, truncated if it is long."""
    ((kind, data),) = value.items()
    text = repr(data) if kind in ("S", "B") else str(data)
    return text if len(text) <= _MAX_LENGTH else f"{text[:_MAX_LENGTH]}…"


def show_item(item: Mapping[str, AttributeValue]) -> str:
    """Return an item or a key as text, with long values truncated."""
    return " ".join(f"{name}={show_value(value)}" for name, value in item.items())
