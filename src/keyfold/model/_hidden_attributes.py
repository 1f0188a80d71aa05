"""Stored items without the secrets that their entities declare, for people to see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from keyfold.model._codecs import ModelCodec
from keyfold.model._schemas import EntitySchema
from keyfold.model._secrets import MASKED
from keyfold.model._value_codecs import ValueCodec
from keyfold.values import AttributeValue, Item


def hide_secrets(schemas: Iterable[EntitySchema], item: Mapping[str, AttributeValue]) -> Item:
    """Return an item in which the secrets of any of these entities are masked.

    An item may lack its key, so an attribute is masked if it is a secret of any entity.
    """
    hidden: Item = dict(item)
    for schema in schemas:
        hidden = _hide_in_model(schema.codec, hidden)
    return hidden


def _hide_in_model(codec: ModelCodec, item: Mapping[str, AttributeValue]) -> Item:
    found: Item = {}
    for name, value in codec.with_current_names(item).items():
        field = codec.by_stored.get(name)
        found[name] = value if field is None else _hide(field.codec, value)
    return found


def _hide(codec: ValueCodec, value: AttributeValue) -> AttributeValue:
    if codec.is_secret:
        return {"S": MASKED}
    for option in codec.options:
        value = _hide(option, value)
    ((kind, data),) = value.items()
    if codec.model is not None and kind == "M":
        return {"M": _hide_in_model(codec.model, data)}
    if kind == "L":
        return {"L": [_hide_member(codec, *each) for each in enumerate(data)]}
    if kind == "M":
        listed: Mapping[str, Any] = data
        return {"M": {name: _hide_member(codec, name, each) for name, each in listed.items()}}
    return value


def _hide_member(codec: ValueCodec, step: str | int, value: AttributeValue) -> AttributeValue:
    member = codec.member_at(step)
    return value if member is None else _hide(member, value)
