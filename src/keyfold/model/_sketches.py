"""Key templates with placeholders in place of values, for explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.keys import KeyTemplate


def sketch_key(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return a key as it looks with these values, whatever they are."""
    return "".join(f"{part.before}{values[part.name]}" for part in template.parts) + template.tail


def sketch_prefix(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return the beginning of a key, as far as values are known."""
    text = ""
    for part in template.parts:
        text += part.before
        if part.name not in values:
            return text + part.head
        text += str(values[part.name])
    return text + template.tail
