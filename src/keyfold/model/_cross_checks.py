"""Checks across fields: model validators and stored computed fields, and the fields they depend on.

An update changes some fields of an entity that it has not read, so it can neither run such a check
nor compute such a field. It is therefore refused for the fields that one depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Never,
    Protocol,
    Self,
    TypeVar,
    cast,
    overload,
)

import pydantic
from pydantic import BaseModel

from keyfold.model._core_schemas import core_schema_of, find_model_fields

F = TypeVar("F", bound="Callable[..., Any] | classmethod[Any, Any, Any]")
P = TypeVar("P", bound="property | cached_property[Any]")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_MARK = "__keyfold_depends__"


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """A validator or stored computed field that depends on several fields; None means all."""

    name: str
    depends: frozenset[str] | None
    is_computed: bool

    def concerns(self, field: str) -> bool:
        """Return whether a change of a field may change the outcome."""
        return self.depends is None or field in self.depends

    def __str__(self) -> str:
        what = "stored computed field" if self.is_computed else "validator"
        fields = "all fields" if self.depends is None else ", ".join(sorted(self.depends))
        return f"{what} {self.name}, which depends on {fields}"


def model_validator(
    *, mode: Literal["before", "after", "wrap"], depends: Sequence[str] | None = None
) -> Callable[[F], F]:
    """Return pydantic's decorator of model validators, with the fields that the validator looks at.

    An update of one of these fields is refused, because only the whole entity can be validated:
    use `change`, or `put`. Updates of other fields are allowed. Without `depends`, it is all
    fields, as with pydantic's own decorator.
    """
    decorate: Callable[[Any], Any] = pydantic.model_validator(mode=mode)

    def mark(function: F) -> F:
        _mark(function, depends)
        return decorate(function)

    return mark


if TYPE_CHECKING:

    class ComputedProperty(Protocol[T_co]):
        """A computed field, as type checkers see it: a read-only property."""

        @overload
        def __get__(self, instance: None, owner: type[Any]) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type[Any]) -> T_co: ...
        def __set__(self, instance: Any, value: Never) -> None: ...

    class ComputedFieldDecorator(Protocol):
        """Makes a computed field from a method or a property."""

        @overload
        def __call__(self, function: Callable[[Any], T], /) -> ComputedProperty[T]: ...
        @overload
        def __call__(self, function: P, /) -> P: ...


def computed_field(
    *, depends: Sequence[str] | None = None, **options: Any
) -> ComputedFieldDecorator:
    """Return pydantic's decorator of computed fields, with the fields that the value is made from.

    An entity's computed fields are stored. An update of one of these fields is refused, because
    the value could not be computed: use `change`, or `put`. Updates of other fields are allowed.
    Without `depends`, it is all fields, as with pydantic's own decorator, which also says what
    `options` there are. The function may be a property already; a plain one becomes a property.
    """
    decorate = pydantic.computed_field(**options)

    def mark(function: Any) -> Any:
        _mark(function, depends)
        return decorate(function)

    return cast(Any, mark)


def _mark(function: Any, depends: Sequence[str] | None) -> None:
    if depends is None:
        return
    names = (depends,) if isinstance(depends, str) else depends
    setattr(_plain_function(function), _MARK, frozenset(names))


def _plain_function(function: Any) -> Any:
    if isinstance(function, property):
        return function.fget
    if isinstance(function, cached_property):
        return function.func
    return getattr(function, "__func__", function)


def _depends_of(function: Any) -> frozenset[str] | None:
    return getattr(_plain_function(function), _MARK, None)


def find_cross_checks(model: type[BaseModel]) -> tuple[CrossCheck, ...]:
    """Return the checks across fields of a model; its annotations must all be defined."""
    decorators = model.__pydantic_decorators__
    checks = [
        CrossCheck(name, _depends_of(each.func), is_computed=False)
        for validators in (decorators.root_validators, decorators.model_validators)
        for name, each in cast(Mapping[str, Any], validators).items()
    ]
    checks += (
        CrossCheck(name, _depends_of(info.wrapped_property), is_computed=True)
        for name, info in model.__pydantic_computed_fields__.items()
    )
    checks += _find_info_checks(model)
    return tuple(checks)


def find_depends_problems(
    owner: str, checks: Sequence[CrossCheck], fields: Mapping[str, object]
) -> Iterator[str]:
    """Yield the problems of `depends`: names that are not fields."""
    known = ", ".join(fields) or "none"
    for check in checks:
        for name in sorted((check.depends or frozenset()) - fields.keys()):
            yield (
                f"{owner}.{check.name}: it depends on {name!r}, which is not a field; its fields "
                f"are {known}."
            )


# Field validators that take pydantic's ValidationInfo, in whose `data` earlier fields are.


def find_fields_with_info(model: type[BaseModel]) -> dict[str, list[Any]]:
    """Return the fields with validators that can see the fields before them, with these."""
    fields = find_model_fields(*core_schema_of(model))
    found = {name: [*_functions_with_info(field)] for name, field in fields.items()}
    # The first field has none before it.
    return {name: found[name] for name in [*found][1:] if found[name]}


def _find_info_checks(model: type[BaseModel]) -> Iterator[CrossCheck]:
    names = [*model.__pydantic_fields__]
    for name, functions in find_fields_with_info(model).items():
        seen = frozenset(names[: names.index(name) + 1])
        for function in functions:
            shown = getattr(function, "__name__", repr(function))
            yield CrossCheck(shown, seen, is_computed=False)


def _functions_with_info(schema: Any) -> Iterator[Any]:
    """Yield the validators in a field's core schema that take ValidationInfo; not those of models."""
    if isinstance(schema, Mapping):
        node = cast(Mapping[str, Any], schema)
        kind = node.get("type")
        if kind in ("model", "dataclass", "typed-dict", "definition-ref"):
            return
        if isinstance(kind, str) and kind.startswith("function-"):
            function = node["function"]
            # Pydantic's own validators have the information, but look at no other field.
            if function["type"] == "with-info" and not _is_of_pydantic(function["function"]):
                yield function["function"]
        for key, each in node.items():
            if key not in ("serialization", "metadata"):
                yield from _functions_with_info(each)
    elif isinstance(schema, list | tuple):
        for each in cast(Sequence[Any], schema):
            yield from _functions_with_info(each)


def _is_of_pydantic(function: Any) -> bool:
    module = getattr(function, "__module__", None)
    return isinstance(module, str) and module.startswith("pydantic.")
