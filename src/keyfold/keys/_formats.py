"""Formats that render values as parts of a key, and parse them back.

Every format keeps the order of its values: of two values, the smaller one has the smaller
text. All formats except text and choices have a fixed width, so the text after a part cannot
change that order.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

from keyfold.keys._shapes import (
    ANYTHING,
    DIGIT,
    HEXADECIMAL,
    Alphabet,
    Fixed,
    OneOf,
    Open,
    Shape,
    find_width,
    is_encodable,
    join,
    shape_of_example,
    shape_of_text,
    to_pattern,
)
from keyfold.keys._ulid import LENGTH, LETTERS, Ulid

_DATE = "0000-00-00"
_DATETIME = "0000-00-00T00:00:00.000000Z"
_MAX_LISTED = 10
_HOURS = slice(11, 13)
_OFFSET_LENGTH = len("+00:00")
_UUID = "00000000-0000-0000-0000-000000000000"
_ULID = Fixed((Alphabet(frozenset("01234567")), *(Alphabet(frozenset(LETTERS)),) * (LENGTH - 1)))


# What a user's function raises for a value that it does not take.
CONVERSION_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


class PartRefused(ValueError):
    """A format cannot render a value; the template raises an error that names the part."""

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(fact, advice)
        self.fact, self.advice = fact, advice


class PartFormat(ABC):
    """Renders the values of one type as the text of a key part, and parses them back."""

    __slots__ = ()

    # Whether every text of the shape has a value.
    always_reads: ClassVar[bool] = False

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Which characters a rendered value may have, and where."""

    @abstractmethod
    def render(self, value: object) -> str:
        """Return the text of a value; raises PartRefused if the value cannot be rendered."""

    @abstractmethod
    def read(self, text: str) -> object | None:
        """Return the value of `text`, which must have the shape; None if it has no value."""

    def parse(self, text: str) -> object | None:
        """Return the value that renders as `text`; None if there is none."""
        return None if re.fullmatch(self.pattern, text) is None else self.read(text)

    def accepts(self, value: object) -> bool:
        """Return whether `render` accepts the value."""
        try:
            self.render(value)
        except PartRefused:
            return False
        return True

    @property
    def pattern(self) -> str:
        """A regular expression for the shape, as a string."""
        return to_pattern(self.shape)

    @property
    def width(self) -> int | None:
        """The number of characters of every rendered value; None if it varies."""
        return find_width(self.shape)

    def keeps_order_before(self, follower: str) -> bool:
        """Return whether rendered values keep their order when `follower` is appended to each."""
        return not follower or self.width is not None

    def narrowed(self, delimiters: AbstractSet[str]) -> PartFormat:  # noqa: ARG002 # some use it
        """Return the format to use in a template with these delimiters.

        Raises PartRefused if such a template cannot use the format. A format of fixed layout
        may contain a delimiter, such as the # of a typed id: it cannot be taken for the end of
        the part.
        """
        return self


@dataclass(frozen=True, slots=True)
class TextFormat(PartFormat):
    """Text as it is, of any length or of exactly `length` characters."""

    length: int | None = None
    delimiters: frozenset[str] = frozenset()

    @property
    def shape(self) -> Shape:
        alphabet = Alphabet(self.delimiters, is_inverted=True) if self.delimiters else ANYTHING
        return Open(alphabet) if self.length is None else Fixed((alphabet,) * self.length)

    def render(self, value: object) -> str:
        if not isinstance(value, str):
            raise PartRefused("must be a str", f"Give a str, not {_name_type(value)}.")
        if not value:
            raise PartRefused("must not be empty", "Give at least one character.")
        for delimiter in self.delimiters:
            if delimiter in value:
                raise PartRefused(
                    f"must not contain {delimiter!r}, which separates the parts",
                    "Remove it from the value, or use another delimiter in the template.",
                )
        if self.length is not None and len(value) != self.length:
            raise PartRefused(
                f"must have exactly {self.length} characters, not {len(value)}",
                "Give that many, or declare the template without a width.",
            )
        if not is_encodable(value):
            raise PartRefused("must be valid Unicode", "Remove the unpaired surrogate.")
        return value

    def read(self, text: str) -> str | None:
        return text if is_encodable(text) else None

    def narrowed(self, delimiters: AbstractSet[str]) -> TextFormat:
        return TextFormat(self.length, self.delimiters | delimiters)


