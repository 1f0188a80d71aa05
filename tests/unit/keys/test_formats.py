"""The text of every type that may be a part of a key, and the values and types that are refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, localcontext
from enum import Enum, IntEnum, IntFlag, StrEnum
from typing import Annotated, Any, Literal, NewType, Optional, Union
from uuid import UUID

import pytest

from keyfold.errors import KeyTemplateInvalid
from keyfold.keys import PartFormat, PartRefused, Ulid, format_for

Name = NewType("Name", str)
LineNumber = NewType("LineNumber", Annotated[int, "one to 999"])  # pyright: ignore[reportGeneralTypeIssues] # pydantic accepts it


class OrderId(Ulid, prefix="O"): ...


class RewardId(Ulid, prefix="R"): ...


class Currency(StrEnum):
    EUR = "EUR"
    USD = "USD"


class Status(Enum):
    OPEN = "open"
    CLOSED = "closed"


class Legacy(str, Enum):  # noqa: UP042 # much code has this form
    RED = "red"


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Mixed(Enum):
    ONE = 1
    TWO = "two"


class Rights(IntFlag):
    READ = 1
    WRITE = 2


class WithEmpty(StrEnum):
    NONE = ""


class Nothing(Enum):
    pass


ULID = "01JZ10H7X367VB2NF4YQ973DHW"
ANY_UUID = UUID("550e8400-e29b-41d4-a716-446655440000")
TOKYO = timezone(timedelta(hours=9))
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def make(annotation: object, spec: str = "") -> PartFormat:
    return format_for(annotation, spec, field="field", owner="Thing")


RENDERINGS: list[tuple[object, str, object, str]] = [
    (str, "", "a b/é😀", "a b/é😀"),
    (str, "3", "EUR", "EUR"),
    (str, "03", "EUR", "EUR"),
    (int, "03", 7, "007"),
    (int, "3", 999, "999"),
    (int, "020", 10**20 - 1, "9" * 20),
    (date, "", date(2024, 2, 29), "2024-02-29"),
    (date, "", date(1, 1, 1), "0001-01-01"),
    (datetime, "", NOON, "2024-01-01T12:00:00.000000Z"),
    (datetime, "", NOON.replace(microsecond=1), "2024-01-01T12:00:00.000001Z"),
    (datetime, "", datetime(2024, 1, 1, 5, tzinfo=TOKYO), "2023-12-31T20:00:00.000000Z"),
    (datetime, "", datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
    (OrderId, "", OrderId(f"O#{ULID}"), f"O#{ULID}"),
    (Ulid, "", Ulid(ULID), ULID),
    (UUID, "", ANY_UUID, "550e8400-e29b-41d4-a716-446655440000"),
    (Currency, "", Currency.EUR, "EUR"),
    (Status, "", Status.OPEN, "open"),
    (Legacy, "", Legacy.RED, "red"),
    (Level, "02", Level.LOW, "01"),
    (Level, "2", Level.HIGH, "10"),
    (Literal["order", "line"], "", "order", "order"),
    (Literal[Currency.EUR], "", Currency.EUR, "EUR"),
    (Literal["order", None], "", "order", "order"),  # noqa: PYI061 # much code has this form
    (Decimal, "12.2", Decimal("12.5"), "000000000012.50"),
    (Decimal, "012.2", Decimal("12.5"), "000000000012.50"),
    (Decimal, "3.0", Decimal(7), "007"),
    (Decimal, "4.2", Decimal("1.500"), "0001.50"),
    (Decimal, "4.2", Decimal("1E+3"), "1000.00"),
    (Decimal, "4.2", Decimal("-0.000"), "0000.00"),
    (Decimal, "4.2", Decimal("0E+99"), "0000.00"),
    (Name, "", "x", "x"),
    (LineNumber, "03", 1, "001"),
    (Annotated[Name, "a name"], "", "x", "x"),
    (Optional[str], "", "x", "x"),  # noqa: UP045 # much code has this form
    (Union[None, int], "03", 1, "001"),  # noqa: UP007 # much code has this form
    (Annotated[OrderId | None, "x"], "", OrderId(f"O#{ULID}"), f"O#{ULID}"),
    (Literal["a"] | None, "", "a", "a"),
]


@pytest.mark.parametrize(("annotation", "spec", "value", "text"), RENDERINGS)
def test_a_value_round_trips_through_its_text(
    annotation: object, spec: str, value: object, text: str
) -> None:
    made = make(annotation, spec)
    assert made.render(value) == text
    assert made.parse(text) == value
    assert made.accepts(value)
    assert made.width in (None, len(text))


def test_a_datetime_comes_back_in_utc() -> None:
    back = make(datetime).parse("2023-12-31T20:00:00.000000Z")
    assert isinstance(back, datetime)
    assert back.tzinfo is UTC


def test_a_typed_id_and_an_enum_member_come_back_with_their_types() -> None:
    assert type(make(OrderId).parse(f"O#{ULID}")) is OrderId
    assert make(Currency).parse("EUR") is Currency.EUR
    assert make(Level, "02").parse("10") is Level.HIGH


@pytest.mark.parametrize(
    ("annotation", "spec", "text"),
    [
        (str, "", ""),
        (str, "", "\ud800"),
        (str, "3", "ab"),
        (str, "3", "abcd"),
        (int, "03", "7"),
        (int, "03", "0007"),
        (int, "03", "-07"),
        (int, "03", "\u0660\u0660\u0667"),
        (int, "03", "007\n"),
        (date, "", "2024-02-30"),
        (date, "", "20240229"),
        (date, "", "0000-01-01"),
        (date, "", "2024-W01-1"),
        (datetime, "", "2024-01-01T12:00:00Z"),
        (datetime, "", "2024-01-01T12:00:00.000000"),
        (datetime, "", "2024-01-01T12:00:00.000000+00:00"),
        (datetime, "", "2024-01-01 12:00:00.000000Z"),
        (datetime, "", "2024-01-01T24:00:00.000000Z"),
        (datetime, "", "2024-01-01T23:59:60.000000Z"),
        (OrderId, "", ULID),
        (OrderId, "", f"O#{ULID.lower()}"),
        (OrderId, "", f"R#{ULID}"),
        (OrderId, "", f"O#8{ULID[1:]}"),
        (OrderId, "", f"O#{ULID[:-1]}I"),
        (UUID, "", str(ANY_UUID).upper()),
        (UUID, "", ANY_UUID.hex),
        (Currency, "", "GBP"),
        (Currency, "", "eur"),
        (Level, "02", "02"),
        (Level, "02", "1"),
        (Literal["a"], "", "b"),
        (Decimal, "4.2", "1.50"),
        (Decimal, "4.2", "00001.5"),
        (Decimal, "4.2", "-001.50"),
    ],
)
def test_text_that_no_value_renders_to_is_not_parsed(
    annotation: object, spec: str, text: str
) -> None:
    assert make(annotation, spec).parse(text) is None


@pytest.mark.parametrize(
    ("annotation", "spec", "value", "fact"),
    [
        (str, "", "", "must not be empty"),
        (str, "", 5, "must be a str"),
        (str, "", None, "must be a str"),
        (str, "", "\ud800", "must be valid Unicode"),
        (str, "3", "abcd", "must have exactly 3 characters, not 4"),
        (int, "03", 1000, "must be non-negative with at most 3 digits"),
        (int, "03", -1, "must be non-negative with at most 3 digits"),
        (int, "03", True, "must be an int"),
        (int, "03", "7", "must be an int"),
        (int, "03", 7.0, "must be an int"),
        (date, "", NOON, "must be a date"),
        (date, "", "2024-01-01", "must be a date"),
        (datetime, "", date(2024, 1, 1), "must be a datetime"),
        (datetime, "", NOON.replace(tzinfo=None), "must have a time zone"),
        (datetime, "", datetime.min.replace(tzinfo=TOKYO), "must be in the years 1 to 9999 in UTC"),
        (OrderId, "", f"O#{ULID}", "must be of type OrderId"),
        (OrderId, "", RewardId(f"R#{ULID}"), "must be of type OrderId"),
        (UUID, "", str(ANY_UUID), "must be a UUID"),
        (Status, "", "open", "must be one of open, closed"),
        (Level, "02", 1, "must be one of 01, 10"),
        (Literal["a"], "", "b", "must be one of a"),
        (Literal["a"], "", ["a"], "must be one of a"),
        (Decimal, "4.2", 1, "must be a Decimal"),
        (Decimal, "4.2", Decimal("1.005"), "must have at most 2 digits after the point"),
        (Decimal, "4.2", Decimal("9999.999"), "must have at most 2 digits after the point"),
        (Decimal, "4.2", Decimal("1E-999999"), "must have at most 2 digits after the point"),
        (Decimal, "4.2", Decimal(10000), "must be non-negative with at most 4 digits before"),
        (Decimal, "4.2", Decimal("1E+999999"), "must be non-negative with at most 4 digits before"),
        (Decimal, "4.2", Decimal("-0.01"), "must be non-negative with at most 4 digits before"),
        (Decimal, "4.2", Decimal("NaN"), "must be non-negative with at most 4 digits before"),
        (Decimal, "4.2", Decimal("sNaN"), "must be non-negative with at most 4 digits before"),
        (Decimal, "4.2", Decimal("Infinity"), "must be non-negative with at most 4 digits before"),
    ],
)
def test_a_value_without_a_text_is_refused(
    annotation: object, spec: str, value: object, fact: str
) -> None:
    made = make(annotation, spec)
    with pytest.raises(PartRefused) as refused:
        made.render(value)
    assert refused.value.fact.startswith(fact)
    assert not made.accepts(value)


def test_a_long_list_of_choices_is_cut_short() -> None:
    many = StrEnum("Many", [f"C{number:02}" for number in range(50)])
    with pytest.raises(PartRefused) as refused:
        make(many).render("x")
    assert refused.value.fact.endswith("c09, …")


def test_the_callers_precision_does_not_round_a_key() -> None:
    with localcontext() as context:
        context.prec = 3
        assert make(Decimal, "12.2").render(Decimal("123456789.01")) == "000123456789.01"


@pytest.mark.parametrize(
    ("annotation", "spec", "fact"),
    [
        (int, "", "'{field}' has an int without a width"),
        (int, "x", "'{field:x}' has 'x' as a width"),
        (int, "0", "'{field:0}' has '0' as a width"),
        (int, "03d", "'{field:03d}' has '03d' as a width"),
        (int, ">3", "'{field:>3}' has '>3' as a width"),
        (int, "1025", "'{field:1025}' has '1025' as a width"),
        (str, "3.2", "'{field:3.2}' has '3.2' as a width"),
        (Decimal, "", "'{field}' has a Decimal without a width"),
        (Decimal, "12", "'{field:12}' has '12' as the width of a Decimal"),
        (Decimal, "1000.25", "'{field:1000.25}' has '1000.25' as the width of a Decimal"),
        (date, "10", "'{field:10}' has the width '10' for type date"),
        (OrderId, "28", "'{field:28}' has the width '28' for type OrderId"),
        (bool, "", "'{field}' has a bool"),
        (bool, "01", "'{field:01}' has a bool"),
        (float, "", "'{field}' has a float"),
        (bytes, "", "'{field}' has the type bytes, which cannot be a part of a key"),
        (time, "", "'{field}' has the type time, which cannot be a part of a key"),
        (list[str], "", "'{field}' has the type list[str], which cannot be a part of a key"),
        (str | int, "", "'{field}' has the type str | int, which cannot be a part of a key"),
        (Any, "", "'{field}' has the type Any, which cannot be a part of a key"),
        (None, "", "'{field}' has the type None, which cannot be a part of a key"),
        ("str", "", "'{field}' has the type str, which cannot be a part of a key"),
        (Mixed, "", "'{field}' has the enum Mixed, whose values are not all strings"),
        (Level, "", "'{field}' has the enum Level, whose values are not all strings"),
        (Level, "1", "'{field:1}' has the enum Level, whose values are not all numbers"),
        (Status, "3", "'{field:3}' has the enum Status, whose values are not all numbers"),
        (Rights, "2", "'{field:2}' has the enum Rights, whose values are not all numbers"),
        (WithEmpty, "", "'{field}' has the choice ''"),
        (Nothing, "", "'{field}' has a type without any values"),
        (Literal[1, 2], "", "'{field}' has the type typing.Literal[1, 2]"),
        (Literal["a"], "3", "'{field:3}' has the type typing.Literal['a']"),
        (Literal[""], "", "'{field}' has the choice ''"),
    ],
)
def test_a_type_that_cannot_be_a_part_is_refused(annotation: object, spec: str, fact: str) -> None:
    with pytest.raises(KeyTemplateInvalid) as refused:
        make(annotation, spec)
    assert str(refused.value).startswith(f"Thing: key template {fact}")
    assert str(refused.value).endswith(" [key-template-invalid]")


def test_a_type_alias_is_resolved() -> None:
    class Alias:
        """What `type Alias = ...` creates, in Python versions that have it."""

        __value__ = Annotated[int, "x"]

    assert make(Alias(), "03").render(1) == "001"
