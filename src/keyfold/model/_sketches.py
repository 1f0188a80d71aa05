"""Key templates with placeholders in place of values, for explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.keys import KeyTemplate, PartRefused, TemplatePart
from keyfold.model._placeholders import Placeholder


def sketch_key(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return a key as it looks with these values, some of which are placeholders."""
    parts = [part.before + _sketch(part, values[part.name]) for part in template.parts]
    return "".join(parts) + template.tail


def sketch_start(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return a key up to the first part that is not known, without anything of that."""
    text = ""
    for part in template.parts:
        text += part.before
        if part.name not in values:
            return text
        text += _sketch(part, values[part.name])
    return text + template.tail


def sketch_prefix(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return the beginning of a key, as far as values are known."""
    following = next((part.head for part in template.parts if part.name not in values), "")
    return sketch_start(template, values) + following


def _sketch(part: TemplatePart, value: object) -> str:
    if isinstance(value, Placeholder):
        return str(value)
    try:
        return part.format.render(value)
    except PartRefused:
        return f"{value}"
