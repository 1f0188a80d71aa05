"""Types of fields: what is stored, what is read back, and what is refused at the declaration."""

from __future__ import annotations

import re
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, localcontext
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Network
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, NotRequired, TypeVar

import pytest
from pydantic import (
    UUID4,
    AfterValidator,
    AnyUrl,
    AwareDatetime,
    Base64Str,
    BaseModel,
    ConfigDict,
    Discriminator,
    EmailStr,
    Field,
    FilePath,
    FutureDate,
    FutureDatetime,
    HttpUrl,
    ImportString,
    InstanceOf,
    IPvAnyAddress,
    Json,
    JsonValue,
    NaiveDatetime,
    NewPath,
    PastDate,
    RootModel,
    Tag,
    conint,
    constr,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType, TypedDict

from keyfold.errors import DeclarationInvalid, PathInvalid
from keyfold.keys import Ulid
from keyfold.model import Entity, Key, Table, UnixTime, attr, part

T = TypeVar("T")
K = TypeVar("K", bound=date)


class OrderId(Ulid, prefix="ord", separator="_"): ...


class Colour(Enum):
    RED = "red"
    DARK = (0, 0)
    HALF = 0.5


@dataclass(frozen=True)
class Leg:
    length: timedelta
    name: str | None = None
    tags: set[str] = field(default_factory=set[str])


@dataclass
class Chair(Generic[T]):
    back: T
    legs: list[Leg]
    next: Chair[T] | None = None


@dataclass(slots=True)
class Slotted:
    x: int


@pydantic_dataclass
class Named:
    name: str = attr("n")
    at: UnixTime = attr("t")


class Spot(NamedTuple):
    x: int
    tag: str | None = None


class Options(TypedDict):
    size: int
    note: str | None
    tags: set[str]
    extra: NotRequired[str | None]
    marks: NotRequired[set[int]]


class Free(TypedDict):
    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    size: int


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    lives: int = 1


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: T | None = None


class Seconds(RootModel[timedelta]): ...


Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))
Tree = TypeAliasType("Tree", dict[str, "Tree"] | timedelta)
Wait = NewType("Wait", timedelta)
Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


def tag_of(value: Any) -> str:
    return getattr(value, "kind", None) or value["kind"]


Tagged = Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(tag_of)]
DAY = timedelta(days=1)

