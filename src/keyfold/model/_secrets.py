"""Secrets: values that are stored in full, and shown nowhere.

An encoded secret is text or bytes with a `repr` of asterisks, so that requests, conditions and
messages that show it do not reveal it. What is sent is the secret itself.
"""

from __future__ import annotations

from keyfold.values import AttributeValue

MASKED = "**********"


class SecretText(str):
    """Text that is not shown: its `repr` is masked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"'{MASKED}'"


class SecretBinary(bytes):
    """Bytes that are not shown: their `repr` is masked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"b'{MASKED}'"


def is_secret(data: object) -> bool:
    """Return whether encoded text, a number or bytes are a secret, whose `repr` is masked."""
    return isinstance(data, SecretText | SecretBinary)


def mask(value: AttributeValue) -> AttributeValue:
    """Return an encoded secret with a masked `repr`."""
    ((kind, data),) = value.items()
    match kind:
        case "S" | "N":
            return {kind: SecretText(data)}
        case "B":
            return {kind: SecretBinary(data)}
        case "SS" | "NS":
            return {kind: [*map(SecretText, data)]}
        case "BS":
            return {kind: [*map(SecretBinary, data)]}
        case "L":
            return {kind: [*map(mask, data)]}
        case "M":
            return {kind: {name: mask(each) for name, each in data.items()}}
        case _:
            return value
