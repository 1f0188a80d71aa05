"""The API's model: the shape of every operation's request.

`model.json` beside this file is written by scripts/generate_shapes.py.
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

    `members`, `of` and `key` name other shapes; `shape` finds them. `constraints` are in the
    order in which the service reports them. `terse` shapes are worded by the service's newer
    validation, which repeats no value. Where `arn` is true, the ARN of a table may stand for
    its name, free of the name's constraints.
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
    """The shape called `name`."""
    facts = dict(_SHAPES[name])
    facts["required"] = frozenset(facts.get("required", ()))
    return Shape(name, **facts)


def input_shape(operation: str) -> Shape:
    """The shape of the operation's request. Raises KeyError for an unknown operation."""
    return shape(_INPUTS[operation])
