"""The form of a pattern: an input for each argument, by its type.

An input is JSON: `kind` says how values are typed in (`text`, `secret`, `number`, `integer`, `time`, `date`,
`duration`, `choice`, `boolean`, `id`, `uuid`, `model`, `list`, `set`, `map`, `json`). Values are those of
the arguments' JSON, numbers as texts, so that they keep all digits.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, Union, cast, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_json, to_jsonable_python

from keyfold.keys import Ulid
from keyfold.model import Entity, Pattern
from keyfold.model._pattern_types import find_value_type
from keyfold.model._type_names import name_type

# A model may contain itself: below this depth, values are given as JSON.
_DEEPEST = 4
_MAX_CHOICES = 200
_SEQUENCES = (list, tuple, Sequence, Iterable)
_SETS = (set, frozenset, AbstractSet)
_MAPS = (dict, Mapping)
# `bool` before `int`, `datetime` before `date`: subclasses first.
_SCALARS: tuple[tuple[type[Any], str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (Decimal, "number"),
    (datetime, "time"),
    (date, "date"),
    (timedelta, "duration"),
    (UUID, "uuid"),
    (SecretStr, "secret"),
    (SecretBytes, "secret"),
    (str, "text"),
)


def show_form(pattern: Pattern[..., Any], sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the inputs of a pattern's arguments, in order, with samples of them as JSON."""
    signature = inspect.signature(pattern.make).parameters
    shown: list[dict[str, Any]] = []
    for each in pattern.parameters:
        kind = find_value_type(pattern, each)
        default = signature[each.name].default
        shown.append(
            {
                "name": each.name,
                "type": shorten_type(kind),
                "required": each.is_required,
                "default": None if each.is_required else show_json(default),
                "sample": sample.get(each.name),
                **describe_input(kind),
            }
        )
    return shown


def describe_input(annotation: Any, depth: int = 0) -> dict[str, Any]:
    """Return the input for values of a type: its kind, and what that kind needs to know."""
    kind, is_nullable = _strip(annotation)
    found = _describe(kind, depth)
    return {**found, "nullable": True} if is_nullable else found


def _strip(annotation: Any) -> tuple[Any, bool]:
    """Return a type without its annotations, and whether it may be None."""
    is_nullable = False
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif origin in (Union, UnionType):
            options = [each for each in get_args(annotation) if each is not NoneType]
            is_nullable = is_nullable or len(options) < len(get_args(annotation))
            if len(options) != 1:
                return Any, is_nullable
            [annotation] = options
        else:
            return annotation, is_nullable


def _describe(kind: Any, depth: int) -> dict[str, Any]:
    origin, members = get_origin(kind) or kind, get_args(kind)
    if origin is Literal:
        return {"kind": "choice", "choices": [_show_choice(each) for each in members]}
    if depth <= _DEEPEST:
        if origin in _SEQUENCES and _has_one_type(members):
            return {"kind": "list", "members": describe_input(members[0], depth + 1)}
        if origin in _SETS and members:
            return {"kind": "set", "members": describe_input(members[0], depth + 1)}
        if origin in _MAPS and members:
            return {"kind": "map", "members": describe_input(members[1], depth + 1)}
    if not isinstance(kind, type):
        return {"kind": "json"}
    if issubclass(kind, Enum):
        choices = [_show_choice(each.value) for each in kind]
        return {"kind": "choice", "choices": choices[:_MAX_CHOICES]}
    if issubclass(kind, Ulid):
        return {"kind": "id", "head": kind.head}
    if issubclass(kind, BaseModel) and depth <= _DEEPEST:
        return _describe_model(kind, depth)
    found = next((name for base, name in _SCALARS if issubclass(kind, base)), "json")
    return {"kind": found}


def _has_one_type(members: tuple[Any, ...]) -> bool:
    """Return whether the members of a list are all of the same type, as in `tuple[int, ...]`."""
    return len(members) == 1 or (len(members) == 2 and members[1] is Ellipsis)  # noqa: PLR2004 - a type and the ellipsis


def _describe_model(kind: type[BaseModel], depth: int) -> dict[str, Any]:
    fields = [
        {
            "name": _find_name(name, field),
            "type": shorten_type(field.annotation),
            "required": field.is_required(),
            "default": _show_default(field),
            **describe_input(field.annotation, depth + 1),
        }
        for name, field in kind.model_fields.items()
    ]
    return {
        "kind": "model",
        "model": kind.__name__,
        "entity": kind.__name__ if issubclass(kind, Entity) else None,
        "fields": fields,
        # Whether it takes attributes that are not declared.
        "open": kind.model_config.get("extra") == "allow",
    }


def _find_name(name: str, field: FieldInfo) -> str:
    """Return the name of a field in JSON."""
    alias = field.validation_alias or field.alias
    return alias if isinstance(alias, str) else name


def _show_default(field: FieldInfo) -> Any:
    return None if field.default is PydanticUndefined else show_json(field.default)


def _show_choice(value: Any) -> dict[str, Any]:
    """Return an option, with its value as the text of JSON: it may be a number."""
    return {"label": str(value), "json": to_json(value).decode()}


def show_json(value: Any) -> Any:
    """Return a Python value as JSON for an input; None if it has no JSON."""
    try:
        plain = to_jsonable_python(value, by_alias=True, bytes_mode="base64")
    except ValueError:
        return None
    return _exact(plain)


def _exact(value: Any) -> Any:
    """Return JSON whose numbers are texts: the browser's own would lose digits."""
    match value:
        case bool() | None | str():
            return value
        case int() | float():
            return str(value)
        case list():
            return [_exact(each) for each in cast("list[Any]", value)]
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: _exact(each) for name, each in members.items()}
        case _:
            return str(value)


def shorten_type(annotation: Any) -> str:
    """Return the name of a type as people read it: `str`, `list[Order]`, `OrderId | None`."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return shorten_type(members[0])
    if origin in (Union, UnionType):
        return " | ".join(map(shorten_type, members))
    if origin is Literal:
        return " | ".join(repr(each) for each in members)
    if origin is not None and members:
        inner = ", ".join("…" if each is Ellipsis else shorten_type(each) for each in members)
        return f"{shorten_type(origin)}[{inner}]"
    return name_type(annotation)


def find_fields(inputs: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield inputs, and those inside of them."""
    for each in inputs:
        yield each
        yield from find_fields(each.get("fields", ()))
        if "members" in each:
            yield from find_fields([each["members"]])
