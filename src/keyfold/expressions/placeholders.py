"""The placeholders of a request: ExpressionAttributeNames and ExpressionAttributeValues."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from keyfold.errors import ValidationException
from keyfold.expressions.faults import ExpressionFault
from keyfold.expressions.trees import Path, Steps
from keyfold.values import (
    MAX_NAME_BYTES,
    AttributeValue,
    normalise_item,
    normalise_value,
    text_size_bytes,
)

MAX_PLACEHOLDER_LENGTH = 255
MAX_SUBSTITUTION_BYTES = 2 * 1024 * 1024
MAX_PATH_LEVELS = 32

# How many unused placeholders a message lists.
_MAX_UNUSED = 500

NAME_TOO_LONG = f"Attribute name is too large, must be less than {MAX_NAME_BYTES + 1} bytes"

_is_name_placeholder = re.compile(r"#[A-Za-z0-9_]{1,254}\Z").match
_is_value_placeholder = re.compile(r":[A-Za-z0-9_]{1,254}\Z").match


class Placeholders:
    """The names and values behind a request's placeholders, and which of them were used.

    >>> placeholders = Placeholders({"#s": "status"}, {":v": {"N": "1.0"}})
    >>> placeholders.value(":v")
    {'N': '1'}

    Raises ValidationException for a map that is empty, a key that is not a placeholder, and a
    value that is not a valid attribute value.
    """

    __slots__ = ("_names", "_used_names", "_used_values", "_values", "size_bytes")

    def __init__(self, names: dict[str, str] | None, values: dict[str, Any] | None) -> None:
        self._used_names: set[str] = set()
        self._used_values: set[str] = set()
        # The service checks all keys before any value, and the values before the names.
        if names is not None:
            _check_keys("ExpressionAttributeNames", names, _is_name_placeholder)
        if values is not None:
            _check_keys("ExpressionAttributeValues", values, _is_value_placeholder)
        self._names: dict[str, str] = names or {}
        self._values: dict[str, AttributeValue] = {}
        self.size_bytes = 0
        """The size of the names and values, with that of their placeholders."""
        if values:
            self._values, self.size_bytes = _normalise_values(values)
        if names:
            self.size_bytes += _check_names(names)

    def name(self, placeholder: str) -> str:
        """Return the attribute name of a placeholder and mark it as used; raises ExpressionFault."""
        name = self._names.get(placeholder)
        if name is None:
            raise ExpressionFault(
                "An expression attribute name used in the document path is not defined; "
                f"attribute name: {placeholder}"
            )
        self._used_names.add(placeholder)
        return name

    def value(self, placeholder: str) -> AttributeValue:
        """Return the value of a placeholder and mark it as used; raises ExpressionFault."""
        value = self._values.get(placeholder)
        if value is None:
            raise ExpressionFault(
                "An expression attribute value used in expression is not defined; "
                f"attribute value: {placeholder}"
            )
        self._used_values.add(placeholder)
        return value

    def resolve(self, path: Path) -> Steps:
        """Return the steps of `path`, with placeholders replaced; raises ExpressionFault."""
        steps = path.steps
        if path.has_placeholders:
            steps = tuple(
                self.name(step) if isinstance(step, str) and step[0] == "#" else step
                for step in steps
            )
        if len(steps) > MAX_PATH_LEVELS:
            raise ExpressionFault(
                f"The document path has too many nesting levels; nesting levels: {len(steps)}"
            )
        return steps

    def check_all_used(self) -> None:
        """Raise ValidationException if no expression has used some name or value."""
        if len(self._used_names) != len(self._names):
            raise _unused("Names", self._names, self._used_names)
        if len(self._used_values) != len(self._values):
            raise _unused("Values", self._values, self._used_values)


NO_PLACEHOLDERS = Placeholders(None, None)
"""For trees without placeholders."""


def _check_keys(
    parameter: str, given: dict[str, Any], is_placeholder: Callable[[str], object]
) -> None:
    if not given:
        raise ValidationException(f"{parameter} must not be empty")
    for key in given:
        if is_placeholder(key):
            continue
        if not key:
            fault = "The expression attribute map contains an empty key;"
        elif len(key) > MAX_PLACEHOLDER_LENGTH:
            fault = (
                "The expression attribute map contains a key that is too long; "
                f"size of key: {len(key)}"
            )
        else:
            fault = f'Syntax error; key: "{key}"'
        raise ValidationException(f"{parameter} contains invalid key: {fault}")


def _check_names(names: dict[str, str]) -> int:
    """Return the size of names and placeholders; raises ValidationException."""
    total = 0
    for key, name in names.items():
        size = text_size_bytes(name)
        total += size + len(key)
        if 0 < size <= MAX_NAME_BYTES:
            continue
        fault = NAME_TOO_LONG if name else "Empty attribute name"
        raise ValidationException(
            f"ExpressionAttributeNames contains invalid value: {fault} for key {key}"
        )
    if total > MAX_SUBSTITUTION_BYTES:
        raise ValidationException("ExpressionAttributeNames exceeds max size")
    return total


def _normalise_values(values: dict[str, Any]) -> tuple[dict[str, AttributeValue], int]:
    try:
        normal, total = normalise_item(values)
    except ValidationException:
        raise _first_invalid(values) from None
    if total > MAX_SUBSTITUTION_BYTES:
        raise ValidationException("ExpressionAttributeValues exceeds max size")
    return normal, total


def _first_invalid(values: dict[str, Any]) -> ValidationException:
    for key, value in values.items():
        try:
            normalise_value(value)
        except ValidationException as fault:
            current = fault.message if fault.current_message is None else fault.current_message
            return ValidationException(
                f"ExpressionAttributeValues contains invalid value: {fault.message} for key {key}",
                current_message=current,
                is_bare=fault.is_bare,
            )
    raise AssertionError


def _unused(which: str, given: dict[str, Any], used: set[str]) -> ValidationException:
    unused = [key for key in given if key not in used]
    unused = _in_service_order(unused[:_MAX_UNUSED])
    return ValidationException(
        f"Value provided in ExpressionAttribute{which} unused in expressions: "
        f"keys: {{{', '.join(unused)}}}"
    )


def _in_service_order(keys: list[str]) -> list[str]:
    """Return keys in the order in which the service lists them: by Java hash table bucket."""
    buckets = 16
    while len(keys) > buckets * 3 // 4:
        buckets *= 2

    def bucket(key: str) -> int:
        code = 0
        for character in key:
            code = (code * 31 + ord(character)) & 0xFFFFFFFF
        return (code ^ code >> 16) & buckets - 1

    return sorted(keys, key=bucket)
