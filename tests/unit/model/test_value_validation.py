"""Values and operands of updates are validated by the rules of the field that they change."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    ValidationError,
    ValidationInfo,
)
from pydantic import field_validator as pydantic_field_validator

from keyfold import (
    Entity,
    Index,
    Key,
    Table,
    UnixTime,
    Update,
    attr,
    computed_field,
    model_validator,
    now,
    part,
)
from keyfold.errors import FieldUnknown, UpdateInvalid, ValueInvalid
from keyfold.expressions import SetTo
from keyfold.model._any_values import decode_any

by_level = Index("ByLevel", key=Key("level_pk"))
table = Table("Members", key=Key("pk"), indexes=[by_level])


class Level(IntEnum):
    LOW = 1
    HIGH = 2


def lower(value: str) -> str:
    if not value.isascii():
        raise ValueError("only ASCII letters")
    return value.lower()


class Address(BaseModel):
    city: str = attr("City", min_length=2)
    zip: Annotated[str, Field(pattern=r"^\d{5}$")] = "00000"
    start: int = 0
    end: int = 0

    @model_validator(mode="after", depends=("start", "end"))
    def check(self) -> Self:
        assert self.start <= self.end
        return self


class Tree(BaseModel):
    leaves: int = Field(default=0, le=9)
    kids: list[Tree] = Field(default_factory=list["Tree"], max_length=2)


class Member(Entity, table=table, key="M#{id}", indexes={by_level: "L#{level:1}"}):
    id: str = part()
    age: int = attr(default=18, ge=18, lt=150)
    score: Decimal = attr(default=Decimal(0), max_digits=5, decimal_places=2)
    digits: Decimal = attr(default=Decimal(0), max_digits=5)
    steps: int = attr(default=0, multiple_of=5)
    number: int | Decimal = 0
    level: Level = Level.LOW
    name: Annotated[str, AfterValidator(lower)] = ""
    nick: str | None = attr(default=None, min_length=2)
    other: str = ""
    plain: int = 0
    address: Address = Address(city="Bonn")
    seen: UnixTime | None = None
    at: datetime | None = None
    tags: set[str] = attr(default_factory=set[str])
    few: set[str] = attr(default_factory=set[str], max_length=3)
    some: set[int] = attr(default_factory=lambda: {1}, min_length=1)
    notes: list[Annotated[str, Field(max_length=5)]] = attr(
        default_factory=list[str], min_length=1, max_length=3
    )
    lines: list[Address] = attr(default_factory=list[Address])
    row: Sequence[int] = ()
    pair: tuple[int, str] = (0, "")
    counts: dict[Literal["a", "b"], Annotated[int, Field(ge=0)]] = attr(
        default_factory=dict[Any, int], max_length=2
    )
    ordered: Annotated[list[int], AfterValidator(sorted)] = attr(default_factory=list[int])
    tree: Tree = Tree()
    free: Any = None


f = Member.f
NOW = datetime(2024, 1, 1, tzinfo=UTC)
PLACEHOLDER = re.compile(r"[#:][0-9]+")


def read(update: Update[Any], expression: str) -> str:
    """Return an expression with names and values in place of their placeholders."""
    request = update.to_dynamodb(now=NOW)
    names: dict[str, str] = request.get("ExpressionAttributeNames", {})
    values: dict[str, Any] = request.get("ExpressionAttributeValues", {})

    def show(found: re.Match[str]) -> str:
        if found[0] in names:
            return names[found[0]]
        ((kind, data),) = values[found[0]].items()
        shown = data if kind in ("SS", "NS") else decode_any({kind: data})
        return str(shown).replace("'", "")

    return PLACEHOLDER.sub(show, request[expression])


def changes(update: Update[Any]) -> str:
    return read(update, "UpdateExpression")


def conditions(update: Update[Any]) -> str:
    return read(update, "ConditionExpression")


def start() -> Update[Member]:
    return Member.update(id="1")


@pytest.mark.parametrize(
    ("update", "written"),
    [
        (start().set(f.age, "20"), "SET age = 20"),
        (start().set(f.name, "ADA"), "SET name = ada"),
        (start().set(f.score, 0.5), "SET score = 0.5"),
        (start().set(f.level, 2), "SET level = 2, level_pk = L#2"),
        (start().set(f.address, {"city": "Ulm"}), "SET address = {City: Ulm, zip: 00000, start: 0, end: 0}"),
        (start().set(f.address.city, "Ulm"), "SET address.City = Ulm"),
        (start().set(f.lines[0], {"city": "Ulm"}), "SET lines[0] = {City: Ulm, zip: 00000, start: 0, end: 0}"),
        (start().set(f.lines[0].zip, "53111"), "SET lines[0].zip = 53111"),
        (start().set(f.counts.a, "3"), "SET counts.a = 3"),
        (start().set(f.pair[0], "3"), "SET pair[0] = 3"),
        (start().set(f.row, (1, "2")), "SET row = [1, 2]"),
        (start().set(f.row[0], "2"), "SET row[0] = 2"),
        (start().set(f.tree.kids[1].leaves, "9"), "SET tree.kids[1].leaves = 9"),
        (start().set(f.tree.kids, [{"leaves": 1}]), "SET tree.kids = [{leaves: 1, kids: []}]"),
        (start().set(f.tags, ["b", "a"]), "SET tags = [a, b]"),
        (start().set(f.tags, []), "REMOVE tags"),
        (start().set(f.free.deep[0], 1), "SET free.deep[0] = 1"),
        (start().set_if_absent(f.age, "20"), "SET age = if_not_exists(age, 20)"),
        (start().increment(f.plain, "2"), "SET plain = plain + 2"),
        (start().increment(f.number, Decimal("0.5")), "SET number = number + 0.5"),
        (start().add(f.tags, ["b", "a"]), "ADD tags [a, b]"),
        (start().append(f.lines, {"city": "Ulm"}), "SET lines = list_append(if_not_exists(lines, []), [{City: Ulm, zip: 00000, start: 0, end: 0}])"),
        (start().append(f.row, "1"), "SET row = list_append(if_not_exists(row, []), [1])"),
        (start().set(f.at, "2024-01-01T00:00:00Z"), "SET at = 2024-01-01T00:00:00.000000Z"),
    ],
)  # fmt: skip
def test_values_are_converted_as_pydantic_does(update: Update[Any], written: str) -> None:
    assert changes(update) == written


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: start().set(f.age, 3), "Member.f.age: Input should be greater than or equal to 18; got 3"),
        (lambda: start().set_if_absent(f.age, 3), "Input should be greater than or equal to 18"),
        (lambda: start().set(f.age, "x"), "Input should be a valid integer"),
        (lambda: start().set(f.name, "Ä"), "Value error, only ASCII letters; got 'Ä'"),
        (lambda: start().set(f.nick, "a"), "String should have at least 2 characters"),
        (lambda: start().set(f.address.city, "U"), "Member.f.address.city: String should have at least 2"),
        (lambda: start().set(f.address, {"zip": "1"}), "city: Field required; zip: String should match"),
        (lambda: start().set(f.lines[0].zip, "x"), "String should match pattern"),
        (lambda: start().set(f.notes[0], "too long"), "String should have at most 5 characters"),
        (lambda: start().set(f.counts.a, -1), "Input should be greater than or equal to 0"),
        (lambda: start().set(f.counts.c, 1), "its key is invalid: Input should be 'a' or 'b'"),
        (lambda: start().set(f.pair[1], 5), "Input should be a valid string"),
        (lambda: start().set(f.row[0], "x"), "Input should be a valid integer"),
        (lambda: start().set(f.tree.kids[0].kids[0].leaves, 10), "Input should be less than or equal to 9"),
        (lambda: start().set(f.seen, "soon"), "Input should be a valid datetime"),
        (lambda: start().set(f.plain, now), "Input should be a valid integer"),
        (lambda: start().increment(f.age, "x"), "Input should be a valid integer"),
        (lambda: start().increment(f.age, 1.5), "Input should be a valid integer"),
        (lambda: start().increment(f.steps, 3), "Input should be a multiple of 5"),
        (lambda: start().increment(f.score, Decimal("0.001")), "no more than 2 decimal places"),
        (lambda: start().add(f.tags, [1]), "Input should be a valid string"),
        (lambda: start().delete(f.some, ["x"]), "Input should be a valid integer"),
        (lambda: start().append(f.notes, "ok", "too long"), "1: String should have at most 5 characters"),
    ],
)  # fmt: skip
def test_an_invalid_value_is_refused(build: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueInvalid) as caught:
        build()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: start().set(f.ordered[0], 1), "Member.f.ordered[0] cannot be updated alone: the validator sorted looks at the whole value around it"),
        (lambda: start().append(f.ordered, 1), "no condition can express the validator sorted"),
        (lambda: start().set(f.address.start, 1), "there is a validator check, which depends on end, start"),
        (lambda: start().increment(f.lines[0].end), "there is a validator check"),
        (lambda: start().increment(f.level), "its new value must be known in advance"),
        (lambda: start().increment(f.digits), "no condition can count its digits"),
        (lambda: start().append(f.pair, 1), "the number of its members is fixed"),
        (lambda: start().remove(f.pair[0]), "the number of members around it is fixed"),
        (lambda: start().set(f.name, f.other), "the values of Member.f.other may not be valid for it"),
        (lambda: start().set(f.plain, f.score), "the values of Member.f.score may not be valid for it"),
        (lambda: start().set(f.nick, f.other), "the values of Member.f.other may not be valid for it"),
        (lambda: start().increment(f.age, f.plain), "no condition can say that its sum with Member.f.plain is valid"),
        (lambda: start().increment(f.plain, f.number), "no condition can say that its sum"),
        (lambda: start().remove(f.some), "Member.f.some cannot be removed: Set should have at least 1 item"),
    ],
)  # fmt: skip
def test_what_no_condition_can_express_is_refused(build: Callable[[], object], text: str) -> None:
    with pytest.raises(UpdateInvalid) as caught:
        build()
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("update", "condition"),
    [
        (start().increment(f.age), "age >= 17 AND age < 149"),
        (start().increment(f.age, -3), "age >= 21 AND age < 153"),
        (start().add(f.age, 20), "(attribute_not_exists(age) OR age >= -2) AND (attribute_not_exists(age) OR age < 130)"),
        (start().add(f.age, 1), "age >= 17 AND (attribute_not_exists(age) OR age < 149)"),
        (start().increment(f.score, Decimal("1.5")), "score > -1001.5 AND score < 998.5"),
        (start().increment(f.plain), None),
        (start().increment(f.steps, 5), None),
        (start().add(f.few, {"a"}), "((attribute_not_exists(few) OR size(few) <= 2) OR contains(few, a))"),
        (start().add(f.few, {"a", "b", "c", "d"}), "(size(few) <= -1 OR (contains(few, a) AND contains(few, b) AND contains(few, c) AND contains(few, d)))"),
        (start().delete(f.some, {1}), "(size(some) >= 2 OR NOT (contains(some, 1)))"),
        (start().append(f.notes, "a"), "(attribute_not_exists(notes) OR size(notes) <= 2)"),
        (start().append(f.notes, *"abcd"), "size(notes) <= -1"),
        (start().set(f.notes[1], "a"), "(attribute_exists(notes[1]) OR size(notes) < 3)"),
        (start().remove(f.notes[1]), "(attribute_not_exists(notes[1]) OR size(notes) > 1)"),
        (start().set(f.counts.a, 1), "(attribute_exists(counts.a) OR size(counts) < 2)"),
        (start().append(f.tree.kids, Tree()), "(attribute_not_exists(tree.kids) OR size(tree.kids) <= 1)"),
        (start().set(f.age, f.plain), "plain >= 18 AND plain < 150"),
        (start().set(f.number, f.plain), None),
        (start().set(f.other, f.name), None),
        (start().set(f.tags, f.few), None),
    ],
)  # fmt: skip
def test_bounds_become_conditions(update: Update[Any], condition: str | None) -> None:
    exists = "attribute_exists(pk)"
    assert conditions(update) == (exists if condition is None else f"{exists} AND {condition}")


def test_times_are_validated_when_the_update_runs() -> None:
    class Past(Entity, table=Table("Past", key=Key("pk")), key="{id}"):
        id: str
        at: datetime = attr(lt=datetime(2024, 6, 1, tzinfo=UTC))

    update = Past.update(id="1").set(Past.f.at, now + timedelta(days=1))
    update.to_dynamodb(now=datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(ValueInvalid, match="Input should be less than 2024-06-01"):
        update.to_dynamodb(now=datetime(2025, 1, 1, tzinfo=UTC))


def test_unchecked_changes_are_neither_validated_nor_bounded() -> None:
    update = start().unchecked().set(f.age, 3).append(f.notes, "too long").set(f.ordered[0], 5)
    assert changes(update).startswith("SET age = 3, notes = list_append")
    assert conditions(update) == conditions(start().set(f.plain, 1))


# Copies.


class Booking(Entity, table=table, key="B#{id}"):
    id: str = part()
    start: int = attr(default=0, ge=0)
    end: int = 9
    note: str = ""

    @model_validator(mode="after", depends=("start", "end"))
    def is_ordered(self) -> Self:
        if self.end < self.start:
            raise ValueError("it ends before it starts")
        return self

    @pydantic_field_validator("note")
    @classmethod
    def fits(cls, value: str, info: ValidationInfo) -> str:
        assert value != str(info.data.get("end"))
        return value

    @computed_field(depends=("start", "end"))
    @cached_property
    def span(self) -> int:
        return self.end - self.start


def test_a_copy_is_validated_and_converted() -> None:
    booking = Booking(id="1", start=1)
    assert booking.span == 8
    changed = booking.model_copy(update={"end": "12"})
    assert (changed.end, changed.span, changed.model_fields_set) == (12, 11, {"id", "start", "end"})
    assert type(changed) is Booking
    assert changed.put().item["span"] == {"N": "11"}
    assert booking.model_copy() == booking
    # Several fields at once, of which each alone would not do.
    assert booking.model_copy(update={"start": 20, "end": 30}).start == 20


@pytest.mark.parametrize(
    ("update", "text"),
    [
        ({"start": -1}, "greater than or equal to 0"),
        ({"end": -1}, "it ends before it starts"),
        ({"note": "9"}, "Assertion failed"),
        ({"note": "7", "end": 7}, "Assertion failed"),
    ],
)
def test_an_invalid_copy_is_refused(update: dict[str, Any], text: str) -> None:
    with pytest.raises(ValidationError, match=text):
        Booking(id="1").model_copy(update=update)


def test_validators_of_other_fields_see_what_changed() -> None:
    with pytest.raises(ValidationError, match="Assertion failed"):
        Booking(id="1", note="7").model_copy(update={"end": 7})


def test_a_copy_does_not_validate_what_it_leaves_unchanged() -> None:
    class Parsed(Entity, table=table, key="P#{id}"):
        id: str = part()
        data: Json[list[int]]
        note: str = attr(default="", max_length=2)

    # The parsed value would not be valid again: a Json field takes text.
    parsed = Parsed.model_validate({"id": "1", "data": "[1, 2]"})
    assert parsed.model_copy(update={"note": "x"}).data == [1, 2]
    with pytest.raises(ValidationError, match="at most 2 characters"):
        parsed.model_copy(update={"note": "xyz"})


def test_a_copy_takes_only_fields() -> None:
    with pytest.raises(FieldUnknown, match="unknown field 'ends'"):
        Booking(id="1").model_copy(update={"ends": 7})

    class Free(Entity, table=table, key="F#{id}", extra="allow"):
        id: str = part()

    free = Free.model_validate({"id": "1", "colour": "red"}).model_copy(update={"size": 5})
    assert free.model_extra == {"colour": "red", "size": 5}


def test_a_deep_copy_shares_nothing() -> None:
    member = Member(id="1", notes=["a"])
    changed = member.model_copy(update={"plain": 1}, deep=True)
    changed.notes.append("b")
    assert member.notes == ["a"]


# Conditions on one of several values.


def test_options_may_be_passed_as_a_list() -> None:
    assert repr(f.plain.in_([1, 2])) == repr(f.plain.in_(1, 2))
    assert repr(f.plain.in_({1})) == repr(f.plain.in_(1))
    assert repr(f.plain.in_((1, 2))) == repr(f.plain.in_(1, 2))
    # A list is a value of a list field.
    assert repr(f.notes.in_(["a"], ["b"])) != repr(f.notes.in_(["a"]))
    assert repr(f.notes.in_(["a", "b"])) != repr(f.notes.in_(["a"], ["b"]))


class Size(BaseModel):
    model_config = ConfigDict(alias_generator=str.upper)

    width: int = 0


# The alias of one field is the name of another.
class Box(Entity, table=Table("Boxes", key=Key("pk")), key="B#{id}"):
    id: str = part()
    size: Size = Size()
    sizes: list[Size] = attr(default_factory=list[Size])
    first: str = attr(default="1", alias="second")
    second: str = attr(default="2", alias="first")


@pytest.mark.parametrize("given", [{"width": 3}, {"WIDTH": 3}, Size.model_validate({"WIDTH": 3})])
def test_nested_fields_are_given_by_name_or_alias(given: Any) -> None:
    box, stored = Box(id="1"), {"M": {"width": {"N": "3"}}}
    assert box.model_copy(update={"size": given}).size.width == 3
    changed = box.change(size=given, sizes=[given])
    assert [each.source for each in changed.actions if isinstance(each, SetTo)] == [
        stored,
        {"L": [stored]},
    ]
    update = Box.update(id="1").set(Box.f.size, given).append(Box.f.sizes, given)
    assert str(stored) in str(update.actions[0])
    assert str(stored) in str(update.actions[1])
    upsert = Box.update(id="1").set(Box.f.first, "x").or_create(size=given)
    assert (upsert.entity.size.width, upsert.entity.first, upsert.entity.second) == (3, "x", "2")


def test_the_fields_of_a_change_are_given_by_name() -> None:
    changed = Box(id="1").model_copy(update={"first": "a", "second": "b"})
    assert (changed.first, changed.second) == ("a", "b")
