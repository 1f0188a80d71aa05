"""The types of a pattern: those of its arguments as they are read, and that of its result."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from keyfold.model._entities import Entity
from keyfold.model._patterns import Parameter, Pattern
from keyfold.model._requests import Request


def find_value_type(pattern: Pattern[..., Any], parameter: Parameter) -> Any:
    """Return the type to read an argument as: the annotation's, or the example's if that is open.

    An annotation is open if it is Any, a name that was not resolved, or an entity without a table.
    """
    annotation: Any = parameter.annotation
    if isinstance(annotation, TypeVar):
        annotation = annotation.__bound__ or Any
    is_open = annotation is Any or isinstance(annotation, str) or _has_no_table(annotation)
    if is_open and parameter.name in pattern.example:
        return cast(type[Any], type(pattern.example[parameter.name]))
    # A type that is local to a function is only known by name: its value stays a string.
    return Any if isinstance(annotation, str) else annotation


def _has_no_table(annotation: Any) -> bool:
    if not isinstance(annotation, type) or not issubclass(annotation, Entity):
        return False
    return "_keyfold_table" not in vars(annotation)


def assume_utc(value: Any) -> Any:
    """Return a value; a time without a time zone becomes UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def find_request_type(pattern: Pattern[..., Any]) -> Any:
    """Return the annotated type of a pattern's request, such as `Query[Order]`; Any if there is none."""
    try:
        hints = get_type_hints(pattern.make)
    except NameError:
        # An annotation that names a type local to a function cannot be resolved.
        hints = inspect.get_annotations(pattern.make)
    found = hints.get("return", Any)
    return Any if isinstance(found, str) else found


def find_result_type(request: Any) -> Any:
    """Return the type of a request's result: `Page[Order]` for `Query[Order]`.

    It is Any where the annotation does not say.
    """
    origin = get_origin(request) or request
    if not isinstance(origin, type) or not issubclass(origin, Request):
        return Any
    if origin is Request:
        return next(iter(get_args(request)), Any)
    given = dict(zip(_parameters_of(origin), get_args(request), strict=False))
    return _climb(cast("type[Any]", origin), given)


def _climb(kind: type[Any], given: Mapping[Any, Any]) -> Any:
    """Return the argument of `Request` among the bases of a class, with its own arguments inserted."""
    for base in getattr(kind, "__orig_bases__", ()):
        origin = get_origin(base)
        if not isinstance(origin, type) or not issubclass(origin, Request):
            continue
        inserted = [_insert(each, given) for each in get_args(base)]
        if origin is Request:
            return inserted[0]
        return _climb(
            cast("type[Any]", origin), dict(zip(_parameters_of(origin), inserted, strict=False))
        )
    # A class that adds no parameters of its own.
    base: Any = next((each for each in kind.__bases__ if Request in each.__mro__), Request)
    return Any if base is Request else _climb(base, given)


def _parameters_of(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "__parameters__", ())


def _insert(annotation: Any, given: Mapping[Any, Any]) -> Any:
    """Return an annotation with types in place of its type variables; Any for those without."""
    if isinstance(annotation, TypeVar):
        found = given.get(annotation, Any)
        return Any if isinstance(found, TypeVar) else found
    parameters = _parameters_of(annotation)
    if not parameters:
        return annotation
    return annotation[tuple(_insert(each, given) for each in parameters)]
