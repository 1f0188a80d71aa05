"""Whether a value can be changed in place, so that nothing tells its old state from the new one."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import MutableMapping, MutableSequence, MutableSet
from typing import Any, cast

from pydantic import BaseModel

_MUTABLE = (MutableSequence, MutableMapping, MutableSet, deque, bytearray)


def is_mutable(value: Any) -> bool:
    """Return whether a value, or a value inside it, can be changed in place.

    Instances of classes that are neither containers, models nor dataclasses count as immutable.

    >>> is_mutable([1]), is_mutable((1, [2])), is_mutable((1, "a"))
    (True, True, False)
    """
    match value:
        case tuple() | frozenset():
            return any(map(is_mutable, cast(Any, value)))
        case BaseModel():
            is_frozen = bool(value.model_config.get("frozen"))
            return not is_frozen or any(map(is_mutable, value.__dict__.values()))
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            is_frozen = cast(Any, value).__dataclass_params__.frozen
            names = [each.name for each in dataclasses.fields(value)]
            return not is_frozen or any(is_mutable(getattr(value, name, None)) for name in names)
        case _:
            return isinstance(value, _MUTABLE)
