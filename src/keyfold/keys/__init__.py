"""Key templates, which render and parse keys, and typed ids.

>>> from datetime import UTC, datetime
>>> from keyfold.keys import KeyTemplate, Ulid
>>> class OrderId(Ulid, prefix="O"): ...
>>> line = KeyTemplate.from_types(
...     "{order}#{line:03}", {"order": OrderId, "line": int}, owner="OrderLine"
... )
>>> line.render({"order": OrderId("O#01JZ10H7X367VB2NF4YQ973DHW"), "line": 1})
'O#01JZ10H7X367VB2NF4YQ973DHW#001'
>>> line.parse("O#01JZ10H7X367VB2NF4YQ973DHW#001")
{'order': OrderId('O#01JZ10H7X367VB2NF4YQ973DHW'), 'line': 1}
>>> low, high = OrderId.range(since=datetime(2025, 6, 1, tzinfo=UTC))
>>> line.span({}, low, high)
KeySpan(low='O#01JWMCKG000000000000000000#', high='O#7ZZZZZZZZZZZZZZZZZZZZZZZZZ$')
"""

from __future__ import annotations

from keyfold.keys._annotations import format_for
from keyfold.keys._collisions import begins_like, can_fit, find_collision
from keyfold.keys._formats import PartFormat, PartRefused
from keyfold.keys._globs import Glob, GlobPiece, NamedPart, Wildcard, find_globs, is_free_text
from keyfold.keys._templates import (
    KeyPrefix,
    KeySpan,
    KeyTemplate,
    TemplateField,
    TemplatePart,
    read_fields,
)
from keyfold.keys._ulid import Ulid, UlidSource

__all__ = [
    "Glob",
    "GlobPiece",
    "KeyPrefix",
    "KeySpan",
    "KeyTemplate",
    "NamedPart",
    "PartFormat",
    "PartRefused",
    "TemplateField",
    "TemplatePart",
    "Ulid",
    "UlidSource",
    "Wildcard",
    "begins_like",
    "can_fit",
    "find_collision",
    "find_globs",
    "format_for",
    "is_free_text",
    "read_fields",
]
