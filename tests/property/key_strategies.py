"""Key templates of every kind, and values for their fields."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any, Literal
from uuid import UUID

from hypothesis import reject
from hypothesis import strategies as st

from keyfold.errors import KeyTemplateInvalid
from keyfold.keys import KeyTemplate, PartFormat, Ulid, format_for


class OrderId(Ulid, prefix="O"): ...


class BillId(Ulid, prefix="b", separator="/#"): ...


class Size(StrEnum):
    LARGE = "l"
    MEDIUM = "m"
    EXTRA = "xl"
    ODD = "x!"


class Level(IntEnum):
    LOW = 1
    MIDDLE = 2
    HIGH = 10


# Delimiters, characters that sort next to them, characters of other formats, the ends of Unicode.
CHARACTERS = "aAbOZ019#/-.!$ \x00é\ud7ff\ue000\U0010ffff"
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def ids(kind: type[Ulid]) -> st.SearchStrategy[Ulid]:
    # Also ids that differ only in their last characters.
    numbers = st.integers(0, 2**128 - 1) | st.integers(0, 40)
    return numbers.map(lambda number: kind(kind.head + spell_number(number)))


def spell_number(number: int) -> str:
    """Encode the number of an id as its definition says."""
    digits = ""
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[digit] + digits
    return digits


def texts(length: int | None = None) -> st.SearchStrategy[str]:
    characters = st.sampled_from(CHARACTERS) | st.characters(exclude_categories=["Cs"])
    return st.text(characters, min_size=length or 1, max_size=length or 5)


@dataclass(frozen=True)
class Kind:
    """A field type, its format spec and its values; `all_values` if there are few."""

    annotation: Any
    spec: str
    values: st.SearchStrategy[Any]
    all_values: tuple[Any, ...] = ()

    @property
    def format(self) -> PartFormat:
        return format_for(self.annotation, self.spec, field="field", owner="Thing")


MOMENTS = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001 # the offset comes after
    datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=OFFSETS,
)

KINDS = {
    "text": Kind(str, "", texts()),
    "three": Kind(str, "3", texts(3)),
    "one": Kind(str, "1", texts(1)),
    "int": Kind(int, "03", st.integers(0, 999)),
    "date": Kind(date, "", st.dates()),
    "datetime": Kind(datetime, "", MOMENTS),
    "order": Kind(OrderId, "", ids(OrderId)),
    "bill": Kind(BillId, "", ids(BillId)),
    "ulid": Kind(Ulid, "", ids(Ulid)),
    "uuid": Kind(UUID, "", st.uuids()),
    "decimal": Kind(Decimal, "4.2", st.decimals(0, 9999, places=2, allow_nan=False)),
    "enum": Kind(Size, "", st.sampled_from(Size)),
    "number": Kind(Level, "02", st.sampled_from(Level)),
    "literal": Kind(Literal["a", "aa", "b"], "", st.sampled_from(["a", "aa", "b"])),
}


@dataclass(frozen=True)
class Plan:
    """A template and the kind of each of its fields."""

    template: KeyTemplate
    kinds: dict[str, Kind]

    def draw_value(self, data: st.DataObject, name: str) -> Any:
        """Draw a value that the key accepts."""
        [part] = [part for part in self.template.parts if part.name == name]
        return data.draw(self.kinds[name].values.filter(part.format.accepts), label=name)

    def draw_values(self, data: st.DataObject, known: dict[str, Any]) -> dict[str, Any]:
        """Draw the values that are not in `known`."""
        fields = self.template.fields
        return {
            name: known[name] if name in known else self.draw_value(data, name) for name in fields
        }

    def draw_several(self, data: st.DataObject, known: dict[str, Any]) -> list[dict[str, Any]]:
        """Draw the values of a key, and of keys that differ in one field, if it has few values."""
        values = self.draw_values(data, known)
        several = [values]
        for part in self.template.parts:
            others = filter(part.format.accepts, self.kinds[part.name].all_values)
            several += [{**values, part.name: other} for other in others]
        return several


# A few texts that are often equal, share prefixes and contain delimiters.
FEW = [*"a!#\U0010ffff", "aa", "a!", "a#", "#a", "!#", "a#a", "a\U0010ffff", "\U0010ffff" * 2]
TIGHT = [
    Kind(annotation, spec, st.sampled_from(values), tuple(values))
    for annotation, spec, values in [
        (str, "", FEW),
        (str, "1", FEW[:4]),
        (Literal["a", "aa", "a!"], "", ["a", "aa", "a!"]),
    ]
]
LITERALS = st.text(st.sampled_from("AO1#/-"), max_size=3)


@st.composite
def plans(draw: st.DrawFn, min_parts: int = 0) -> Plan:
    """Templates of up to three parts, with and without something between them.

    Half of them have parts that are easily confused with each other.
    """
    count = draw(st.integers(min_parts, 3))
    if draw(st.booleans()):
        kinds_of_parts = st.sampled_from([TIGHT[0], *TIGHT])
        literals = st.sampled_from(["", "#", "!", "a"])
        dividers = st.sampled_from(["#", "!", "#a", "a#", ""])
    else:
        kinds_of_parts = st.sampled_from([*KINDS.values()])
        literals = LITERALS
        dividers = LITERALS | st.sampled_from(["#", "/"])

    text = draw(literals)
    kinds: dict[str, Kind] = {}
    for place in range(count):
        name, kind = f"f{place}", draw(kinds_of_parts)
        kinds[name] = kind
        text += f"{{{name}:{kind.spec}}}" if kind.spec else f"{{{name}}}"
        text += draw(dividers if place < count - 1 else literals)
    types = {name: kind.annotation for name, kind in kinds.items()}
    try:
        return Plan(KeyTemplate.from_types(text, types, owner="Thing"), kinds)
    except KeyTemplateInvalid:
        # Empty, or a text of variable width without a delimiter after it.
        reject()
