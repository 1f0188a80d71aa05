"""Random attribute values: all ten types, numbers of all magnitudes, and invalid ones."""

from __future__ import annotations

import base64
import random
from typing import Any

Value = dict[str, Any]

NAMES = ("a", "b", "c", "d", "e", "list", "n1", "_x", "Aa", "é")
PLAIN_NAMES = ("a", "b", "c", "d", "e", "n1", "Aa")  # usable in an expression without a placeholder
USUAL = {"n1": "N", "list": "L", "_x": "M", "Aa": "SS", "é": "NS"}  # so that updates match the type

_ALPHABET = "abcdefAB019-_#é日😀 "
_NUMBERS = ("0", "1", "-1", "2", "10", "0.5", "-0.5", "100", "1E+2", "1e-3", "1.0", "007", "9" * 38)
_BAD_VALUES: tuple[Value, ...] = (
    {},
    {"S": "a", "N": "1"},
    {"N": "x"},
    {"N": ""},
    {"N": "1" * 39},
    {"N": "1e126"},
    {"N": "1e-131"},
    {"SS": []},
    {"NS": []},
    {"BS": []},
    {"SS": ["a", "a"]},
    {"NS": ["1", "1.0"]},
    {"BS": ["AQ==", "AQ=="]},
    {"NULL": False},
    {"M": {"": {"S": "x"}}},
)


def text(source: random.Random, longest: int = 6) -> str:
    """Return a short string, sometimes empty, from an alphabet with wide characters."""
    return "".join(source.choice(_ALPHABET) for _ in range(source.randint(0, longest)))


def number(source: random.Random) -> str:
    """Return a number in one of many notations."""
    kind = source.random()
    if kind < 0.5:
        return source.choice(_NUMBERS)
    digits = "".join(source.choice("0123456789") for _ in range(source.randint(1, 38)))
    sign = source.choice(["", "-", "+"])
    if kind < 0.75:
        point = source.randint(0, len(digits))
        return f"{sign}{digits[:point]}.{digits[point:]}" if point else f"{sign}0.{digits}"
    return f"{sign}{digits}E{source.randint(-130, 125 - len(digits) + 1)}"


def binary(source: random.Random) -> str:
    """Return a few bytes in base64, none above 127.

    DynamoDB Local searches for one binary inside another by decoding both as text, which maps all
    undecodable bytes to the same character.
    """
    return base64.b64encode(bytes(source.choices(range(128), k=source.randint(0, 4)))).decode()


def scalar(source: random.Random, kind: str) -> Value:
    """Return a value of a key type."""
    match kind:
        case "S":
            return {"S": text(source)}
        case "N":
            return {"N": number(source)}
        case _:
            return {"B": binary(source)}


def value(source: random.Random, depth: int = 2) -> Value:
    """Return a valid value of any type."""
    kinds = ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "S", "N"]
    return _value_of(source, source.choice(kinds + (["L", "M", "L", "M"] if depth else [])), depth)


def attribute(source: random.Random, name: str) -> Value:
    """Return a value for an attribute, mostly of its usual type."""
    if name in USUAL and source.random() < 0.8:
        return _value_of(source, USUAL[name], 2)
    return value(source)


def _value_of(source: random.Random, kind: str, depth: int) -> Value:
    match kind:
        case "S" | "N" | "B":
            return scalar(source, kind)
        case "BOOL":
            return {"BOOL": source.random() < 0.5}
        case "NULL":
            return {"NULL": True}
        case "SS":
            return {"SS": sorted({text(source, 3) for _ in range(source.randint(1, 3))})}
        case "NS":
            return {"NS": [str(n) for n in source.sample(range(-5, 20), source.randint(1, 3))]}
        case "BS":
            return {"BS": sorted({binary(source) for _ in range(source.randint(1, 3))})}
        case "L":
            return {"L": [value(source, depth - 1) for _ in range(source.randint(0, 3))]}
        case _:
            names = source.sample(NAMES, source.randint(0, 3))
            return {"M": {name: value(source, depth - 1) for name in names}}


def bad_value(source: random.Random) -> Value:
    """Return a value that DynamoDB refuses, perhaps inside a document."""
    bad = source.choice(_BAD_VALUES)
    return source.choice([bad, bad, {"L": [bad]}, {"M": {"x": bad}}])
