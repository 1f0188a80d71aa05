"""Keys as people read them: the literals and parts of a key's template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from keyfold.keys import KeyTemplate, Ulid, read_fields
from keyfold.model._key_parts import KeyPart
from keyfold.values import AttributeValue


def show_key_text(value: AttributeValue) -> str:
    """Return a key value as text: a string as it is, a number's digits, binary in base 64."""
    ((_, data),) = value.items()
    if isinstance(data, bytes):
        import base64  # noqa: PLC0415 - few keys are binary

        return base64.b64encode(data).decode()
    return str(data)


def show_key(part: KeyPart | None, attribute: str, value: AttributeValue) -> dict[str, Any]:
    """Return a key attribute for the browser: its text, in pieces where its template is known.

    A piece is a literal, `{"text": "U#"}`, or a part, `{"text": "ada", "part": "user"}`; a part whose
    value contains a time has `at` too, as ISO 8601.
    """
    text = show_key_text(value)
    pieces: list[dict[str, Any]] | None = None
    if part is not None and part.template is not None and "S" in value:
        pieces = split_key(part.template, text)
    elif part is not None and part.held_by is not None:
        pieces = [{"text": text, "part": part.held_by.name}]
    shown: dict[str, Any] = {"attribute": attribute, "text": text, "value": value}
    shown["pieces"] = pieces or [{"text": text}]
    shown["matches"] = part is None or pieces is not None
    return shown


def split_key(template: KeyTemplate, text: str) -> list[dict[str, Any]] | None:
    """Return the pieces of a key; None if it is not a key of the template."""
    values = template.parse(text)
    if values is None:
        return None
    return [piece for piece in _pieces(template, values) if piece["text"]]


def _pieces(template: KeyTemplate, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part in template.parts:
        yield {"text": part.before}
        value = values[part.name]
        piece = {"text": part.format.render(value), "part": part.name}
        at = value.time if isinstance(value, Ulid) else value
        if isinstance(at, datetime):
            piece["at"] = at.isoformat()
        yield piece
    yield {"text": template.tail}


def show_template(part: KeyPart) -> dict[str, Any]:
    """Return the template of a key attribute for the browser: its literals and parts."""
    if part.template is None:
        assert part.held_by is not None  # one of them makes the value
        name = part.held_by.name
        pieces: list[dict[str, Any]] = [{"text": f"{{{name}}}", "part": name}]
        return {"attribute": part.attribute, "text": f"{{{name}}}", "pieces": pieces}
    pieces = []
    template = part.template
    specs = {each.name: each.spec for each in read_fields(template.text, owner=template.owner)}
    for each in template.parts:
        if each.before:
            pieces.append({"text": each.before})
        spec = specs[each.name]
        pieces.append({"text": f"{{{each.name}{spec and ':'}{spec}}}", "part": each.name})
    if template.tail:
        pieces.append({"text": template.tail})
    return {"attribute": part.attribute, "text": template.text, "pieces": pieces}
