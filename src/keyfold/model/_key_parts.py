"""Key parts: the attributes of a key, and how each is made from fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from keyfold.errors import KeyfoldError, ValueInvalid
from keyfold.keys import KeyTemplate
from keyfold.model._any_values import Encode, encode_any
from keyfold.model._codecs import StoredField
from keyfold.model._pickling import Reduced, reduce_part
from keyfold.model._placeholder_keys import render_placeholder_key
from keyfold.model._placeholders import Placeholder
from keyfold.model._scalars import show
from keyfold.values import AttributeValue

Render = Callable[[Mapping[str, Any]], AttributeValue]


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One key attribute of an entity: rendered by a template, or the stored value of a field."""

    attribute: str
    template: KeyTemplate | None = None
    held_by: StoredField | None = None

    # The fields that its value is made from.
    fields: tuple[str, ...] = field(init=False, repr=False, compare=False)
    # The entity whose schema it is part of; None for a key attribute of no entity.
    owner: type[BaseModel] | None = field(default=None, init=False, repr=False, compare=False)

    def __reduce__(self) -> Reduced:
        """Pickle by reference."""
        if self.owner is None:
            return KeyPart, (self.attribute, self.template, self.held_by)
        return reduce_part(self.owner, self)

    def __post_init__(self) -> None:
        named = () if self.held_by is None else (self.held_by.name,)
        fields = named if self.template is None else self.template.fields
        object.__setattr__(self, "fields", fields)

    @property
    def kind(self) -> str:
        """The type of the key attribute: S, N or B."""
        if self.held_by is None:
            return "S"
        return next(iter(sorted(self.held_by.codec.kinds & {"S", "N", "B"})), "S")

    def encode(self, value: Any) -> AttributeValue:
        """Return a value as the attribute stores it; raises ValueInvalid."""
        return self._encode(
            encode_any if self.held_by is None else self.held_by.codec.encode, value
        )

    def encode_bound(self, value: Any) -> AttributeValue:
        """Return the end of a range of the attribute's values; raises ValueInvalid."""
        bound = None if self.held_by is None else self.held_by.codec.encode_bound
        return self.encode(value) if bound is None else self._encode(bound, value)

    def _encode(self, encode: Encode, value: Any) -> AttributeValue:
        try:
            encoded = encode(value)
        except (AttributeError, TypeError, ValueError) as error:
            if isinstance(error, KeyfoldError):
                raise
            fact = f"{show(value)} is not of the key's type"
            raise ValueInvalid(self.attribute, fact, "") from None
        check_not_empty(self.attribute, encoded)
        return encoded

    def fast_render(self) -> Render:
        """Return a function that renders the attribute: a fast path for valid values.

        It raises some exception for values that need `render`, which coerces or explains them.
        """
        if self.template is not None:
            render = self.template.render
            return lambda values: {"S": render(values)}
        assert self.held_by is not None  # a key part has a template or a field
        name, encode, is_text = self.held_by.name, self.held_by.codec.encode, self.held_by.is_text

        def render_held(values: Mapping[str, Any]) -> AttributeValue:
            value = values[name]
            # An empty value, or text that has to be coerced to the field's type.
            if (not value and value != 0) or (value.__class__ is str and not is_text):
                raise ValueError(value)
            return encode(value)

        return render_held

    def render(self, values: Mapping[str, Any]) -> AttributeValue | None:
        """Return the attribute for these field values; None if a value that it needs is None."""
        if self.template is None:
            assert self.held_by is not None  # a key part has a template or a field
            value = values[self.held_by.name]
            if value is None:
                return None
            # As `encode`, without another call for every put.
            return self._encode(self.held_by.codec.encode, value)
        has_placeholder = False
        for name in self.fields:
            value = values[name]
            if value is None:
                return None
            if value.__class__ is Placeholder:
                has_placeholder = True
        if has_placeholder:
            return {"S": render_placeholder_key(self.template, values)}
        return {"S": self.template.render(values)}


def check_not_empty(owner: str, value: AttributeValue) -> None:
    """Raise ValueInvalid for empty text or bytes, which DynamoDB does not allow in keys."""
    ((_, data),) = value.items()
    if data in ("", b""):
        fact = "it is a key attribute, which must not be empty"
        raise ValueInvalid(owner, fact, "Use None for no value.")
