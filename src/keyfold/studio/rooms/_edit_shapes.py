"""The shape of a field's values: what a form needs to know to edit them by type.

A shape is JSON: `kind` says which editor fits (`text`, `number`, `integer`, `boolean`, `binary`, `time`,
`date`, `seconds`, `id`, `uuid`, `choice`, `set`, `list`, `map`, `model`, `any`) and `stored` the type of
DynamoDB that its values have; null if that is not fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from enum import Enum
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model._codecs import StoredField
from keyfold.model._fields import UnixSeconds
from keyfold.model._value_codecs import SETS, ValueCodec
from keyfold.studio._shown_types import show_field_type
from keyfold.values import normalise_value

# A model may contain itself: below this depth, values are edited by their stored types.
_DEEPEST = 5
_MAX_CHOICES = 300
_PLAIN = {"S": "text", "N": "number", "BOOL": "boolean", "B": "binary"}
_ANY: dict[str, Any] = {"kind": "any", "stored": None}


def show_shape(field: StoredField, depth: int = 0) -> dict[str, Any]:
    """Return the shape of a field's values."""
    if field.has_mark(UnixSeconds):
        return {"kind": "seconds", "stored": "N"}
    return _shape(field.annotation, field.codec, depth)


def _shape(annotation: Any, codec: ValueCodec, depth: int) -> dict[str, Any]:
    kind = find_type(annotation)
    if depth > _DEEPEST or len(codec.kinds) != 1:
        return _choices(kind, codec) or _ANY
    (stored,) = codec.kinds
    found = _choices(kind, codec)
    if found is not None:
        return found
    if codec.model is not None:
        fields = [show_member(each, depth + 1) for each in codec.model.fields.values()]
        return {
            "kind": "model",
            "stored": "M",
            "name": codec.model.model.__name__,
            "fields": fields,
        }
    if codec.positions:
        return {"kind": "list", "stored": "L", "members": _ANY}
    if stored in SETS or stored in ("L", "M"):
        name = "set" if stored in SETS else {"L": "list", "M": "map"}[stored]
        return {"kind": name, "stored": stored, "members": _members(kind, codec, stored, depth)}
    return {"kind": _scalar_kind(kind, stored), "stored": stored, **_describe_id(kind)}


def show_member(field: StoredField, depth: int) -> dict[str, Any]:
    """Return a field of a nested model: its name, attribute, whether it is required, and its shape."""
    return {
        "name": field.name,
        "attribute": field.stored,
        "type": show_field_type(field),
        "required": field.is_needed,
        "shape": show_shape(field, depth),
    }


def _members(kind: Any, codec: ValueCodec, stored: str, depth: int) -> dict[str, Any]:
    if codec.members is None:
        return _ANY
    arguments = [each for each in get_args(kind) if each is not Ellipsis]
    shape = _shape(arguments[-1] if arguments else Any, codec.members, depth + 1)
    return shape if stored not in SETS or shape["stored"] == stored[0] else _scalar(stored[0])


def _scalar(stored: str) -> dict[str, Any]:
    return {"kind": _PLAIN[stored], "stored": stored}


def _scalar_kind(kind: Any, stored: str) -> str:
    if isinstance(kind, type):
        if issubclass(kind, Ulid):
            return "id"
        if stored == "N":
            return "integer" if issubclass(kind, int) else "number"
        if stored == "S":
            for base, name in ((datetime, "time"), (date, "date"), (UUID, "uuid")):
                if issubclass(kind, base):
                    return name
    return _PLAIN[stored]


def _describe_id(kind: Any) -> dict[str, Any]:
    if isinstance(kind, type) and issubclass(kind, Ulid):
        return {"head": kind.head}
    return {}


def _choices(kind: Any, codec: ValueCodec) -> dict[str, Any] | None:
    """Return the shape of a Literal or an enum; None for another type."""
    options: Sequence[Any]
    if get_origin(kind) is Literal:
        options = [each for each in get_args(kind) if each is not None]
    elif isinstance(kind, type) and issubclass(kind, Enum):
        options = list(kind)
    else:
        return None
    if len(options) > _MAX_CHOICES:
        return None
    choices: list[dict[str, Any]] = []
    for each in options:
        value = normalise_value(codec.encode(each))[0]
        ((_, data),) = value.items()
        choices.append({"label": str(data), "value": value})
    stored = next(iter(codec.kinds)) if len(codec.kinds) == 1 else None
    return {"kind": "choice", "stored": stored, "choices": choices}
