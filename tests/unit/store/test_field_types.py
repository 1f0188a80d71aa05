"""Secrets, records and codecs reach the database as plain values, by every transport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import HttpUrl, Secret, SecretBytes, SecretStr

from keyfold import Codec
from keyfold.model import Entity, Key, Table, attr, batch, part, transaction
from tests.unit.store.store_kinds import OpenStore

pytestmark = pytest.mark.all_transports

vault = Table("Vault", key=Key("pk"))


@dataclass
class Leg:
    length: timedelta


class Spot(NamedTuple):
    x: int


class Safe(Entity, table=vault, key="SAFE#{id}"):
    id: str = part()
    text: SecretStr
    data: SecretBytes
    number: Secret[int]
    texts: set[SecretStr]
    numbers: set[Secret[int]]
    leg: Leg
    spot: Spot
    page: HttpUrl
    ratio: float
    hex: Annotated[int, Codec(encode=hex, decode=lambda text: int(text, 16))]
    legs: list[Leg] = attr(default_factory=list)


def make(name: str = "1") -> Safe:
    return Safe(
        id=name,
        text=SecretStr("hünter2"),
        data=SecretBytes(b"\x00\xff"),
        number=Secret[int](7),
        texts={SecretStr("a"), SecretStr("b")},
        numbers={Secret[int](1), Secret[int](10)},
        leg=Leg(timedelta(microseconds=1)),
        spot=Spot(1),
        page=HttpUrl("https://example.com"),
        ratio=0.1,
        hex=255,
    )


def test_values_of_all_types_are_written_and_read(open_store: OpenStore) -> None:
    store = open_store(vault)
    one, two = make(), make("2")
    assert store.run(one.create()) == one
    assert store.run(Safe.get(id="1")) == one
    store.run(batch([two.put()]))
    assert store.run(transaction(Safe.get(id="2"))) == [two]
    conditions: Sequence[Any] = [
        Safe.f.text.eq(SecretStr("hünter2")),
        Safe.f.data.eq(SecretBytes(b"\x00\xff")),
        Safe.f.number.eq(Secret[int](7)),
        Safe.f.numbers.contains(Secret[int](10)),
        Safe.f.leg.length > timedelta(0),
        Safe.f.leg.eq(Leg(timedelta(microseconds=1))),
        Safe.f.spot.x.eq(1),
        Safe.f.page.begins_with("https://"),
        Safe.f.ratio.eq(0.1),
        Safe.f.hex.eq(255),
    ]
    for condition in conditions:
        update = Safe.update(id="1").append(Safe.f.legs, Leg(timedelta(1))).where(condition)
        one = store.run(update)
    assert one.legs == [Leg(timedelta(1))] * len(conditions)
    changed = store.run(
        Safe.update(id="1")
        .set(Safe.f.text, "new")
        .set(Safe.f.legs[0].length, timedelta(2))
        .add(Safe.f.texts, {"c"})
        .increment(Safe.f.ratio, 0.5)
    )
    assert changed.text.get_secret_value() == "new"
    assert changed.legs[0].length == timedelta(2)
    assert SecretStr("c") in changed.texts
    assert changed.ratio == 0.6
    assert store.run(changed.replace()) == changed


def test_attributes_that_a_dataclass_does_not_declare_survive(open_store: OpenStore) -> None:
    store = open_store(vault)
    item = make().put().to_dynamodb()["Item"]
    item["leg"]["M"]["colour"] = {"S": "red"}
    store.execute("PutItem", {"TableName": "Vault", "Item": item})
    found = store.run(Safe.get(id="1"))
    assert found == make()
    assert found is not None
    store.run(found.put())
    request = {"TableName": "Vault", "Key": {"pk": {"S": "SAFE#1"}}}
    stored = store.execute("GetItem", request)["Item"]
    assert stored["leg"]["M"]["colour"] == {"S": "red"}