ROUND_TRIPS: list[tuple[Any, Any, Any]] = [
    (float, -0.0, {"N": "0"}),
    (float, 5e-130, {"N": "0." + "0" * 129 + "5"}),
    (timedelta, timedelta.max, {"N": "86399999999999.999999"}),
    (timedelta, timedelta.min, {"N": "-86399999913600"}),
    (timedelta | None, DAY, {"N": "86400"}),
    (timedelta | str, DAY, {"N": "86400"}),
    (timedelta | str, "x", {"S": "x"}),
    (UnixTime | str, datetime(1970, 1, 1, tzinfo=UTC), {"N": "0"}),
    (float | str, 0.5, {"N": "0.5"}),
    (list[timedelta] | timedelta, [DAY], {"L": [{"N": "86400"}]}),
    (list[Leg] | None, [Leg(DAY)], {"L": [{"M": {"length": {"N": "86400"}}}]}),
    (Leg | Slotted, Slotted(1), {"M": {"x": {"N": "1"}}}),
    (IPv4Address | IPv6Address, IPv6Address("::1"), {"S": "::1"}),
    (IPv4Address | int, IPv4Address("10.0.0.1"), {"S": "10.0.0.1"}),
    (Wait, DAY, {"N": "86400"}),
    (Seconds, Seconds(DAY), {"N": "86400"}),
    (Pair[timedelta], (DAY, DAY), {"L": [{"N": "86400"}, {"N": "86400"}]}),
    (JsonValue, {"a": [1, 0.5, None, True, "x", {}]},
     {"M": {"a": {"L": [{"N": "1"}, {"N": "0.5"}, {"NULL": True}, {"BOOL": True}, {"S": "x"},
                        {"M": {}}]}}}),
    (dict[str, JsonValue], {"a": 0.5}, {"M": {"a": {"N": "0.5"}}}),
    (Tree, {"a": {"b": DAY}}, {"M": {"a": {"M": {"b": {"N": "86400"}}}}}),
    (AnyUrl, AnyUrl("ftp://a.b/c?d=e#f"), {"S": "ftp://a.b/c?d=e#f"}),
    (HttpUrl | None, HttpUrl("https://a.b"), {"S": "https://a.b/"}),
    (list[HttpUrl], [HttpUrl("https://a.b/c")], {"L": [{"S": "https://a.b/c"}]}),
    (dict[HttpUrl, int], {HttpUrl("https://a.b/"): 1}, {"M": {"https://a.b/": {"N": "1"}}}),
    (IPvAnyAddress, IPv6Address("::1"), {"S": "::1"}),
    (IPv4Interface, IPv4Interface("10.0.0.1/8"), {"S": "10.0.0.1/8"}),
    (set[IPv6Network], {IPv6Network("::/8")}, {"SS": ["::/8"]}),
    (PurePosixPath, PurePosixPath("a/b"), {"S": "a/b"}),
    (AwareDatetime, datetime(2024, 1, 1, tzinfo=timezone(DAY / 12)),
     {"S": "2023-12-31T22:00:00.000000Z"}),
    (NaiveDatetime, datetime(2024, 1, 1, 1, 2, 3, 4), {"S": "2024-01-01T01:02:03.000004"}),  # noqa: DTZ001 - the point
    (PastDate, date(2024, 1, 1), {"S": "2024-01-01"}),
    (time, time(1, tzinfo=UTC), {"S": "01:00:00+00:00"}),
    (Base64Str, "aGk=", {"S": "aGk="}),
    (Json, '{"a": 1}', {"S": '{"a":1}'}),
    (Json[Leg] | None, '{"length": 60}', {"S": '{"length":"PT1M","name":null,"tags":[]}'}),
    (ImportString, "re.compile", {"S": "re.compile"}),
    (conint(ge=1), 5, {"N": "5"}),
    (constr(max_length=3), "abc", {"S": "abc"}),
    (Annotated[str, AfterValidator(str.upper)], "abc", {"S": "ABC"}),
    (UUID4, "7f5b1c1e-7d3b-4d5e-8c1a-2b3c4d5e6f70",
     {"S": "7f5b1c1e-7d3b-4d5e-8c1a-2b3c4d5e6f70"}),
    (Colour, Colour.DARK, {"L": [{"N": "0"}, {"N": "0"}]}),
    (Colour, Colour.HALF, {"N": "0.5"}),
    (dict[str, Colour], {"a": Colour.RED}, {"M": {"a": {"S": "red"}}}),
    (Literal[Colour.RED, "x"], Colour.RED, {"S": "red"}),
    (Literal[True, 1], True, {"BOOL": True}),
    (Literal[True, 1], 1, {"N": "1"}),
    (deque[Decimal], deque([Decimal("0.5")]), {"L": [{"N": "0.5"}]}),
    (Sequence[timedelta], [DAY], {"L": [{"N": "86400"}]}),
    (Mapping[str, timedelta], {"a": DAY}, {"M": {"a": {"N": "86400"}}}),
    (AbstractSet[int], frozenset({1}), {"NS": ["1"]}),
    (set[bool], {True}, {"L": [{"BOOL": True}]}),
    (set[int | str], {1, "a"}, {"L": [{"N": "1"}, {"S": "a"}]}),
    (set[Fraction], {Fraction(1, 2)}, {"SS": ["1/2"]}),
    (set[timedelta], {DAY}, {"NS": ["86400"]}),
    (list[set[str]], [set(), {"a"}], {"L": [{"L": []}, {"SS": ["a"]}]}),
    (dict[str, set[int] | None], {"a": set(), "b": None},
     {"M": {"a": {"L": []}, "b": {"NULL": True}}}),
    (tuple[set[str], int], (set[str](), 1), {"L": [{"L": []}, {"N": "1"}]}),
    (tuple[()], (), {"L": []}),
    (tuple, (1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
    (list, [1, "a"], {"L": [{"N": "1"}, {"S": "a"}]}),
    (dict, {"a": 1}, {"M": {"a": {"N": "1"}}}),
    (set, {1, "a"}, {"L": [{"N": "1"}, {"S": "a"}]}),
    (object, [1], {"L": [{"N": "1"}]}),
    (dict[date, int], {date(2024, 1, 1): 1}, {"M": {"2024-01-01": {"N": "1"}}}),
    (dict[timedelta, int], {DAY: 1}, {"M": {"86400": {"N": "1"}}}),
    (dict[float, int], {0.5: 1}, {"M": {"0.5": {"N": "1"}}}),
    (dict[OrderId, int], {OrderId("ord_01JZ10H7X367VB2NF4YQ973DHW"): 1},
     {"M": {"ord_01JZ10H7X367VB2NF4YQ973DHW": {"N": "1"}}}),
    (Leg, Leg(DAY, "left", {"a"}),
     {"M": {"length": {"N": "86400"}, "name": {"S": "left"}, "tags": {"SS": ["a"]}}}),
    (Chair[timedelta], Chair(DAY, [Leg(DAY)], Chair(DAY, [])),
     {"M": {"back": {"N": "86400"}, "legs": {"L": [{"M": {"length": {"N": "86400"}}}]},
            "next": {"M": {"back": {"N": "86400"}, "legs": {"L": []}}}}}),
    (Slotted, Slotted(1), {"M": {"x": {"N": "1"}}}),
    (Named, Named(name="a", at=datetime(1970, 1, 1, tzinfo=UTC)),
     {"M": {"n": {"S": "a"}, "t": {"N": "0"}}}),
    (Spot, Spot(1), {"M": {"x": {"N": "1"}}}),
    (list[Spot], [Spot(1, "a")], {"L": [{"M": {"x": {"N": "1"}, "tag": {"S": "a"}}}]}),
    (Options, {"size": 1, "note": None, "tags": set()}, {"M": {"size": {"N": "1"}}}),
    (Options, {"size": 1, "note": "a", "tags": {"b"}, "extra": None, "marks": set()},
     {"M": {"size": {"N": "1"}, "note": {"S": "a"}, "tags": {"SS": ["b"]},
            "extra": {"NULL": True}, "marks": {"L": []}}}),
    (Free, {"size": 1, "a": "b"}, {"M": {"size": {"N": "1"}, "a": {"S": "b"}}}),
    (Options | str, "x", {"S": "x"}),
    (Pet, Dog(), {"M": {"kind": {"S": "dog"}, "lives": {"N": "1"}}}),
    (list[Tagged], [Dog(), Cat()],
     {"L": [{"M": {"kind": {"S": "dog"}, "lives": {"N": "1"}}},
            {"M": {"kind": {"S": "cat"}, "lives": {"N": "9"}}}]}),
    (Page[timedelta], Page(items=[DAY], next=None), {"M": {"items": {"L": [{"N": "86400"}]}}}),
    (Page[Leg], Page(items=[Leg(DAY)]),
     {"M": {"items": {"L": [{"M": {"length": {"N": "86400"}}}]}}}),
]  # fmt: skip


def declare(kind: Any, **options: Any) -> Any:
    table = Table("Things", key=Key("pk"))
    space = {"__annotations__": {"id": str, "value": kind}, "id": part(), **options}
    make: Any = type(Entity)
    return make("Thing", (Entity,), space, table=table, key="THING#{id}")


@pytest.mark.parametrize(("kind", "given", "stored"), ROUND_TRIPS)
def test_a_value_is_stored_by_its_type_and_read_back(kind: Any, given: Any, stored: Any) -> None:
    thing = declare(kind)
    entity = thing(id="1", value=given)
    item = entity.put().item
    assert item.get("value") == stored
    found = thing.keyfold_schema().decode(item)
    assert found == entity
    assert type(found.value) is type(entity.value)
    if stored is not None:
        assert thing.f.value.eq(entity.value) == thing.f.value.eq(found.value)


@pytest.mark.parametrize(("kind", "given", "stored"), ROUND_TRIPS)
def test_no_type_depends_on_the_decimal_context(kind: Any, given: Any, stored: Any) -> None:
    thing = declare(kind)
    with localcontext(prec=3):
        assert thing(id="1", value=given).put().item.get("value") == stored


class Opaque:
    """A class that pydantic does not know."""


@dataclass
class Initialised:
    x: int
    scale: InitVar[int]


REFUSED: list[tuple[Any, str]] = [
    (FutureDate, "a FutureDate is valid only until its time has come"),
    (FutureDatetime, "Use AwareDatetime, and check it where the value comes in"),
    (FilePath, "whether a file exists depends on the machine"),
    (list[NewPath], "Use Path"),
    (OrderedDict[str, int], "DynamoDB does not keep the order of a map"),
    (re.Pattern[str], "the text of a pattern does not have its flags"),
    (Callable[[], int], "pydantic cannot serialise"),
    (Iterable[int], "pydantic cannot serialise"),
    (Generator[int, None, None], "pydantic cannot serialise"),
    (type[int], "pydantic cannot serialise"),
    (Opaque, "pydantic cannot serialise Opaque, so it cannot be stored. Add a field_serializer"),
    (list[Opaque | None], "pydantic cannot serialise Opaque"),
    (dict[str, Opaque], "pydantic cannot serialise Opaque"),
    (InstanceOf[Opaque], "which are not accepted where only an instance is"),
    (list[InstanceOf[Initialised]], "Use the type without InstanceOf"),
    (dict[bytes, int], "bytes has no single text for each value"),
    (dict[tuple[int, int], int], "the keys of a map are attribute names"),
    (dict[int | str, int], "int | str has no single text"),
    (dict[str | None, int], "so None cannot be one"),
    (Initialised, "Initialised.scale is an InitVar"),
    (Options | dict[str, int], "a TypedDict cannot be told apart from another map"),
    (Enum("Odd", {"A": Opaque()}), "Odd.A cannot be stored"),
    (Literal["red", Colour.RED], "cannot be told apart once stored"),
    (timedelta | int, "timedelta could be read back as int"),
    (HttpUrl | str, "cannot be told apart once stored"),
    (Path | IPv4Address, "cannot be told apart once stored"),
    (list[date | str], "cannot be told apart once stored"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), REFUSED)
def test_a_type_that_cannot_be_stored_is_refused_by_the_declaration(kind: Any, text: str) -> None:
    with pytest.raises(DeclarationInvalid) as caught:
        declare(kind, model_config=ConfigDict(arbitrary_types_allowed=True))
    assert str(caught.value).startswith("Thing.value: ")
    assert text in str(caught.value)


def test_the_field_of_a_nested_model_is_named() -> None:
    class Inner(BaseModel):
        due: FutureDate

    for _ in range(2):  # nothing half-read is kept
        with pytest.raises(DeclarationInvalid, match=r"Thing.value: Inner.due: a FutureDate is"):
            declare(list[Inner])


def test_all_problems_are_reported_at_once() -> None:
    table = Table("Things", key=Key("pk"))
    with pytest.raises(DeclarationInvalid) as caught:

        class Bad(Entity, table=table, key="{a}", arbitrary_types_allowed=True):  # pyright: ignore[reportUnusedClass]
            a: Opaque
            b: FutureDate

    assert "Bad.a: " in str(caught.value)
    assert "Bad.b: " in str(caught.value)


def test_the_text_of_a_value_is_converted_in_a_condition() -> None:
    thing = declare(HttpUrl)
    assert thing.f.value.eq("https://a.b") == thing.f.value.eq(HttpUrl("https://a.b"))
    with pytest.raises(PathInvalid, match="'a b' is not of its type"):
        thing.f.value.eq("a b")


def test_a_type_variable_without_a_value_is_any() -> None:
    item = declare(Page)(id="1", value=Page[Any](items=[1, "a"])).put().item
    assert item["value"] == {"M": {"items": {"L": [{"N": "1"}, {"S": "a"}]}}}


def test_an_email_address_can_be_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def validate_email(text: str, **options: Any) -> Any:
        return SimpleNamespace(normalized=text.lower(), local_part=text.partition("@")[0])

    def find_version(name: str) -> str:
        return {"email-validator": "2.2.0"}[name]

    # Pydantic checks addresses with a package that need not be installed.
    module = SimpleNamespace(validate_email=validate_email, EmailNotValidError=ValueError)
    monkeypatch.setitem(sys.modules, "email_validator", module)
    monkeypatch.setattr("pydantic.networks.version", find_version)
    monkeypatch.setattr("pydantic.networks.email_validator", module, raising=False)

    class User(Entity, table=Table("Users", key=Key("pk")), key="USER#{email}", unique="other"):
        email: EmailStr = part()
        other: EmailStr | None = None

    user = User(email="Ada@example.com", other="Bob@example.com")
    assert user.create().item["pk"] == {"S": "USER#ada@example.com"}
    assert User.get(email="ADA@example.com").key == {"pk": {"S": "USER#ada@example.com"}}
    assert User.keyfold_schema().decode(user.create().item) == user
