"""The codec of a value, and the error of a type that cannot be stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from keyfold.model._any_values import Encode
from keyfold.model._placeholders import Placeholder
from keyfold.model._scalars import show
from keyfold.model._secrets import MASKED
from keyfold.values import AttributeValue

if TYPE_CHECKING:
    from keyfold.model._codecs import ModelCodec

Decode = Callable[[Any], Any]

SETS = frozenset({"SS", "NS", "BS"})


@dataclass(frozen=True, slots=True)
class ValueCodec:
    """How the values of one type are encoded and decoded.

    `kinds` are the DynamoDB types that it may be stored as, empty if unknown. `members` is the
    codec of the members of a list, set or map; `model` is the codec of a nested model. Without
    `decode`, values are decoded by their stored type. `python` is the class of the values, by
    which a union chooses the codec; None if it is unknown. A secret is never shown.
    """

    encode: Encode
    decode: Decode | None = None
    kinds: frozenset[str] = frozenset()
    members: ValueCodec | None = None
    model: ModelCodec | None = None
    python: type[Any] | None = None
    is_secret: bool = False
    # The codecs of the members of a tuple that has a type for each position.
    positions: tuple[ValueCodec, ...] = ()
    # The codecs of the members of a union.
    options: tuple[ValueCodec, ...] = ()
    # Encodes what stored values are compared with by order, if that may lie between two of them.
    encode_bound: Encode | None = None
    # Whether the value is a nested model, or has nested models as members.
    has_models: bool = field(init=False)

    def __post_init__(self) -> None:
        inside = self.positions if self.members is None else (self.members,)
        has_models = self.model is not None or any(each.has_models for each in inside)
        object.__setattr__(self, "has_models", has_models)

    def member_at(self, step: object) -> ValueCodec | None:
        """Return the codec of a member of a list, set or map; None if it is unknown."""
        if isinstance(step, int) and step < len(self.positions):
            return self.positions[step]
        return self.members

    def show(self, value: object) -> str:
        """Return a value as text for a message; secrets are masked."""
        return MASKED if self.is_secret else show(value)


class TypeRefused(Exception):
    """A type cannot be stored; the message says why, and what to do.

    It is raised while a class is declared, and becomes part of a DeclarationInvalid.
    """


def is_unstored(value: Any) -> bool:
    """Return whether a value is stored by leaving its attribute out: None, and an empty set."""
    return value is None or (isinstance(value, set | frozenset) and not value)


def take_placeholders(encode: Encode, kind: str = "S") -> Encode:
    """Return an encoder that also takes placeholders, which are stored as `kind`."""

    def encode_value(value: Any) -> AttributeValue:
        return {kind: str(value)} if isinstance(value, Placeholder) else encode(value)

    return encode_value
