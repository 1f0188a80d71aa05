"""Fields become attribute values, and come back."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, NewType
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field

from keyfold.errors import ValueInvalid
from keyfold.keys import Ulid
from keyfold.model import Entity, Expiry, Index, Key, Table, UnixTime, attr, part
from keyfold.model._tables import Naming
from keyfold.values import Item


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Mood(StrEnum):
    GLAD = "glad"


class NoteId(Ulid, prefix="N"): ...


class Inner(BaseModel):
    city: str = attr("c")
    zip: str | None
    tags: set[str] = set()
    when: UnixTime | None = None


class Square(BaseModel):
    side: int = attr("s")


class Circle(BaseModel):
    radius: int = attr("r")
    side: int | None = None


class Names(RootModel[list[str]]): ...


Euros = NewType("Euros", Decimal)
things = Table("Things", key=Key("pk"))
NOON = datetime(2024, 1, 2, 12, tzinfo=UTC)


class Thing(Entity, table=things, key="THING#{id}"):
    id: str = part()
    value: Any = None
    text: str | None = None
    number: int | None = None
    amount: Decimal | None = None
    euros: Euros | None = None
    flag: bool | None = None
    data: bytes | None = None
    moment: datetime | None = None
    unix: UnixTime | None = None
    expiry: Expiry | None = None
    day: date | None = None
    clock: time | None = None
    uuid: UUID | None = None
    colour: Colour | None = None
    level: Level | None = None
    mood: Mood | None = None
    choice: Literal["a", 1] | None = None
    note: NoteId | None = None
    ratio: float | None = attr(default=None)
    ratios: list[float] | None = attr(default=None)
    loose: int | float | str | None = attr(default=None)
    anything: Any = attr(default=None)
    texts: list[str] | None = None
    moments: list[UnixTime] | None = None
    pair: tuple[str, int] | None = None
    many: tuple[int, ...] | None = None
    words: set[str] | None = None
    numbers: frozenset[Decimal] | None = None
    blobs: set[bytes] | None = None
    days: set[date] | None = None
    floats: set[float] | None = attr(default=None)
    mixed: set[Any] | None = None
    table: dict[str, int] | None = None
    by_number: dict[int, str] | None = None
    by_level: dict[Level, UnixTime] | None = None
    by_flag: dict[bool, str] | None = None
    inner: Inner | None = None
    inners: list[Inner] | None = None
    by_name: dict[str, Inner] | None = None
    shape: Square | Circle | str | None = None
    names: Names | None = None
    short: Annotated[str, Field(max_length=3)] | None = None


SCHEMA = Thing.keyfold_schema()


def stored(**fields: Any) -> Item:
    item = Thing(id="1", **fields).put().item
    assert item.pop("pk") == {"S": "THING#1"}
    return item


PAIRS: list[tuple[str, Any, Any]] = [
    ("text", "", {"S": ""}),
    ("text", "ä", {"S": "ä"}),
    ("number", -7, {"N": "-7"}),
    ("number", 10**37, {"N": "1" + "0" * 37}),
    ("amount", Decimal("0.10"), {"N": "0.1"}),
    ("amount", Decimal("-12345678901234567890.123456789012345678"),
     {"N": "-12345678901234567890.123456789012345678"}),
    ("amount", Decimal("1E+100"), {"N": "1" + "0" * 100}),
    ("amount", Decimal("1E-130"), {"N": "0." + "0" * 129 + "1"}),
    ("amount", Decimal("-0"), {"N": "0"}),
    ("euros", Decimal("9.99"), {"N": "9.99"}),
    ("flag", False, {"BOOL": False}),
    ("data", b"\x00\xff", {"B": b"\x00\xff"}),
    ("moment", NOON, {"S": "2024-01-02T12:00:00.000000Z"}),
    ("moment", datetime(999, 1, 2, tzinfo=UTC), {"S": "0999-01-02T00:00:00.000000Z"}),
    ("moment", NOON.astimezone(timezone(timedelta(hours=5))),
     {"S": "2024-01-02T12:00:00.000000Z"}),
    ("unix", NOON, {"N": "1704196800"}),
    ("unix", NOON + timedelta(microseconds=120), {"N": "1704196800.00012"}),
    ("unix", datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC), {"N": "-0.5"}),
    ("expiry", NOON, {"N": "1704196800"}),
    ("day", date(2024, 1, 2), {"S": "2024-01-02"}),
    ("clock", time(1, 2, 3, 4), {"S": "01:02:03.000004"}),
    ("uuid", UUID(int=10), {"S": "00000000-0000-0000-0000-00000000000a"}),
    ("colour", Colour.RED, {"S": "red"}),
    ("level", Level.HIGH, {"N": "3"}),
    ("mood", Mood.GLAD, {"S": "glad"}),
    ("choice", "a", {"S": "a"}),
    ("choice", 1, {"N": "1"}),
    ("note", NoteId("N#01JZ10H7X367VB2NF4YQ973DHW"), {"S": "N#01JZ10H7X367VB2NF4YQ973DHW"}),
    ("ratio", 0.1, {"N": "0.1"}),
    ("ratios", [0.5, 2.0], {"L": [{"N": "0.5"}, {"N": "2"}]}),
    ("ratio", 0.1 + 0.2, {"N": "0.30000000000000004"}),
    ("ratio", -1e22, {"N": "-1" + "0" * 22}),
    ("ratio", 1.7976931348623157e-100, {"N": "0." + "0" * 99 + "17976931348623157"}),
    ("loose", 0.5, {"N": "0.5"}),
    ("anything", [0.5], {"L": [{"N": "0.5"}]}),
    ("texts", [], {"L": []}),
    ("texts", ["a", ""], {"L": [{"S": "a"}, {"S": ""}]}),
    ("moments", [NOON], {"L": [{"N": "1704196800"}]}),
    ("pair", ("a", 1), {"L": [{"S": "a"}, {"N": "1"}]}),
    ("many", (1, 2, 3), {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}),
    ("words", {"b", "a"}, {"SS": ["a", "b"]}),
    ("numbers", frozenset({Decimal("1.50")}), {"NS": ["1.5"]}),
    ("blobs", {b"a"}, {"BS": [b"a"]}),
    ("days", {date(2024, 1, 2)}, {"SS": ["2024-01-02"]}),
    ("floats", {0.5}, {"NS": ["0.5"]}),
    ("mixed", {1, "a"}, {"L": [{"N": "1"}, {"S": "a"}]}),
    ("table", {"a": 1}, {"M": {"a": {"N": "1"}}}),
    ("by_flag", {True: "a", False: "b"}, {"M": {"true": {"S": "a"}, "false": {"S": "b"}}}),
    ("by_number", {1: "a"}, {"M": {"1": {"S": "a"}}}),
    ("by_level", {Level.HIGH: NOON}, {"M": {"3": {"N": "1704196800"}}}),
    ("inner", Inner(city="Bonn", zip=None), {"M": {"c": {"S": "Bonn"}}}),
    ("inner", Inner(city="Bonn", zip="1", tags={"a"}, when=NOON),
     {"M": {"c": {"S": "Bonn"}, "zip": {"S": "1"}, "tags": {"SS": ["a"]},
            "when": {"N": "1704196800"}}}),
    ("inners", [Inner(city="Bonn", zip=None)], {"L": [{"M": {"c": {"S": "Bonn"}}}]}),
    ("by_name", {"home": Inner(city="Bonn", zip=None)},
     {"M": {"home": {"M": {"c": {"S": "Bonn"}}}}}),
    ("shape", Square(side=2), {"M": {"s": {"N": "2"}}}),
    ("shape", Circle(radius=1), {"M": {"r": {"N": "1"}}}),
    ("shape", Circle(radius=1, side=4), {"M": {"r": {"N": "1"}, "side": {"N": "4"}}}),
    ("shape", "none", {"S": "none"}),
    ("names", Names(["a"]), {"L": [{"S": "a"}]}),
    ("short", "abc", {"S": "abc"}),
    ("value", {"a": [1, "b", None, True, {b"c"}]},
     {"M": {"a": {"L": [{"N": "1"}, {"S": "b"}, {"NULL": True}, {"BOOL": True},
                        {"BS": [b"c"]}]}}}),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "attribute"), PAIRS)
def test_a_field_is_stored_by_its_type_and_comes_back(
    field: str, value: Any, attribute: Any
) -> None:
    entity = Thing(id="1", **{field: value})
    item = entity.put().item
    assert item == {"pk": {"S": "THING#1"}, field: attribute}
    assert SCHEMA.decode(item) == entity


def test_decimals_keep_all_their_digits() -> None:
    amount = Decimal("1234567890123456789.0123456789012345678")
    found: Any = SCHEMA.decode(Thing(id="1", amount=amount).put().item)
    assert found.amount.as_tuple() == amount.as_tuple()


@pytest.mark.parametrize("micros", [0, 1, 500_000, 999_999])
def test_an_expiry_is_rounded_down_to_whole_seconds(micros: int) -> None:
    assert stored(expiry=NOON + timedelta(microseconds=micros)) == {"expiry": {"N": "1704196800"}}
    before = datetime(1969, 12, 31, 23, 59, 59, micros, tzinfo=UTC)
    assert stored(expiry=before) == {"expiry": {"N": "-1"}}


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("ratio", float("nan"), ("Thing.ratio: this float cannot be stored: nan. Use None for no "
         "value. [value-invalid]")),
        ("ratio", float("inf"), "this float cannot be stored: inf"),
        ("ratio", 1e126, "Numbers have up to 38 digits"),
        ("ratio", 5e-324, "a magnitude from 1E-130"),
        ("anything", [float("nan")], "this float cannot be stored"),
        ("amount", Decimal("1E+126"), "Numbers have up to 38 digits"),
        ("amount", Decimal("1E-131"), "Numbers have up to 38 digits"),
        ("amount", Decimal("1." + "1" * 38), "Numbers have up to 38 digits"),
        ("value", Decimal("NaN"), "Numbers have up to 38 digits"),
        pytest.param("number", 10**5000, "a number of 16610 bits", id="very long"),
        ("moment", datetime(2024, 1, 2), "it has no time zone"),  # noqa: DTZ001 - the point
        ("unix", datetime(2024, 1, 2), "Use an aware datetime"),  # noqa: DTZ001 - the point
        ("moment", datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "out of range"),
        ("words", set[str](), "an empty set cannot be stored"),
        ("words", {""}, "a set can only hold numbers, non-empty text or non-empty bytes"),
        ("blobs", {b""}, "non-empty"),
        ("value", {1, "a"}, "its members are of several types"),
        ("value", {True}, "a set can only hold numbers"),
        ("value", {1: "a"}, "the keys of a map must be non-empty text"),
        ("value", {"": "a"}, "the keys of a map must be non-empty text"),
        ("table", {"": 1}, "the keys of a map must be non-empty text"),
        ("value", object(), "a value of type object cannot be stored"),
    ],
)  # fmt: skip
def test_a_value_that_no_item_can_hold_is_refused_by_field(
    field: str, value: Any, text: str
) -> None:
    with pytest.raises(ValueInvalid) as caught:
        Thing(id="1", **{field: value}).put()
    assert str(caught.value).startswith(f"Thing.{field}: ")
    assert text in str(caught.value)


def test_a_long_value_is_not_repeated_in_full() -> None:
    with pytest.raises(ValueInvalid) as caught:
        Thing(id="1", value=[float("inf")] * 1000).put()
    assert len(str(caught.value)) < 300


def test_an_entity_that_was_never_validated_is_refused_by_field() -> None:
    thing: dict[str, Any] = Thing(id="1").model_dump()
    with pytest.raises(ValueInvalid, match=r"Thing.number: 'seven' is not of the field's type"):
        Thing.model_construct(None, **{**thing, "number": "seven"}).put()
    with pytest.raises(ValueInvalid, match=r"Thing.flag: 1 is not of the field's type"):
        Thing.model_construct(None, **{**thing, "flag": 1}).put()
    with pytest.raises(
        ValueInvalid, match=r"Thing.amount: the field takes no float: 0.5. Use Decimal"
    ):
        Thing.model_construct(None, **{**thing, "amount": 0.5}).put()


def test_a_stored_time_out_of_range_is_reported_by_field() -> None:
    with pytest.raises(Exception, match="unix: "):
        SCHEMA.decode({"pk": {"S": "THING#1"}, "unix": {"N": "1E+100"}})


def test_none_is_left_out_and_comes_back_whatever_the_default() -> None:
    table = Table("Tab", key=Key("pk"))

    class Plan(Entity, table=table, key="{id}"):
        id: str
        mode: str | None = "auto"
        size: int | None

    plan = Plan(id="1", mode=None, size=None)
    item = plan.put().item
    assert item == {"pk": {"S": "1"}, "id": {"S": "1"}}
    assert Plan.keyfold_schema().decode(item) == plan


def test_a_set_that_is_empty_is_left_out_and_comes_back() -> None:
    table = Table("Tab", key=Key("pk"))

    class Tagged(Entity, table=table, key="{id}"):
        id: str
        tags: set[str]
        marks: frozenset[int] = frozenset({1})
        inner: Inner

    tagged = Tagged(id="1", tags=set(), marks=frozenset(), inner=Inner(city="Bonn", zip=None))
    item = tagged.put().item
    assert "tags" not in item
    assert Tagged.keyfold_schema().decode(item) == tagged


def test_a_field_that_an_old_item_lacks_has_its_default() -> None:
    table = Table("Tab", key=Key("pk"))

    class Old(Entity, table=table, key="{id}"):
        id: str
        count: int = 3
        made: list[str] = attr(default_factory=lambda: ["x"])

    found = Old.keyfold_schema().decode({"pk": {"S": "1"}, "id": {"S": "1"}})
    assert found == Old(id="1", count=3, made=["x"])


def test_strict_models_can_be_read_back() -> None:
    table = Table("Tab", key=Key("pk"))

    class Strict(Entity, table=table, key="{id}", strict=True):
        id: str
        amount: Decimal
        day: date
        colour: Colour

    strict = Strict(id="1", amount=Decimal(5), day=date(2024, 1, 2), colour=Colour.RED)
    assert Strict.keyfold_schema().decode(strict.put().item) == strict


def test_aliases_stay_the_users_own() -> None:
    table = Table("Tab", key=Key("pk"))

    class Aliased(Entity, table=table, key="{id}"):
        id: str
        full_name: str = attr("n", alias="fullName")

    made = Aliased.model_validate({"id": "1", "fullName": "Ada"})
    item = made.put().item
    assert item["n"] == {"S": "Ada"}
    assert Aliased.keyfold_schema().decode(item) == made
    assert made.model_dump(by_alias=True) == {"id": "1", "fullName": "Ada"}


def test_computed_fields_are_stored_and_computed_again() -> None:
    table = Table("Tab", key=Key("pk"), naming="camel")

    class Line(Entity, table=table, key="{id}"):
        id: str
        price: Decimal
        quantity: int

        @computed_field
        @property
        def line_total(self) -> Decimal:
            return self.price * self.quantity

    line = Line(id="1", price=Decimal("1.5"), quantity=3)
    item = line.put().item
    assert item["lineTotal"] == {"N": "4.5"}
    assert Line.keyfold_schema().decode({**item, "lineTotal": {"N": "9"}}) == line


def test_free_form_attributes_are_kept_as_they_are() -> None:
    table = Table("Tab", key=Key("pk"))

    class Free(Entity, table=table, key="F#{id}", extra="allow"):
        id: str = attr("i")

    free = Free.model_validate({"id": "1", "a": [1, {"b": None}], "nothing": None})
    item = free.put().item
    assert item["nothing"] == {"NULL": True}
    assert Free.keyfold_schema().decode(item) == free
    for name in ("pk", "i"):
        with pytest.raises(ValueInvalid, match=f"Free.{name}: another value is stored under"):
            Free.model_validate({"id": "1", name: "x"}).put()


def test_unknown_attributes_are_ignored_without_extra() -> None:
    item = Thing(id="1").put().item
    assert SCHEMA.decode({**item, "other": {"S": "x"}}) == Thing(id="1")
    nested: Item = {"inner": {"M": {"c": {"S": "Bonn"}, "city": {"S": "Köln"}, "x": {"N": "1"}}}}
    assert SCHEMA.decode({**item, **nested}) == Thing(id="1", inner=Inner(city="Bonn", zip=None))


def test_nested_models_may_be_free_form_and_recursive() -> None:
    table = Table("Tab", key=Key("pk"))

    class Tree(Entity, table=table, key="{id}"):
        id: str
        root: Node

    tree = Tree(id="1", root=Node.model_validate({"leaves": [{"leaves": [], "x": 1}], "y": "z"}))
    item = tree.put().item
    assert item["root"] == {
        "M": {"l": {"L": [{"M": {"l": {"L": []}, "x": {"N": "1"}}}]}, "y": {"S": "z"}}
    }
    assert Tree.keyfold_schema().decode(item) == tree


class Node(BaseModel):
    model_config = ConfigDict(extra="allow")

    leaves: list[Node] = attr("l")


def test_names_follow_one_rule_for_the_table_and_what_is_nested() -> None:
    class Place(BaseModel):
        zip_code: str

    rules: list[tuple[Naming, tuple[str, ...]]] = [
        ("as_written", ("first_name", "home_place", "zip_code", "x2_y")),
        ("camel", ("firstName", "homePlace", "zipCode", "x2Y")),
        ("pascal", ("FirstName", "HomePlace", "ZipCode", "X2Y")),
    ]
    for naming, names in rules:
        table = Table("Tab", key=Key("pk"), naming=naming)

        class Named(Entity, table=table, key="{id_}"):
            id_: str = attr("key")
            first_name: str
            home_place: Place
            x2_y: int

        named = Named(id_="1", first_name="Ada", home_place=Place(zip_code="1"), x2_y=1)
        item = named.put().item
        first, place, code, numbered = names
        assert item == {
            "pk": {"S": "1"},
            "key": {"S": "1"},
            first: {"S": "Ada"},
            place: {"M": {code: {"S": "1"}}},
            numbered: {"N": "1"},
        }
        assert Named.keyfold_schema().decode(item) == named


def test_an_expiry_has_whole_seconds_as_it_is_stored() -> None:
    by_end = Index("ByEnd", key=Key("end_pk", "end_sk"))
    sessions = Table("Sessions", key=Key("pk"), indexes=[by_end], ttl="ends")

    class Session(Entity, table=sessions, key="S#{id}", indexes={by_end: ("END", "{ends}")}):
        id: str = part()
        ends: Expiry

    exact = datetime(2030, 1, 1, 0, 0, 0, 999_999, tzinfo=UTC)
    session = Session(id="1", ends=exact)
    assert session.ends == datetime(2030, 1, 1, tzinfo=UTC)
    item = session.put().to_dynamodb()["Item"]
    assert item["ends"] == {"N": str(int(session.ends.timestamp()))}
    assert item["end_sk"] == {"S": "2030-01-01T00:00:00.000000Z"}
    assert Session.keyfold_schema().decode(item) == session
