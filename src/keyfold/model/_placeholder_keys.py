"""Key templates rendered with placeholders instead of values, for `Pattern.explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keyfold.keys import KeyTemplate, PartRefused, TemplatePart
from keyfold.model._placeholders import Placeholder


def render_placeholder_key(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return the key that a template makes of these values, some of which are placeholders."""
    parts = [part.before + _render_part(part, values[part.name]) for part in template.parts]
    return "".join(parts) + template.tail


def render_placeholder_start(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return a key up to the first part that has no value, without the literal head of that part."""
    text = ""
    for part in template.parts:
        text += part.before
        if part.name not in values:
            return text
        text += _render_part(part, values[part.name])
    return text + template.tail


def render_placeholder_prefix(template: KeyTemplate, values: Mapping[str, Any]) -> str:
    """Return a key up to the first part that has no value, with the literal head of that part."""
    head = next((part.head for part in template.parts if part.name not in values), "")
    return render_placeholder_start(template, values) + head


def _render_part(part: TemplatePart, value: object) -> str:
    if isinstance(value, Placeholder):
        return str(value)
    try:
        return part.format.render(value)
    except PartRefused:
        return f"{value}"
