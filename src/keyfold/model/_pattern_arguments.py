"""What patterns are called with when they are explained: placeholders, or samples of simple types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, cast, get_args, get_origin

from pydantic import BaseModel

from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model._batches import Batch
from keyfold.model._moments import SAMPLE_TIME
from keyfold.model._paged_reads import First, Query, Scan
from keyfold.model._placeholders import Placeholder
from keyfold.model._reads import Get, Ref, ResultShape
from keyfold.model._requests import Request
from keyfold.model._results import Page
from keyfold.model._transactions import Transaction
from keyfold.model._writes import CreateOrGet, Put, Write


def placeholder_for(name: str, annotation: Any) -> Any:
    """Return a placeholder for an argument; a model has placeholders as its fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {each: Placeholder(f"{name}.{each}") for each in annotation.__pydantic_fields__}
        return cast(Any, annotation).model_construct(**fields)
    if _is_list(annotation):
        return _PlaceholderList(name, get_args(annotation)[0])
    return Placeholder(name)


def _is_list(annotation: Any) -> bool:
    """Return whether a type is a list of others: `list[Order]`, `tuple[Order, ...]` and the like."""
    origin = get_origin(annotation)
    is_class = isinstance(origin, type)
    return is_class and issubclass(origin, Iterable) and not issubclass(origin, Mapping)


class _PlaceholderList(Placeholder):
    """Stands for an argument with several members, each of which gets the placeholder of its type."""

    __slots__ = ("_type",)

    def __init__(self, text: str, member_type: Any) -> None:
        super().__init__(text)
        object.__setattr__(self, "_type", member_type)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return _PlaceholderList(str(found)[1:-1], self._type) if key.__class__ is slice else found

    def _member(self, index: object) -> Any:
        return placeholder_for(f"{self._text}[{index}]", self._type)


def sample_for(name: str, annotation: Any) -> Any:
    """Return a value for an argument that is of its type, where that is possible."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return sample_of(name, annotation)
    if _is_list(annotation):
        return [sample_for(f"{name}[i]", get_args(annotation)[0])]
    return _sample_value(name, find_type(annotation))


def sample_of(name: str, model: type[BaseModel]) -> Any:
    """Return an instance of a model whose values are of simple types, where that is possible."""
    values = {
        each: _sample_value(f"{name}.{each}", find_type(field.annotation))
        for each, field in model.__pydantic_fields__.items()
    }
    return model.model_construct(**values)


def _sample_value(name: str, kind: Any) -> Any:
    if kind in (int, float, Decimal):
        return kind(1)
    if kind is str:
        return str(Placeholder(name))
    if kind in (date, datetime):
        return SAMPLE_TIME if kind is datetime else SAMPLE_TIME.date()
    if isinstance(kind, type) and issubclass(kind, Ulid):
        return kind.at(SAMPLE_TIME)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    return Placeholder(name)


def placeholder_result(request: Request[Any]) -> Any:
    """Return a placeholder for the result of a request."""
    match request:
        case First(query=query):
            return _placeholder_of_shape("found", query.shape)
        case Get(shape=shape):
            return _placeholder_of_shape("found", shape)
        case Query(shape=shape) | Scan(shape=shape):
            return _PlaceholderPage(shape)
        case Write(schema=schema) | CreateOrGet(put=Put(schema=schema)):
            return placeholder_for("found", schema.entity)
        case Batch(requests=members) | Transaction(requests=members):
            return [
                _placeholder_of_shape(f"found[{number}]", each.shape)
                if isinstance(each, Get)
                else None
                for number, each in enumerate(members)
            ]
        case _:
            return Placeholder("found")


def sample_result(found: Any) -> Any:
    """Return samples in place of the models of placeholders in a result; None if it has none."""
    if isinstance(found, BaseModel):
        return sample_of("found", type(found))
    if not isinstance(found, list):
        return None
    return [
        sample_of(f"found[{number}]", type(each)) if isinstance(each, BaseModel) else each
        for number, each in enumerate(cast(list[Any], found))
    ]


def _placeholder_of_shape(name: str, shape: ResultShape[Any]) -> Any:
    """Return a placeholder for one item that is read: an entity, a projection or a reference."""
    if shape.schema is None:
        return Placeholder(name)
    if shape.as_refs:
        parts = {each: Placeholder(f"{name}.{each}") for each in shape.schema.key_fields}
        return Ref(shape.schema.entity, shape.schema.render_key(parts), parts)
    return placeholder_for(name, shape.only or shape.schema.entity)


class _PlaceholderPage(Page[Any]):
    """A page with one placeholder, which stands for all of its items; no page follows it."""

    def __init__(self, shape: ResultShape[Any]) -> None:
        super().__init__([_placeholder_of_shape("found[i]", shape)])
        self._shape = shape

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self
        return _placeholder_of_shape(f"found[{index}]", self._shape)
