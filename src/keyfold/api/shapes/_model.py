"""The API's model: the shape of every operation's request.

`scripts/generate_shapes.py` writes `model.json`, which is next to this file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import orjson

Kind = Literal[
    "structure",
    "list",
    "map",
    "string",
    "integer",
    "long",
    "double",
    "boolean",
    "blob",
    "timestamp",
]


@dataclass(frozen=True, slots=True)
class Shape:
    """One type of the API: its JSON type, what it is made of, and its constraints.

    `members`, `of` (the elements of a list, the values of a map) and `key` (the keys of a map) are
    names of other shapes, for `shape`. `constraints` are in the order in which the service reports
    them. Failures of `terse` shapes come from the service's newer validation, which does not echo
    the value. If `arn` is true, the value may be the ARN of a table instead of its name, and is
    then exempt from the constraints on names.
    """

    name: str
    type: Kind
    members: dict[str, str] = field(default_factory=dict[str, str])
    required: frozenset[str] = frozenset()
    of: str = ""
    key: str = ""
    constraints: dict[str, Any] = field(default_factory=dict[str, Any])
    terse: bool = False
    arn: bool = False


_MODEL: dict[str, dict[str, Any]] = orjson.loads(
    Path(__file__).with_name("model.json").read_bytes()
)
_INPUTS: dict[str, str] = _MODEL["operations"]
_SHAPES: dict[str, dict[str, Any]] = _MODEL["shapes"]

OPERATIONS: frozenset[str] = frozenset(_INPUTS)
"""The name of every operation of the API."""


@cache
def shape(name: str) -> Shape:
    """Return the shape with this name. Raises KeyError for an unknown one."""
    facts = dict(_SHAPES[name])
    facts["required"] = frozenset(facts.get("required", ()))
    return Shape(name, **facts)


def input_shape(operation: str) -> Shape:
    """Return the shape of an operation's request. Raises KeyError for an unknown operation."""
    return shape(_INPUTS[operation])
