"""Records: models, dataclasses, TypedDicts and NamedTuples, which are stored as maps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import (
    Any,
    NotRequired,
    Required,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from keyfold.model._value_codecs import TypeRefused


@dataclass(frozen=True, slots=True)
class RecordType:
    """The class of a record, and its fields as pydantic describes them.

    A TypedDict is a mapping: its values are members of a dict. `optional` are the keys that such
    a dict may lack.
    """

    python: type[Any]
    fields: Mapping[str, FieldInfo]
    has_extra: bool = False
    is_mapping: bool = False
    optional: frozenset[str] = frozenset()


def read_record(annotation: Any) -> RecordType | None:
    """Return the record of an annotation, such as `Point` or `Box[int]`; None for other types.

    Raises TypeRefused for a dataclass that cannot be made from its fields.
    """
    python: Any = get_origin(annotation) or annotation
    if not isinstance(python, type):
        return None
    return _read_class(python, annotation)


def _read_class(python: type[Any], annotation: Any) -> RecordType | None:
    if issubclass(python, BaseModel):
        has_extra = python.model_config.get("extra") == "allow"
        return RecordType(python, python.__pydantic_fields__, has_extra)
    if dataclasses.is_dataclass(python):
        return RecordType(python, dict(_read_dataclass(python, annotation)))
    if tuple in python.__mro__ and hasattr(python, "_fields"):
        hints = _read_hints(python, annotation)
        names: tuple[str, ...] = getattr(python, "_fields", ())
        defaults: Mapping[str, Any] = getattr(python, "_field_defaults", {})
        fields = {name: _make_field(hints.get(name, Any)) for name in names}
        for name, default in defaults.items():
            fields[name].default = default
        return RecordType(python, fields)
    if dict in python.__mro__ and hasattr(python, "__required_keys__"):
        return _read_typed_dict(python, annotation)
    return None


def _read_dataclass(python: type[Any], annotation: Any) -> Iterator[tuple[str, FieldInfo]]:
    hints = _read_hints(python, annotation)
    described: Mapping[str, FieldInfo] = getattr(python, "__pydantic_fields__", {})
    init_only = [name for name, hint in hints.items() if isinstance(hint, dataclasses.InitVar)]
    if init_only:
        raise TypeRefused(
            f"{python.__name__}.{init_only[0]} is an InitVar, which the dataclass does not keep, "
            "so it could not be made again. Use a field"
        )
    for field in dataclasses.fields(python):
        # Other fields are computed when the dataclass is made.
        if field.init:
            known = described.get(field.name)
            if known is None or get_origin(annotation) is not None:
                known = _make_field(hints[field.name], known or _default_of(field))
            yield field.name, known


def _default_of(field: dataclasses.Field[Any]) -> FieldInfo:
    """Return the description of a dataclass's field, with nothing but its default."""
    described = FieldInfo()
    if field.default is not dataclasses.MISSING:
        described.default = field.default
    if field.default_factory is not dataclasses.MISSING:
        described.default_factory = field.default_factory
    return described


def _read_typed_dict(python: type[Any], annotation: Any) -> RecordType:
    required: frozenset[str] = getattr(python, "__required_keys__", frozenset())
    optional: set[str] = set()
    fields: dict[str, FieldInfo] = {}
    for name, hint in _read_hints(python, annotation).items():
        is_required = name in required
        while get_origin(hint) in (Required, NotRequired) or _is_read_only(hint):
            is_required = get_origin(hint) is not NotRequired and is_required
            (hint,) = get_args(hint)  # noqa: PLW2901 - without its qualifier
        fields[name] = _make_field(hint)
        if not is_required:
            optional.add(name)
    config: Mapping[str, Any] = getattr(python, "__pydantic_config__", {})
    return RecordType(
        python,
        fields,
        config.get("extra") == "allow",
        is_mapping=True,
        optional=frozenset(optional),
    )


def _is_read_only(hint: Any) -> bool:
    return getattr(get_origin(hint), "_name", None) == "ReadOnly"


def _make_field(hint: Any, described: FieldInfo | None = None) -> FieldInfo:
    """Return a field with this annotation, and with the rest of what describes it already."""
    field = FieldInfo.from_annotation(hint)
    if described is not None:
        field.metadata = described.metadata or field.metadata
        field.default, field.default_factory = described.default, described.default_factory
    return field


def _read_hints(python: type[Any], annotation: Any) -> dict[str, Any]:
    hints = get_type_hints(python, include_extras=True)
    parameters: tuple[Any, ...] = getattr(python, "__parameters__", ())
    values = dict(zip(parameters, get_args(annotation), strict=False))
    return {name: fill_in(hint, values) for name, hint in hints.items()}


def fill_in(hint: Any, values: Mapping[Any, Any]) -> Any:
    """Return an annotation with type variables replaced: `list[T]` becomes `list[int]`."""
    if isinstance(hint, TypeVar):
        return values.get(hint, hint)
    alias: Any = hint
    parameters: tuple[Any, ...] = getattr(alias, "__parameters__", ())
    if get_origin(alias) is None or not parameters:
        return alias
    return alias[tuple(values.get(each, each) for each in parameters)]


# Annotations.


def is_alias(annotation: Any) -> bool:
    """Return whether an annotation is a type alias, made by `type` or TypeAliasType."""
    return not isinstance(annotation, type) and hasattr(annotation, "__value__")


def read_alias(annotation: Any) -> Any:
    """Return what a type alias stands for; `Pair[int]` is an alias with type arguments."""
    values = dict(zip(annotation.__type_params__, get_args(annotation), strict=False))
    return fill_in(annotation.__value__, values)
