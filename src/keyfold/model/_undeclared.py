"""Undeclared attributes: kept with the entity that was read, and written back with it.

In a rolling deployment, an old program reads items that a newer one wrote, with attributes that the
old one does not declare. They travel in the `__dict__` of the entity, as `functools.cached_property`
keeps its values: they are not fields, and take no part in `==`, `repr` and dumps, but copies and
pickles have them. Attributes of nested models travel with the nested instance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from keyfold.model._codecs import ModelCodec
    from keyfold.model._value_codecs import ValueCodec
    from keyfold.values import AttributeValue, Item

UNDECLARED = "_keyfold_undeclared"


def keep_undeclared(
    value: Any, item: Mapping[str, AttributeValue], declared: Collection[str]
) -> None:
    """Store the attributes of an item that are not declared with the value that was read from it."""
    found = {name: each for name, each in item.items() if name not in declared}
    if found:
        value.__dict__[UNDECLARED] = found


def keep_nested(codec: ValueCodec, stored: AttributeValue, value: Any) -> None:
    """Store undeclared attributes of the nested models in a field's value.

    The members of a list are matched by position, those of a map by their order.
    """
    if codec.model is not None:
        model = codec.model
        if "M" in stored and model.keeps_undeclared and isinstance(value, model.model):
            keep_in_model(model, stored["M"], value)
    elif codec.has_models:
        for position, (member, held) in enumerate(_pair_members(stored, value)):
            inner = codec.member_at(position)
            if inner is not None:
                keep_nested(inner, member, held)


def keep_in_model(codec: ModelCodec, item: Mapping[str, AttributeValue], value: Any) -> None:
    """Store undeclared attributes of a nested model, and of those nested in it."""
    item = codec.with_current_names(item)
    if not codec.has_extra and not codec.by_stored.keys() >= item.keys():
        keep_undeclared(value, item, codec.by_stored)
    for field in codec.fields.values():
        if field.codec.has_models and field.stored in item:
            keep_nested(field.codec, item[field.stored], getattr(value, field.name))


def add_undeclared(value: Any, item: Item, declared: Collection[str]) -> None:
    """Add the undeclared attributes that a value was read with to the item that is written."""
    for name, each in value.__dict__.get(UNDECLARED, {}).items():
        # A value that was pickled by an older program may have what is declared by now.
        if name not in declared:
            item[name] = each


def _pair_members(stored: AttributeValue, value: Any) -> Iterable[tuple[AttributeValue, Any]]:
    if "L" in stored and isinstance(value, list | tuple):
        members, held = stored["L"], cast(Sequence[Any], value)
    elif "M" in stored and isinstance(value, Mapping):
        members, held = stored["M"].values(), cast(Mapping[Any, Any], value).values()
    else:
        return ()
    # A validator that adds or drops members leaves no way to match them.
    return zip(members, held, strict=True) if len(members) == len(held) else ()
