"""Faults in the values of a key, and the service's messages for them.

A fault is found once, by `find_key_fault`, and stays data until it is known which parameter it
is in: the service has different messages for the same fault in an item, in a `Key`, in an update
and in a start key. There is one function for each of them, which returns the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Literal

from keyfold.errors import ValidationException
from keyfold.values.wording import INVALID, NOT_VALID

MAX_PARTITION_BYTES = 2_048
MAX_SORT_BYTES = 1_024

KeyHalf = Literal["HASH", "RANGE"]
MAX_HALF_BYTES: dict[KeyHalf, int] = {"HASH": MAX_PARTITION_BYTES, "RANGE": MAX_SORT_BYTES}

KEY_MISMATCH = "The provided key element does not match the schema"
START_KEY_INVALID = "The provided starting key is invalid"

_TOO_LONG: dict[KeyHalf, str] = {
    "HASH": (
        f"{INVALID}Size of hashkey has exceeded the maximum size limit of"
        f"{MAX_PARTITION_BYTES} bytes"
    ),
    "RANGE": (
        f"{INVALID}Aggregated size of all range keys has exceeded "
        f"the size limit of {MAX_SORT_BYTES} bytes"
    ),
}
_UNSUPPORTED_TYPE = (
    "The update expression attempted to update the secondary index key to unsupported type"
)
_UNSUPPORTED_UPDATE = (
    "The update expression attempted to update a secondary index key "
    "to a value that is not supported. "
)


class KeyFaultKind(Enum):
    """How a key is invalid."""

    MISSING = auto()
    WRONG_TYPE = auto()
    EMPTY = auto()
    TOO_LONG = auto()


@dataclass(frozen=True, slots=True)
class KeyFault:
    """One fault of the key of a table, or of an index."""

    kind: KeyFaultKind
    # The attributes at fault: one, or for a key that is too long all attributes of the half.
    names: tuple[str, ...]
    # The type that the attribute should have, and the one that it has if that is wrong.
    expected: Literal["S", "N", "B"] | None = None
    actual: str | None = None
    # Which half of the key is too long, and how long.
    half: KeyHalf = "HASH"
    size_bytes: int = 0
    # The index that the key belongs to; None for the table.
    index: str | None = None


class KeyInvalid(Exception):
    """A value is invalid for a key. Callers turn `fault` into the service's error."""

    def __init__(self, fault: KeyFault) -> None:
        super().__init__(fault)
        self.fault = fault


def item_fault_error(fault: KeyFault) -> ValidationException:
    """Return the error for an item to be put."""
    (name, *_) = fault.names
    match fault.kind:
        case KeyFaultKind.MISSING:
            return ValidationException(f"{INVALID}Missing the key {name} in the item")
        case KeyFaultKind.WRONG_TYPE:
            return ValidationException(
                f"{INVALID}Type mismatch for key {name} "
                f"expected: {fault.expected} actual: {fault.actual}"
            )
        case KeyFaultKind.EMPTY | KeyFaultKind.TOO_LONG:
            return value_fault_error(fault)


def key_fault_error(fault: KeyFault) -> ValidationException:
    """Return the error for a `Key`, or for an item that a batch is to put."""
    match fault.kind:
        case KeyFaultKind.MISSING | KeyFaultKind.WRONG_TYPE:
            return ValidationException(KEY_MISMATCH)
        case KeyFaultKind.EMPTY | KeyFaultKind.TOO_LONG:
            return value_fault_error(fault)


def index_key_fault_error(fault: KeyFault) -> ValidationException:
    """Return the error for an item, put or updated, that is invalid for an index."""
    if fault.kind is KeyFaultKind.WRONG_TYPE:
        return ValidationException(
            f"{INVALID}Type mismatch for Index Key {fault.names[0]} "
            f"Expected: {fault.expected} Actual: {fault.actual} IndexName: {fault.index}"
        )
    return value_fault_error(fault)


def update_fault_error(fault: KeyFault) -> ValidationException:
    """Return the error for a value that an update computed and that is invalid for an index."""
    match fault.kind:
        case KeyFaultKind.WRONG_TYPE:
            return ValidationException(_UNSUPPORTED_TYPE)
        case KeyFaultKind.EMPTY:
            return ValidationException(
                f"{NOT_VALID}{_UNSUPPORTED_UPDATE}{_empty_value_message(fault)}"
            )
        case KeyFaultKind.MISSING | KeyFaultKind.TOO_LONG:
            return value_fault_error(fault)


def start_key_fault_error(fault: KeyFault, *, names_start_key: bool) -> ValidationException:
    """Return the error for an ExclusiveStartKey.

    `names_start_key` says whether the message for a wrong type mentions the start key.
    """
    if fault.kind is KeyFaultKind.WRONG_TYPE:
        head = f"{START_KEY_INVALID}: " if names_start_key else ""
        return ValidationException(f"{head}{KEY_MISMATCH}")
    return ValidationException(f"{START_KEY_INVALID}: {value_fault_error(fault).message}")


def condition_fault_error(fault: KeyFault) -> ValidationException:
    """Return the error for a value of a key condition, on a table or on an index."""
    if fault.kind is KeyFaultKind.TOO_LONG:
        return ValidationException(_TOO_LONG[fault.half])
    return value_fault_error(fault)


def value_fault_error(fault: KeyFault) -> ValidationException:
    """Return the error for a value of the right type, the same in most contexts."""
    if fault.kind is KeyFaultKind.EMPTY:
        (name,) = fault.names
        if fault.index is None:
            return ValidationException(f"{NOT_VALID}{_empty_value_message(fault)} Key: {name}")
        return ValidationException(
            f"{NOT_VALID}A value specified for a secondary index key is not supported. "
            f"{_empty_value_message(fault)} IndexName: {fault.index}, IndexKey: {name}"
        )
    assert fault.kind is KeyFaultKind.TOO_LONG
    if fault.index is None or len(fault.names) == 1:
        return ValidationException(_TOO_LONG[fault.half])
    return ValidationException(
        f"Aggregate size for {fault.half} key attributes {', '.join(fault.names)} of index "
        f"{fault.index} has exceeded limit {MAX_HALF_BYTES[fault.half]} bytes, "
        f"with actual size {fault.size_bytes} bytes"
    )


def _empty_value_message(fault: KeyFault) -> str:
    kind = "string" if fault.expected == "S" else "binary"
    return f"The AttributeValue for a key attribute cannot contain an empty {kind} value."
