"""Edits of an instance as values: what they write, and what they depend on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Self

import pytest
from pydantic import BaseModel, ValidationError

from keyfold.errors import (
    DeclarationInvalid,
    FieldUnknown,
    KeyFieldChanged,
    MissingKeyPart,
    UpdateInvalid,
    ValueInvalid,
)
from keyfold.model import (
    Entity,
    Index,
    Key,
    Ref,
    Table,
    Update,
    attr,
    computed_field,
    model_validator,
    part,
    transaction,
)
from tests.unit.model.shop import Address, Status, Ticket
from tests.unit.model.spelling import spell

NOW = datetime(2024, 1, 1, tzinfo=UTC)

by_state = Index("ByState", key=Key("gpk", "gsk"))
table = Table("Parcels", key=Key("pk", "sk"), indexes=[by_state])


class Label(BaseModel):
    text: str
    size: int = 1


class Parcel(
    Entity,
    table=table,
    key=("SHOP#{shop}", "PARCEL#{number:04}"),
    indexes={by_state: ("STATE#{state}#{depot}", "{weight:05}")},
):
    shop: str = part()
    number: int = part()
    state: str = "new"
    depot: str | None = None
    weight: int = attr("w", default=1, ge=0)
    note: str | None = None
    tags: set[str] = attr(default_factory=set)
    label: Label | None = None
    limit: int = 100
    price: int = 2

    @model_validator(mode="after", depends=("weight", "limit"))
    def fits(self) -> Self:
        if self.weight > self.limit:
            raise ValueError("it is too heavy")
        return self

    @computed_field(depends=("weight", "price"))
    def cost(self) -> int:
        return self.weight * self.price


class Free(Entity, table=table, key=("FREE#{name}", "FREE"), extra="allow"):
    name: str = part()
    size: int = 0


def parcel(**fields: Any) -> Parcel:
    return Parcel(shop="x", number=7, **fields)


def read(**fields: Any) -> Parcel:
    """Return a parcel as it is read: every stored field is set."""
    made = parcel(**fields)
    found = Parcel.keyfold_schema().decode(Parcel.keyfold_schema().encode(made))
    assert isinstance(found, Parcel)
    return found


def ticket(**fields: Any) -> Ticket:
    return Ticket(team="a", number=7, title="x", opened=NOW, **fields)


def changes(update: Update[Any]) -> str:
    return spell(update.to_dynamodb(now=NOW), "UpdateExpression")


def condition(update: Update[Any]) -> str:
    text = spell(update.to_dynamodb(now=NOW), "ConditionExpression")
    return text.removeprefix("attribute_exists(pk)").removeprefix(" AND ")


def test_an_instance_knows_its_key() -> None:
    assert parcel().update().key == Parcel.update(shop="x", number=7).key
    assert parcel().delete().key == Parcel.delete(shop="x", number=7).key
    assert parcel().refresh() == Parcel.get(shop="x", number=7).consistent()
    ref = parcel().ref()
    assert isinstance(ref, Ref)
    assert ref.get() == Parcel.get(shop="x", number=7)
    assert (ref.shop, ref.number) == ("x", 7)


def test_an_instance_knows_the_other_parts_of_an_index_key() -> None:
    update = read(depot="d").update().set(Parcel.f.state, "sent")
    assert changes(update) == "SET state = sent, gpk = STATE#sent#d"
    assert condition(update) == "depot = d"
    alone = read(depot="d").update().set(Parcel.f.note, "x")
    assert condition(alone) == ""


def test_a_part_without_a_value_takes_the_entity_out_of_the_index() -> None:
    update = read().update().set(Parcel.f.state, "sent")
    assert changes(update) == "SET state = sent REMOVE gpk"
    assert condition(update) == "attribute_not_exists(depot)"
    removed = read(depot="d").update().remove(Parcel.f.depot)
    assert changes(removed) == "REMOVE depot, gpk"
    assert condition(removed) == ""


def test_a_default_that_was_not_read_may_not_be_stored() -> None:
    update = parcel().update().set(Parcel.f.depot, "d")
    assert condition(update) == "(state = new OR attribute_not_exists(state))"


def test_the_version_stands_for_changed_fields() -> None:
    held = ticket(status=Status.OPEN, version=3)
    assert condition(held.update().set(Ticket.f.title, "y")) == "version = 3"
    assert condition(held.change(title="y", owner="ada")) == "version = 3"
    moved = held.update().set(Ticket.f.status, Status.DONE)
    assert condition(moved) == "version = 3"
    assert condition(ticket().change(title="y")) == "attribute_not_exists(version)"


def test_a_change_writes_only_what_differs() -> None:
    held = read(depot="d", note="a", tags={"b", "a"}, label=Label(text="l"))
    assert changes(held.change(note="b", state="new")) == "SET note = b"
    assert changes(held.change(note=None)) == "REMOVE note"
    assert changes(held.change(tags={"a", "c"})) == "SET tags = SS:['a', 'c']"
    assert changes(held.change(tags=set())) == "REMOVE tags"
    assert changes(held.change(state="sent")) == "SET state = sent, gpk = STATE#sent#d"
    assert changes(held.change(depot=None)) == "REMOVE depot, gpk"
    heavier = held.change(weight=3)
    assert changes(heavier) == "SET w = 3, cost = 6, gsk = 00003"
    free = Free.model_validate({"name": "n", "colour": "red"})
    assert changes(free.change(colour="blue", shape="round")) == "SET colour = blue, shape = round"


def test_a_change_is_based_on_what_it_depends_on() -> None:
    held = read(depot="d", note="a")
    assert condition(held.change(note="b")) == "note = a"
    assert condition(held.change(state="sent")) == "state = new AND depot = d"
    assert condition(held.change(label=Label(text="l"))) == "attribute_not_exists(label)"
    assert condition(held.change(tags={"a"})) == "attribute_not_exists(tags)"
    assert condition(held.change(weight=3)) == "limit = 100 AND price = 2 AND w = 1"


def test_a_change_validates_the_whole_entity() -> None:
    with pytest.raises(ValidationError, match="too heavy"):
        read().change(weight=101)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        read().change(weight=-1)
    converted: Any = "3"
    assert changes(read().change(weight=converted)) == "SET w = 3, cost = 6, gsk = 00003"


def test_a_patch_is_a_partial_model_or_a_mapping() -> None:
    class ParcelPatch(BaseModel):
        state: str = "?"
        note: str | None = None

    held = read(note="a")
    assert changes(held.change(ParcelPatch(note=None))) == "REMOVE note"
    assert changes(held.change({"note": "b"}, price=3)) == "SET note = b, price = 3, cost = 3"
    by_key = Parcel.update(shop="x", number=7)
    assert changes(by_key.set_from(ParcelPatch(note="b"))) == "SET note = b"
    assert changes(by_key.set_from({"note": "b", "shop": "x"})) == "SET note = b"


def test_an_empty_patch_only_checks_the_condition() -> None:
    empty = Parcel.update(shop="x", number=7).set_from({})
    assert "UpdateExpression" not in empty.to_dynamodb(now=NOW)
    assert read().change(state="new").to_dynamodb(now=NOW)["ConditionExpression"]
    with pytest.raises(UpdateInvalid, match="changes nothing"):
        Parcel.update(shop="x", number=7).to_dynamodb(now=NOW)
    (member,) = transaction(empty).to_dynamodb(now=NOW)["TransactItems"]
    assert list(member) == ["ConditionCheck"]


def test_keys_and_versions_cannot_be_changed() -> None:
    with pytest.raises(KeyFieldChanged, match=r"Parcel\.number"):
        read().change(number=8)
    assert changes(read().change(number=7, price=3)) == "SET price = 3, cost = 3"
    with pytest.raises(KeyFieldChanged, match=r"Parcel\.shop"):
        Parcel.update(shop="x", number=7).set_from({"shop": "y"})
    with pytest.raises(UpdateInvalid, match="version is the Version field"):
        ticket(version=3).change(version=4)
    with pytest.raises(FieldUnknown, match="unknown field 'nte'"):
        read().change(nte="x")
    with pytest.raises(FieldUnknown):
        Parcel.update(shop="x", number=7).set_from({"nte": "x"})


def test_a_change_does_not_follow_later_changes_of_its_values() -> None:
    address = Address(city="Bonn")
    held = ticket(version=1, steps=["a"])
    steps = ["a", "b"]
    update = held.change(steps=steps, address=address)
    steps.append("c")
    held.steps.append("z")
    assert changes(update).startswith("SET steps = L:[{'S': 'a'}, {'S': 'b'}], address = ")


class Point(BaseModel, frozen=True):
    x: int = 0
    trail: tuple[int, ...] = ()


class Box(Entity, table=table, key=("BOX#{name}", "BOX"), extra="allow"):
    name: str = part()
    lines: list[str] = attr(default_factory=list)
    sizes: dict[str, int] = attr(default_factory=dict)
    marks: set[int] = attr(default_factory=set)
    pair: tuple[list[int], int] = ([], 0)
    label: Label | None = None
    point: Point = Point()
    since: timedelta = timedelta(days=1)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("lines", "list that the entity has, so a change inside it cannot be seen. Pass a new one, such as [*entity.lines, …]."),
        ("sizes", "such as {**entity.sizes, …}."),
        ("marks", "such as {*entity.marks, …}."),
        ("pair", "such as a changed copy of entity.pair."),
        ("label", "such as entity.label.model_copy(update=…)."),
        ("notes", "such as [*entity.notes, …]."),
    ],
)  # fmt: skip
def test_a_change_refuses_what_the_entity_itself_holds(name: str, advice: str) -> None:
    box: Any = Box(name="a", label=Label(text="x"), pair=([], 1), notes=["n"])  # pyright: ignore[reportCallIssue] - an extra field
    with pytest.raises(UpdateInvalid) as refused:
        box.change(**{name: getattr(box, name)})
    assert f"Box: {name} is the very" in str(refused.value)
    assert advice in str(refused.value)


def test_a_change_takes_copies_and_values_that_nobody_can_change() -> None:
    box = Box(name="a", lines=["x"], label=Label(text="x"), point=Point(trail=(1,)))
    assert not box.change(**box.model_dump()).actions
    assert not box.change(point=box.point, since=box.since, name=box.name).actions
    assert not box.change(lines=[*box.lines], label=box.label and box.label.model_copy()).actions
    assert changes(box.change(lines=[*box.lines, "y"])) == "SET lines = L:[{'S': 'x'}, {'S': 'y'}]"


@pytest.mark.parametrize("name", ["change", "ref", "refresh"])
def test_fields_cannot_have_the_names_of_methods(name: str) -> None:
    with pytest.raises(DeclarationInvalid, match=f"{name}: Entity has a method of that name"):
        type(
            "Odd",
            (Entity,),
            {"__annotations__": {"id": str, name: str}, "__module__": __name__},
            table=Table("Odd", key=Key("pk")),
            key="O#{id}",
        )


def test_a_change_can_be_explained() -> None:
    @table.pattern("send a parcel")
    def send(held: Parcel, state: str) -> Update[Parcel]:
        """Send a parcel."""
        return held.change(state=state)

    (step,) = send.explain().steps
    assert step.operation == "UpdateItem"
    assert step.key == "pk='SHOP#{held.shop}' sk='PARCEL#{held.number}'"


# `model_construct` does not validate: what it makes may lack fields, or have anything in them.
@pytest.mark.parametrize("make", [Ticket.put, Ticket.create, Ticket.replace, Ticket.change])
def test_an_entity_that_lacks_a_field_is_not_written(make: Callable[[Ticket], object]) -> None:
    for lacking in ("title", "opened"):  # the second is in an index key
        fields = {name: each for name, each in ticket(status=Status.OPEN) if name != lacking}
        with pytest.raises(ValueInvalid, match=f"Ticket.{lacking}: the entity has no value for it"):
            make(Ticket.model_construct(**fields))


def test_an_entity_without_its_key_is_not_edited() -> None:
    keyless = Parcel.model_construct(shop="x")
    for make in (keyless.update, keyless.delete, keyless.refresh, keyless.ref):
        with pytest.raises(MissingKeyPart, match="needs 'number'"):
            make()


def test_an_edit_expects_values_of_the_right_type() -> None:
    fields: dict[str, Any] = {**dict(ticket()), "version": "x"}
    odd = Ticket.model_construct(**fields)
    with pytest.raises(ValueInvalid, match=r"Ticket\.version: 'x' is not of the field's type"):
        odd.update().set(Ticket.f.title, "y").to_dynamodb()