@dataclass(frozen=True, slots=True)
class ChoiceFormat(PartFormat):
    """One of a set of values, each with its text: the members of an enum, or literals."""

    kind: type
    texts: Mapping[str, object]
    _texts_by_value: Mapping[object, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_value = {value: text for text, value in self.texts.items()}
        object.__setattr__(self, "_texts_by_value", by_value)

    @property
    def shape(self) -> OneOf:
        return OneOf(tuple(self.texts))

    def render(self, value: object) -> str:
        text = self._texts_by_value.get(value) if isinstance(value, self.kind) else None
        if text is None:
            listed = [*self.texts][:_MAX_LISTED]
            more = ", …" if len(listed) < len(self.texts) else ""
            raise PartRefused(f"must be one of {', '.join(listed)}{more}", "Give one of those.")
        return text

    def read(self, text: str) -> object | None:
        return self.texts.get(text)

    def keeps_order_before(self, follower: str) -> bool:
        followed = sorted(text + follower for text in self.texts)
        return followed == [text + follower for text in sorted(self.texts)]

    def narrowed(self, delimiters: AbstractSet[str]) -> ChoiceFormat:
        for text in self.texts:
            for delimiter in delimiters:
                if delimiter in text:
                    raise PartRefused(
                        f"has the choice {text!r}, which contains the delimiter {delimiter!r}",
                        "Use another delimiter in the template.",
                    )
        return self


@dataclass(frozen=True, slots=True)
class IntFormat(PartFormat):
    """Non-negative integers of up to `digits` digits, with leading zeros."""

    always_reads = True

    digits: int
    _limit: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_limit", 10**self.digits)

    @property
    def shape(self) -> Fixed:
        return shape_of_example("0" * self.digits, DIGIT)

    def render(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            raise PartRefused("must be an int", f"Give an int, not {_name_type(value)}.")
        if not 0 <= value < self._limit:
            raise PartRefused(
                f"must be non-negative with at most {self.digits} digits",
                "Otherwise text order would differ from numeric order. Declare more digits.",
            )
        return int.__repr__(value).zfill(self.digits)

    def read(self, text: str) -> int:
        return int(text)


@dataclass(frozen=True, slots=True)
class DecimalFormat(PartFormat):
    """Non-negative Decimals with `digits` digits before the point and `scale` after it."""

    digits: int
    scale: int
    _spec: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        width = self.digits + (self.scale + 1 if self.scale else 0)
        object.__setattr__(self, "_spec", f"0{width}.{self.scale}f")

    @property
    def shape(self) -> Fixed:
        return shape_of_example(format(Decimal(), self._spec), DIGIT)

    def render(self, value: object) -> str:
        if not isinstance(value, Decimal):
            raise PartRefused("must be a Decimal", f"Give a Decimal, not {_name_type(value)}.")
        # Check the limits before formatting: written out, 1E+999999 would have a million digits.
        if not value.is_finite() or value < 0 or (value and value.adjusted() >= self.digits):
            raise PartRefused(
                f"must be non-negative with at most {self.digits} digits before the point",
                "Otherwise text order would differ from numeric order. Declare more digits.",
            )
        # The caller's decimal context has no effect: none of these calls round to its precision.
        text = format(value.copy_abs(), self._spec)
        if Decimal(text) != value:
            raise PartRefused(
                f"must have at most {self.scale} digits after the point",
                "Round it first; keys are not rounded.",
            )
        return text

    def read(self, text: str) -> Decimal:
        return Decimal(text)


@dataclass(frozen=True, slots=True)
class DateFormat(PartFormat):
    """Dates, as in 2024-01-01."""

    @property
    def shape(self) -> Fixed:
        return shape_of_example(_DATE, DIGIT)

    def render(self, value: object) -> str:
        # In Python a datetime is a date, but its time of day would be lost.
        if not isinstance(value, date) or isinstance(value, datetime):
            raise PartRefused("must be a date", f"Give a date, not {_name_type(value)}.")
        return value.isoformat()

    def read(self, text: str) -> date | None:
        try:
            return date.fromisoformat(text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class DatetimeFormat(PartFormat):
    """Datetimes in UTC, always with microseconds, as in 2024-01-01T00:00:00.000000Z."""

    @property
    def shape(self) -> Fixed:
        return shape_of_example(_DATETIME, DIGIT)

    def render(self, value: object) -> str:
        if not isinstance(value, datetime):
            raise PartRefused("must be a datetime", f"Give a datetime, not {_name_type(value)}.")
        if value.utcoffset() is None:
            raise PartRefused("must have a time zone", "Give one, such as tzinfo=UTC.")
        try:
            in_utc = value.astimezone(UTC)
        except OverflowError:
            raise PartRefused(
                "must be in the years 1 to 9999 in UTC", "Give a time in that range."
            ) from None
        return f"{in_utc.isoformat(timespec='microseconds')[:-_OFFSET_LENGTH]}Z"

    def read(self, text: str) -> datetime | None:
        # Newer versions of Python read 24:00 as midnight of the next day.
        if text[_HOURS] == "24":
            return None
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class UlidFormat(PartFormat):
    """Typed ids, with their prefix."""

    always_reads = True

    kind: type[Ulid]

    @property
    def shape(self) -> Fixed:
        return join((shape_of_text(self.kind.head), _ULID))

    def render(self, value: object) -> str:
        if type(value) is not self.kind:
            name = self.kind.__name__
            raise PartRefused(
                f"must be of type {name}", f"Give {name}(...), not {_name_type(value)}."
            )
        return value

    def read(self, text: str) -> Ulid:
        # A text of this shape is always a valid id: skip the checks of the constructor.
        return str.__new__(self.kind, text)


@dataclass(frozen=True, slots=True)
class UuidFormat(PartFormat):
    """UUIDs, in lower case with hyphens."""

    @property
    def shape(self) -> Fixed:
        return shape_of_example(_UUID, HEXADECIMAL)

    def render(self, value: object) -> str:
        if not isinstance(value, UUID):
            raise PartRefused("must be a UUID", f"Give a UUID, not {_name_type(value)}.")
        return str(value)

    def read(self, text: str) -> UUID:
        return UUID(text)


@dataclass(frozen=True, slots=True)
class ConvertedFormat(PartFormat):
    """Values of any type, converted to and from those of another format.

    The order of keys is that of the converted values.
    """

    inner: PartFormat
    convert: Callable[[Any], Any]
    restore: Callable[[Any], Any]

    @property
    def shape(self) -> Shape:
        return self.inner.shape

    def render(self, value: object) -> str:
        try:
            plain = self.convert(value)
        except CONVERSION_ERRORS as error:
            raise PartRefused("must be a value that its codec can encode", f"{error}.") from None
        return self.inner.render(plain)

    def read(self, text: str) -> object | None:
        plain = self.inner.read(text)
        try:
            return None if plain is None else self.restore(plain)
        except CONVERSION_ERRORS:
            return None

    def keeps_order_before(self, follower: str) -> bool:
        return self.inner.keeps_order_before(follower)

    def narrowed(self, delimiters: AbstractSet[str]) -> ConvertedFormat:
        return replace(self, inner=self.inner.narrowed(delimiters))


def _name_type(value: object) -> str:
    return type(value).__name__
