"""Names of types in messages."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin


def name_type(annotation: Any) -> str:
    """Return an annotation as a user writes it: `list[int]`, `UUID | None`."""
    if annotation is types.NoneType:
        return "None"
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation.__name__
    if get_origin(annotation) in (Union, types.UnionType):
        return " | ".join(map(name_type, get_args(annotation)))
    return str(annotation).replace("typing.", "")
