"""How values become parts of a key, and back.

Every format here keeps the order of its values: of two values, the lesser has the lesser
text. All but text itself and sets of choices have one width, so that what follows a part
cannot disturb that order.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
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
    mould,
    spell,
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


class PartRefused(ValueError):
    """A format cannot render a value; a template turns this into an error that names both."""

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(fact, advice)
        self.fact, self.advice = fact, advice


class PartFormat(ABC):
    """How the values of one type become the text of a key part, and back."""

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """What the texts look like. Every rendering has this shape."""

    @abstractmethod
    def render(self, value: object) -> str:
        """Return the text of a value; raises PartRefused where it has none."""

    @abstractmethod
    def read(self, text: str) -> object | None:
        """Return the value that `text`, which has the shape, stands for; None for none."""

    def parse(self, text: str) -> object | None:
        """Return the value whose rendering is `text`; None where there is none."""
        return None if re.fullmatch(self.pattern, text) is None else self.read(text)

    def accepts(self, value: object) -> bool:
        """Tell whether `render` takes the value."""
        try:
            self.render(value)
        except PartRefused:
            return False
        return True

    @property
    def pattern(self) -> str:
        """The source of a regular expression for the shape."""
        return to_pattern(self.shape)

    @property
    def width(self) -> int | None:
        """The number of characters of every rendering; None where they differ."""
        return find_width(self.shape)

    def keeps_order_before(self, follower: str) -> bool:
        """Tell whether renderings keep their order when `follower` stands behind each."""
        return not follower or self.width is not None

    def narrowed(self, delimiters: AbstractSet[str]) -> PartFormat:  # noqa: ARG002 # some use it
        """Return the format as a template with these delimiters uses it.

        Raises PartRefused where such a template cannot use it. A part of a type that fixes
        each of its characters, such as the # of a typed id, cannot be taken for another.
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
            raise PartRefused("is a str", f"Give a str, not {_name_type(value)}.")
        if not value:
            raise PartRefused("may not be empty", "Give at least one character.")
        for delimiter in self.delimiters:
            if delimiter in value:
                raise PartRefused(
                    f"may not contain {delimiter!r}, which stands between the parts",
                    "Take it out of the value, or use another delimiter in the template.",
                )
        if self.length is not None and len(value) != self.length:
            raise PartRefused(
                f"has exactly {self.length} characters, not {len(value)}",
                "Give as many, or declare the template without a width.",
            )
        if not is_encodable(value):
            raise PartRefused("is valid Unicode", "Take out the half of a surrogate pair.")
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
            raise PartRefused(f"is one of {', '.join(listed)}{more}", "Give one of those.")
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
    """Non-negative integers of up to `digits` digits, with zeros in front."""

    digits: int
    _limit: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_limit", 10**self.digits)

    @property
    def shape(self) -> Fixed:
        return mould("0" * self.digits, DIGIT)

    def render(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            raise PartRefused("is an int", f"Give an int, not {_name_type(value)}.")
        if not 0 <= value < self._limit:
            raise PartRefused(
                f"is a number from 0 with at most {self.digits} digits",
                "Beyond that, text order would not be the order of numbers. Declare more digits.",
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
        return mould(format(Decimal(), self._spec), DIGIT)

    def render(self, value: object) -> str:
        if not isinstance(value, Decimal):
            raise PartRefused("is a Decimal", f"Give a Decimal, not {_name_type(value)}.")
        # Limits first: written out, 1E+999999 would have a million digits.
        if not value.is_finite() or value < 0 or (value and value.adjusted() >= self.digits):
            raise PartRefused(
                f"is a number from 0 with at most {self.digits} digits before the point",
                "Beyond that, text order would not be the order of numbers. Declare more digits.",
            )
        # The context of the caller has no say: none of these round to its precision.
        text = format(value.copy_abs(), self._spec)
        if Decimal(text) != value:
            raise PartRefused(
                f"has at most {self.scale} digits after the point",
                "Round it first; a key is never rounded.",
            )
        return text

    def read(self, text: str) -> Decimal:
        return Decimal(text)


@dataclass(frozen=True, slots=True)
class DateFormat(PartFormat):
    """Dates, as in 2024-01-01."""

    @property
    def shape(self) -> Fixed:
        return mould(_DATE, DIGIT)

    def render(self, value: object) -> str:
        # A datetime is a date to Python, but its time of day would be lost.
        if not isinstance(value, date) or isinstance(value, datetime):
            raise PartRefused("is a date", f"Give a date, not {_name_type(value)}.")
        return value.isoformat()

    def read(self, text: str) -> date | None:
        try:
            return date.fromisoformat(text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class DatetimeFormat(PartFormat):
    """Moments in UTC, always with microseconds, as in 2024-01-01T00:00:00.000000Z."""

    @property
    def shape(self) -> Fixed:
        return mould(_DATETIME, DIGIT)

    def render(self, value: object) -> str:
        if not isinstance(value, datetime):
            raise PartRefused("is a datetime", f"Give a datetime, not {_name_type(value)}.")
        if value.utcoffset() is None:
            raise PartRefused("has a time zone", "Give one, such as tzinfo=UTC.")
        try:
            moment = value.astimezone(UTC)
        except OverflowError:
            raise PartRefused("lies in the years 1 to 9999 in UTC", "Give such a time.") from None
        return f"{moment.isoformat(timespec='microseconds')[:-_OFFSET_LENGTH]}Z"

    def read(self, text: str) -> datetime | None:
        # Newer versions of Python take 24:00 for the next day's midnight.
        if text[_HOURS] == "24":
            return None
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class UlidFormat(PartFormat):
    """Typed ids, with their prefix."""

    kind: type[Ulid]

    @property
    def shape(self) -> Fixed:
        return join((spell(self.kind.head), _ULID))

    def render(self, value: object) -> str:
        if type(value) is not self.kind:
            name = self.kind.__name__
            raise PartRefused(f"is of type {name}", f"Give {name}(...), not {_name_type(value)}.")
        return value

    def read(self, text: str) -> Ulid:
        # The shape says all there is to check.
        return str.__new__(self.kind, text)


@dataclass(frozen=True, slots=True)
class UuidFormat(PartFormat):
    """UUIDs, in small letters with hyphens."""

    @property
    def shape(self) -> Fixed:
        return mould(_UUID, HEXADECIMAL)

    def render(self, value: object) -> str:
        if not isinstance(value, UUID):
            raise PartRefused("is a UUID", f"Give a UUID, not {_name_type(value)}.")
        return str(value)

    def read(self, text: str) -> UUID:
        return UUID(text)


def _name_type(value: object) -> str:
    return type(value).__name__
