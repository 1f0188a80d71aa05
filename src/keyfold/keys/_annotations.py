"""Choose the key part format of a field from its type annotation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, Flag
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin
from uuid import UUID

from keyfold.errors import KeyTemplateInvalid
from keyfold.keys._formats import (
    ChoiceFormat,
    ConvertedFormat,
    DateFormat,
    DatetimeFormat,
    DecimalFormat,
    IntFormat,
    PartFormat,
    TextFormat,
    UlidFormat,
    UuidFormat,
)
from keyfold.keys._shapes import is_encodable
from keyfold.keys._shown_values import show
from keyfold.keys._ulid import Ulid

# The longest sort key that DynamoDB stores, in bytes: a wider part could never be stored.
MAX_WIDTH = 1024

_match_width = re.compile(r"0?([1-9][0-9]{0,3})").fullmatch
_match_scaled = re.compile(r"0?([1-9][0-9]{0,3})\.([0-9]{1,4})").fullmatch


@dataclass(frozen=True, slots=True)
class ConvertedType:
    """A type whose values are converted to text or numbers before they become part of a key.

    `kind` is "S" if `convert` returns a str, "N" if it returns an int or a Decimal.
    """

    name: str
    kind: str
    convert: Callable[[Any], Any]
    restore: Callable[[Any], Any]


class _TemplateProblem(Exception):
    """No format exists for a type and spec; `format_for` makes the public error from the facts."""

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(fact, advice)
        self.fact, self.advice = fact, advice


def format_for(annotation: object, spec: str, *, field: str, owner: str) -> PartFormat:
    """Return the format for a field of this type; `spec` is what follows the colon after its name.

    >>> format_for(int, "03", field="line", owner="OrderLine").render(7)
    '007'

    `Annotated`, `NewType`, type aliases and `| None` are unwrapped. Raises KeyTemplateInvalid
    for a type that cannot be a part of a key, or for a spec that the type does not take.
    """
    try:
        if isinstance(annotation, ConvertedType):
            return _choose_converted(annotation, spec, field)
        return _choose(find_type(annotation), spec, field)
    except _TemplateProblem as error:
        template = f"{{{field}:{spec}}}" if spec else f"{{{field}}}"
        raise KeyTemplateInvalid(owner, template, error.fact, error.advice) from None


def find_type(annotation: Any) -> Any:
    """Return the underlying type of an annotation; unwraps `Annotated`, `NewType` and the like."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return find_type(get_args(annotation)[0])
    if isinstance(annotation, NewType):
        return find_type(annotation.__supertype__)
    if origin in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return find_type(kinds[0]) if len(kinds) == 1 else annotation
    if not isinstance(annotation, type) and hasattr(annotation, "__value__"):
        return find_type(annotation.__value__)
    return annotation


def _choose(kind: Any, spec: str, field: str) -> PartFormat:
    if get_origin(kind) is Literal:
        return _choose_literal(kind, spec)
    if not isinstance(kind, type) or get_origin(kind) is not None:
        raise _unsupported_type(_name(kind), field)
    # Check a subclass before its base: a datetime is a date, and an enum may be a str or an int.
    if issubclass(kind, Enum):
        return _choose_enum(kind, spec, field)
    if issubclass(kind, str) and not issubclass(kind, Ulid):
        wanted = f"an exact number of characters, as in {{{field}:3}}"
        return TextFormat(_read_width(spec, wanted) if spec else None)
    if issubclass(kind, int) and kind is not bool:
        return _choose_int(spec, field)
    if issubclass(kind, Decimal):
        return _choose_decimal(spec, field)
    if issubclass(kind, Ulid):
        found = UlidFormat(kind)
    elif issubclass(kind, datetime):
        found = DatetimeFormat()
    elif issubclass(kind, date):
        found = DateFormat()
    elif issubclass(kind, UUID):
        found = UuidFormat()
    else:
        raise _unsupported_type(kind.__name__, field)
    if spec:
        raise _TemplateProblem(
            f"has the width {show(spec)} for type {kind.__name__}, which takes none",
            f"Write {{{field}}}.",
        )
    return found


