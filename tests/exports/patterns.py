"""A table whose access patterns are of every kind."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from keyfold import (
    Collection,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    attr,
    batch,
    computed_field,
    part,
    transaction,
)

by_state = Index("ByState", key=Key("state", ("day", "weight")), project=["weight", "note"])
by_label = Index("ByLabel", key=Key("gsi1pk", "gsi1sk"))
by_weight = Index("ByWeight", key=Key("pk", "weight"), local=True)
parcels = Table(
    "Parcels",
    key=Key("pk", "sk"),
    indexes=[by_state, by_label, by_weight],
    ttl="ttl",
    type_attribute="kind",
)


class Sender(Entity, table=parcels, key=("SENDER#{sender}", "SENDER"), unique="email"):
    """Someone who sends parcels."""

    sender: UUID = part()
    email: str = attr("EmailAddress")


class Parcel(
    Entity,
    table=parcels,
    key=("SENDER#{sender}", "PARCEL#{number:06}"),
    indexes={by_label: [("LABEL#{label}", "{number:06}"), ("NOTE#{note}", "{number:06}")]},
    kind="parcel",
):
    """A parcel."""

    sender: UUID = part()
    number: int = part()
    state: str
    day: str
    weight: int
    price: Decimal = Decimal(0)
    label: str | None = None
    note: str | None = None
    tags: frozenset[str] = frozenset()
    stops: list[str] = attr(default_factory=list[str])
    image: bytes | None = None
    extra: Any = None
    ttl: Expiry | None = None

    @computed_field(depends=["weight"])
    @property
    def is_heavy(self) -> bool:
        return self.weight > 20


class Sent(Collection):
    """A sender, and the parcels sent."""

    sender: Sender
    parcels: list[Parcel]


@parcels.pattern("Get a parcel")
def get_parcel(sender: UUID, number: int) -> Any:
    """Get one parcel."""
    return Parcel.get(sender=sender, number=number).consistent()


@parcels.pattern("Everything of a sender")
def sent(sender: UUID) -> Any:
    return Sent.get(sender=sender)


@parcels.pattern("Parcels from a number on")
def parcels_since(sender: UUID, number: int) -> Any:
    return Parcel.query(sender=sender).since(number)


@parcels.pattern("Parcels up to a number, paged")
def parcels_until(sender: UUID, number: int, limit: int) -> Any:
    return Parcel.query(sender=sender).until(number).limit(limit)


@parcels.pattern("Parcels of a day, by weight")
def parcels_between(state: str, day: str, low: int, high: int) -> Any:
    return Parcel.query(by_state, state=state, day=day).between(low, high).refs()


@parcels.pattern("Parcels of a month", example={"month": "2026-11"})
def parcels_of_month(state: str, month: str) -> Any:
    return Parcel.query(by_state, state=state).starting_with(month).refs()


@parcels.pattern("Find by label")
def find_by_label(label: str) -> Any:
    return Parcel.query(by_label, label=label).first()


@parcels.pattern("Parcels by weight")
def parcels_by_weight(sender: UUID) -> Any:
    return Parcel.query(by_weight, sender=sender)


@parcels.pattern("Heavy parcels")
def heavy_parcels(sender: UUID, weight: int) -> Any:
    return Parcel.query(sender=sender).where(Parcel.f.weight >= weight)


@parcels.pattern("All parcels")
def all_parcels() -> Any:
    return Parcel.scan()


@parcels.pattern("Count parcels")
def count_parcels(sender: UUID) -> Any:
    return Parcel.query(sender=sender).count()


@parcels.pattern("Whatever has a key")
def find_item(pk: str, sk: str) -> Any:
    return parcels.get(pk=pk, sk=sk)


@parcels.pattern("Register a sender")
def register(sender: Sender) -> Any:
    return sender.create()


@parcels.pattern("Save parcels")
def save_parcels(parcels: list[Parcel]) -> Any:
    return batch([each.put() for each in parcels])


@parcels.pattern("Change the state")
def change_state(sender: UUID, number: int, state: str, price: Decimal, urgent: bool) -> Any:
    return Parcel.update(sender=sender, number=number).set(Parcel.f.price, price)


@parcels.pattern("Drop a parcel")
def drop_parcel(sender: UUID, number: int, at: datetime) -> Any:
    return Parcel.delete(sender=sender, number=number)


@parcels.pattern("Send a parcel")
def send(sender: UUID, parcel: Parcel) -> Any:
    exists = Sender.check(Sender.f.email.exists(), sender=sender)
    return transaction(exists, parcel.create())


@parcels.pattern("Latest parcel, again")
def reread(sender: UUID) -> Any:
    found = Parcel.query(sender=sender).descending().first()
    return found.then(lambda each: Parcel.get(sender=each.sender, number=each.number))


@parcels.examples
def make_examples() -> list[Any]:
    sender = UUID("3f0e7c1a-5a55-4c0e-9f3a-1d2b6c7e8f90")
    return [
        Sender(sender=sender, email="ada@example.com"),
        Parcel(
            sender=sender,
            number=7,
            state="sent",
            day="2026-11-02",
            weight=21,
            label="A7",
            tags=frozenset({"fragile"}),
            stops=["Odesa"],
            image=b"\x00\x01",
            extra={"a": [1, None]},
        ),
    ]
