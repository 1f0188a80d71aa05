"""Items, keys and validation errors as text, for messages and explanations."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from keyfold.expressions import readable_value
from keyfold.values import AttributeValue


def show_item(item: Mapping[str, AttributeValue]) -> str:
    """Return an item or a key as text, with long values truncated."""
    return " ".join(f"{name}={readable_value(value)}" for name, value in item.items())


def summarise(error: ValidationError, *, whole: str = "") -> str:
    """Return the errors of a validation as one line; `whole` names what is not about one field."""
    listed = error.errors(include_url=False, include_context=False, include_input=False)
    named = [(".".join(map(str, each["loc"])) or whole, each["msg"]) for each in listed]
    return "; ".join(f"{name}: {message}" if name else message for name, message in named)