def _choose_converted(kind: ConvertedType, spec: str, field: str) -> PartFormat:
    match kind.kind:
        case "S":
            return ConvertedFormat(_choose(str, spec, field), kind.convert, kind.restore)
        case "N" if "." in spec:
            decimals = _choose(Decimal, spec, field)
            return ConvertedFormat(
                decimals, lambda value: Decimal(kind.convert(value)), kind.restore
            )
        case "N":
            return ConvertedFormat(_choose(int, spec, field), kind.convert, kind.restore)
        case _:
            raise _unsupported_type(kind.name, field)


def _choose_int(spec: str, field: str) -> PartFormat:
    if not spec:
        raise _TemplateProblem(
            "has an int without a width",
            f"Write {{{field}:03}} for numbers of up to three digits: without leading zeros, "
            "10 would sort before 9.",
        )
    return IntFormat(_read_width(spec, f"a width, as in {{{field}:03}}"))


def _choose_decimal(spec: str, field: str) -> PartFormat:
    found = _match_scaled(spec)
    if found is None or int(found[1]) + int(found[2]) > MAX_WIDTH:
        raise _TemplateProblem(
            f"has {show(spec)} as the width of a Decimal"
            if spec
            else "has a Decimal without a width",
            f"Give the number of digits before and after the point, as in {{{field}:12.2}}.",
        )
    return DecimalFormat(int(found[1]), int(found[2]))


def _choose_enum(kind: type[Enum], spec: str, field: str) -> PartFormat:
    name = kind.__name__
    if spec:
        numbers = IntFormat(_read_width(spec, f"a width, as in {{{field}:02}}"))
        if issubclass(kind, Flag) or not all(numbers.accepts(member.value) for member in kind):
            raise _TemplateProblem(
                f"has the enum {name}, whose values are not all numbers of that width",
                f"Write {{{field}}} if they are strings; otherwise declare more digits.",
            )
        return _make_choice(kind, [(numbers.render(member.value), member) for member in kind])
    if not all(isinstance(member.value, str) for member in kind):
        raise _TemplateProblem(
            f"has the enum {name}, whose values are not all strings",
            f"Make them strings, or non-negative numbers with a width, as in {{{field}:02}}.",
        )
    return _make_choice(kind, [(member.value, member) for member in kind])


def _choose_literal(annotation: object, spec: str) -> PartFormat:
    choices: list[tuple[str, object]] = []
    for value in get_args(annotation):
        if isinstance(value, str) and not spec:
            choices.append((value.value if isinstance(value, Enum) else value, value))
        elif value is not None:
            raise _TemplateProblem(
                f"has the type {_name(annotation)}", "Use only strings, without a width."
            )
    return _make_choice(str, choices)


def _make_choice(kind: type, choices: list[tuple[str, object]]) -> PartFormat:
    if not choices:
        raise _TemplateProblem("has a type without any values", "Give it at least one.")
    for text, _ in choices:
        if not text or not is_encodable(text):
            raise _TemplateProblem(
                f"has the choice {text!r}", "A part must be valid Unicode and not empty."
            )
    return ChoiceFormat(kind, dict(choices))


def _read_width(spec: str, wanted: str) -> int:
    found = _match_width(spec)
    if found is None or int(found[1]) > MAX_WIDTH:
        raise _TemplateProblem(f"has {show(spec)} as a width", f"It takes {wanted}.")
    return int(found[1])


def _unsupported_type(name: str, field: str) -> _TemplateProblem:
    if name == "bool":
        return _TemplateProblem("has a bool", "Use an enum of strings, or a Literal of two.")
    if name == "float":
        return _TemplateProblem(
            "has a float", f"Use a Decimal with a width, as in {{{field}:12.2}}."
        )
    return _TemplateProblem(
        f"has the type {name}, which cannot be a part of a key",
        "Use str, int, Decimal, date, datetime, UUID, an enum, a Literal of strings or a typed id.",
    )


def _name(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
