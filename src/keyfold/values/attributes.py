"""Validation of attribute values, and conversion to the canonical form the engine stores.

Normalising checks a value by DynamoDB's rules and returns it with canonical numbers,
canonical base64 for binaries, sorted sets, and its size. A value that is already canonical is
returned unchanged, so an ordinary item costs one walk and no copy.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, Literal, TypeGuard

import orjson

from keyfold.errors import SerializationException, ValidationException
from keyfold.values._types import AttributeValue, Item
from keyfold.values.numbers import is_plain_number, normalise_number, number_size_bytes
from keyfold.values.set_order import sort_members
from keyfold.values.sizes import (
    CONTAINER_BYTES,
    ELEMENT_BYTES,
    base64_size_bytes,
)

# Levels of an item, including the innermost scalar: 31 lists or maps around one scalar.
MAX_NESTING = 32
MAX_NAME_BYTES = 65_535
MAX_REQUEST_BYTES = 16 * 1024 * 1024

# When this is raised, the request's shape is checked again to report which type was wrong.
_WRONG_TYPE = "Unexpected value type in payload"
_NAMES_ARE_TEXT = "Attribute names are strings"
_INVALID = "One or more parameter values were invalid: "
_EMPTY = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
_SEVERAL = (
    "Supplied AttributeValue has more than one datatypes set, "
    "must contain exactly one of the supported datatypes"
)
NESTED_TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: "
    "Attributes in the item have nested levels beyond supported limit"
)


def normalise_item(item: dict[str, Any]) -> tuple[Item, int]:
    """Check every attribute of `item`; return the item in canonical form, and its size.

    >>> normalise_item({"pk": {"S": "a"}, "n": {"N": "01.50"}})
    ({'pk': {'S': 'a'}, 'n': {'N': '1.5'}}, 7)

    Raises ValidationException and SerializationException with the service's messages.
    """
    try:
        return _normalise_attributes(item, 0)
    except TypeError:
        raise SerializationException(_NAMES_ARE_TEXT) from None


def normalise_value(value: Any) -> tuple[AttributeValue, int]:
    """Check one attribute value; return it in canonical form, and its size.

    Raises like `normalise_item`.
    """
    try:
        return _normalise(value, 0)
    except TypeError:
        raise SerializationException(_NAMES_ARE_TEXT) from None


def _normalise_attributes(item: dict[str, Any], depth: int) -> tuple[Item, int]:
    changed: dict[str, AttributeValue] | None = None
    # Names and strings are joined and measured once at the end, which is faster than one by one.
    texts = list(item)
    size = 0
    for name, value in item.items():
        # The commonest types are handled inline: one call per value would double the cost.
        if value.__class__ is dict and len(value) == 1:
            if "S" in value:
                data: Any = value["S"]
                if data.__class__ is str:
                    texts.append(data)
                    continue
            elif "N" in value:
                data = value["N"]
                if data.__class__ is str and is_plain_number(data):
                    size += number_size_bytes(data)
                    continue
            elif "BOOL" in value:
                if value["BOOL"].__class__ is bool:
                    size += 1
                    continue
            elif "SS" in value:
                data = value["SS"]
                # The join below raises TypeError unless every member is a string.
                if data.__class__ is list and len(members := sorted(set(data))) == len(data) > 0:
                    texts += data
                    if members != data:
                        if changed is None:
                            changed = dict(item)
                        changed[name] = {"SS": members}
                    continue
        elif value is None:
            raise ValidationException(_EMPTY, is_bare=True)
        normal, value_bytes = _normalise(value, depth)
        size += value_bytes
        if normal is not value:
            if changed is None:
                changed = dict(item)
            changed[name] = normal
    joined = "".join(texts)
    size += len(joined) if joined.isascii() else _utf8_length(joined)
    if "" in item:
        raise ValidationException("Empty attribute name")
    if size > MAX_NAME_BYTES and max(map(_utf8_length, item)) > MAX_NAME_BYTES:
        message = f"Attribute name is too large, must be less than {MAX_NAME_BYTES + 1} bytes"
        raise ValidationException(message)
    return (item if changed is None else changed), size


def _normalise(value: Any, depth: int) -> tuple[AttributeValue, int]:
    if not _is_map(value):
        raise SerializationException(_WRONG_TYPE)
    given = value
    if len(value) != 1 or None in value.values() or next(iter(value)) not in _BY_TYPE:
        # The service treats null members as absent, and ignores unknown types.
        given = {
            kind: data for kind, data in value.items() if data is not None and kind in _BY_TYPE
        }
    if len(given) != 1:
        # The service reads numbers before it counts the types.
        if isinstance(given.get("N"), str):
            normalise_number(given["N"])
        raise ValidationException(_SEVERAL if given else _EMPTY, is_bare=True)
    for kind, data in given.items():
        normal, size = _BY_TYPE[kind](data, depth)
        if normal is data and len(value) == 1:
            return value, size
        return {kind: normal}, size
    raise AssertionError


def _string(data: Any, depth: int) -> tuple[str, int]:  # noqa: ARG001 - one signature for all types
    if not isinstance(data, str):
        raise SerializationException(_WRONG_TYPE)
    # Members of a StrEnum and the like become plain text.
    text = data if type(data) is str else str.__str__(data)
    return text, len(text) if text.isascii() else _utf8_length(text)


def _number(data: Any, depth: int) -> tuple[str, int]:  # noqa: ARG001
    if not isinstance(data, str):
        raise SerializationException(_WRONG_TYPE)
    # A number that is not shown is a subclass of str.
    text = data if type(data) is str else str.__str__(data)
    number = normalise_number(text)
    return (text if number == text else number), number_size_bytes(number)


def _binary(data: Any, depth: int) -> tuple[str, int]:  # noqa: ARG001
    if isinstance(data, bytes | bytearray | memoryview):
        raw = bytes(data)  # pyright: ignore[reportUnknownArgumentType] - of any memoryview
        return b64encode(raw).decode(), len(raw)
    text = _canonical_base64(data)
    return text, base64_size_bytes(text)


def _canonical_base64(data: Any) -> str:
    if type(data) is not str:
        raise SerializationException(_WRONG_TYPE)
    try:
        canonical = b64encode(b64decode(data, validate=True)).decode() == data
    except ValueError:
        canonical = False
    if not canonical:
        raise SerializationException("Invalid Base64 in a binary value")
    return data


def _boolean(data: Any, depth: int) -> tuple[bool, int]:  # noqa: ARG001
    if type(data) is not bool:
        raise SerializationException(_WRONG_TYPE)
    return data, 1


def _null(data: Any, depth: int) -> tuple[bool, int]:  # noqa: ARG001
    if type(data) is not bool:
        raise SerializationException(_WRONG_TYPE)
    if not data:
        raise ValidationException(
            _INVALID + "Null attribute value types must have the value of true"
        )
    return data, 1


def _list(data: Any, depth: int) -> tuple[list[AttributeValue], int]:
    if not _is_list(data):
        raise SerializationException(_WRONG_TYPE)
    _check_depth(depth)
    size = CONTAINER_BYTES
    normals: list[AttributeValue] = []
    unchanged = True
    for value in data:
        # Strings are handled inline, as in `_normalise_attributes`.
        text: Any = None
        if value.__class__ is dict and len(value) == 1 and "S" in value:
            text = value["S"]
        if text.__class__ is str:
            normal, value_bytes = value, len(text) if text.isascii() else _utf8_length(text)
        else:
            normal, value_bytes = _normalise(value, depth + 1)
        normals.append(normal)
        size += value_bytes + ELEMENT_BYTES
        if size > MAX_REQUEST_BYTES:
            # Python lists that share members can expand to more than any request holds.
            raise ValidationException("Item size has exceeded the maximum allowed size")
        unchanged = unchanged and normal is value
    return (data if unchanged else normals), size


def _map(data: Any, depth: int) -> tuple[Item, int]:
    if not _is_map(data):
        raise SerializationException(_WRONG_TYPE)
    _check_depth(depth)
    item, size = _normalise_attributes(data, depth + 1)
    return item, size + CONTAINER_BYTES + ELEMENT_BYTES * len(item)


def _check_depth(depth: int) -> None:
    if depth >= MAX_NESTING - 1:
        raise ValidationException(NESTED_TOO_DEEP)


def _string_set(data: Any, depth: int) -> tuple[list[str], int]:  # noqa: ARG001
    members = _members(data)
    if not members:
        raise ValidationException(_INVALID + "An string set  may not be empty")
    try:
        joined = "".join(members)
    except TypeError:
        raise SerializationException(_WRONG_TYPE) from None
    size = len(joined) if joined.isascii() else _utf8_length(joined)
    if len(set(members)) != len(members):
        raise _duplicates_error("SS", members)
    return _in_order("SS", members, members), size


def _number_set(data: Any, depth: int) -> tuple[list[str], int]:
    members = _members(data)
    if not members:
        raise ValidationException(_INVALID + "An number set  may not be empty")
    numbers = [_number(member, depth)[0] for member in members]
    if len(set(numbers)) != len(numbers):
        raise ValidationException(
            "Input collection contains duplicates",
            current_message=_INVALID + "Input collection contains duplicates.",
        )
    return _in_order("NS", numbers, members), sum(map(number_size_bytes, numbers))


def _binary_set(data: Any, depth: int) -> tuple[list[str], int]:
    members = _members(data)
    if not members:
        raise ValidationException(_INVALID + "Binary sets should not be empty")
    texts = [_binary(member, depth)[0] for member in members]
    if len(set(texts)) != len(texts):
        raise _duplicates_error("BS", texts)
    return _in_order("BS", texts, members), sum(map(base64_size_bytes, texts))


def _in_order(kind: str, members: list[str], given: list[Any]) -> list[str]:
    """Return the sorted members of a set: `given` if they are equal to it, since it is not copied."""
    ordered = sort_members(kind, members)
    return given if ordered == given else ordered


def _duplicates_error(kind: Literal["SS", "BS"], members: list[str]) -> ValidationException:
    """Return the error for a set with duplicates; the current validation quotes and orders it."""
    comma, type_ = (", ", "") if kind == "SS" else (",", "of type BS")
    quoted = comma.join(f'"{member}"' for member in _order_duplicates(kind, members))
    former, current = (
        f"{_INVALID}Input collection [{listed}]{type_} contains duplicates."
        for listed in (", ".join(members), quoted)
    )
    return ValidationException(former, current_message=current)


def _order_duplicates(kind: str, members: list[str]) -> list[str]:
    """Return the members before the first duplicate in their order, then the rest as given."""
    seen: set[str] = set()
    for place, member in enumerate(members):
        if member in seen:
            return [*sort_members(kind, list(seen)), *members[place:]]
        seen.add(member)
    raise AssertionError


def _members(data: Any) -> list[Any]:
    if not _is_list(data):
        raise SerializationException(_WRONG_TYPE)
    return data


def _is_map(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _utf8_length(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise SerializationException("Invalid UTF-16 surrogate in a string") from None


_BY_TYPE = {
    "S": _string,
    "N": _number,
    "B": _binary,
    "BOOL": _boolean,
    "NULL": _null,
    "L": _list,
    "M": _map,
    "SS": _string_set,
    "NS": _number_set,
    "BS": _binary_set,
}


def to_json(item: Item) -> bytes:
    """Return a normalised item as JSON, as it is stored.

    >>> to_json({"n": {"N": "1"}})
    b'{"n":{"N":"1"}}'
    """
    try:
        return orjson.dumps(item)
    except TypeError:
        # Some name is of a subclass of str, such as a StrEnum's member.
        return orjson.dumps(item, option=orjson.OPT_NON_STR_KEYS)


def restore_binaries(item: Item) -> Item:
    """Return a copy of `item` with binaries as bytes, as the dict API returns it.

    >>> restore_binaries({"b": {"B": "aGk="}})
    {'b': {'B': b'hi'}}
    """
    return {name: _restored(value) for name, value in item.items()}


def _restored(value: AttributeValue) -> AttributeValue:
    for kind, data in value.items():
        match kind:
            case "B":
                return {"B": b64decode(data)}
            case "BS":
                return {"BS": [b64decode(member) for member in data]}
            case "L":
                return {"L": [_restored(member) for member in data]}
            case "M":
                return {"M": restore_binaries(data)}
            case _:
                # A new dict: the caller's request may still hold the old one.
                return {kind: data}
    return value
