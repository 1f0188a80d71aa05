"""Tuples with a type for each position: members are stored as the type at their position says."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, SecretStr

from keyfold.errors import PathInvalid, ValueInvalid
from keyfold.model import Entity, Key, Table, attr, part
from keyfold.model._hidden_attributes import hide_secrets
from tests.unit.model.spelling import spell
from tests.unit.store.store_kinds import AnyStore, OpenStore

routes = Table("Routes", key=Key("pk"))


class Stop(BaseModel):
    city: str = attr("c", was="town")


class Leg(Entity, table=routes, key="LEG#{number}"):
    number: str = part()
    ends: tuple[Stop, int, SecretStr]


ends = Leg.f.ends
LEG = Leg(number="1", ends=(Stop(city="Delft"), 1, SecretStr("hunter2")))


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    opened = open_store(routes)
    opened.run(LEG.put())
    return opened


def test_a_member_is_set_under_the_names_of_its_model(store: AnyStore) -> None:
    changed = store.run(Leg.update(number="1").set(ends[0], Stop(city="Bonn")))
    assert changed.ends[0] == Stop(city="Bonn")
    assert store.run(Leg.get(number="1")) == changed


def test_a_path_leads_into_a_member(store: AnyStore) -> None:
    request = Leg.update(number="1").set(ends[0].city, "Bonn")
    # A former name is removed with it, as for any nested model.
    assert spell(request.to_dynamodb(), "UpdateExpression") == (
        "SET ends[0].c = Bonn REMOVE ends[0].town"
    )
    assert store.run(request).ends[0].city == "Bonn"
    with pytest.raises(PathInvalid):
        ends[1].city  # noqa: B018 - building the path is what fails
    with pytest.raises(ValueInvalid):
        Leg.update(number="1").set(ends[1], "many")


def test_a_condition_covers_former_names_of_a_member(store: AnyStore) -> None:
    item = {
        "pk": {"S": "LEG#2"},
        "ends": {"L": [{"M": {"town": {"S": "Ulm"}}}, {"N": "1"}, {"S": "x"}]},
    }
    store.execute("PutItem", {"TableName": routes.name, "Item": item})
    found = store.run(Leg.scan().where(ends[0].city.eq("Ulm")))
    assert [leg.number for leg in found] == ["2"]


def test_a_secret_member_is_masked() -> None:
    item = LEG.put().to_dynamodb()["Item"]
    hidden = hide_secrets(routes.entities.values(), item)
    assert hidden["ends"]["L"][2] == {"S": "**********"}
