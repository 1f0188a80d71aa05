"""A table with one of everything that a document describes."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

from pydantic import SecretStr

from keyfold import (
    EVERYTHING,
    READ,
    Change,
    Entity,
    Expiry,
    Get,
    Index,
    Key,
    Put,
    Query,
    Ref,
    Role,
    Scan,
    Table,
    attr,
    part,
)

by_day = Index("ByDay", key=Key(("ward", "day"), "hour"), project=["doctor"])
by_name = Index("ByName", key=Key("name"), project="keys")
table = Table(
    "Clinic",
    key=Key("pk", "sk"),
    indexes=[by_day, by_name],
    ttl="ttl",
    stream="new and old",
    deletion_protection=True,
)
charts = table.shard("PATIENT#{patient}", name="charts")


class Patient(Entity, table=table, key=(charts, "PATIENT"), unique="email"):
    """A patient; `patient` is the number | on the card."""

    patient: str = part()
    name: str
    email: str | None = attr(default=None, description="Where <results> go.")
    pin: SecretStr = SecretStr("0000")


class Visit(Entity, table=table, key=(charts, "VISIT#{number:03}")):
    """A visit of a patient."""

    patient: str = part()
    number: int = part()
    ward: str | None = None
    day: str | None = None
    hour: int | None = None
    doctor: str | None = None
    fee: Decimal = attr("price", was="fee", default=Decimal(0))
    state: Literal["open", "paid"] = "open"
    expires: Expiry | None = attr("ttl", default=None)


class Ward(Entity, table=table, key=("WARD#{ward}", "WARD")):
    ward: str = part()
    beds: int


table.add_role(
    Role("nurse", can={charts: READ}, hidden={charts: ["price", "fee"]}, tenant="patient")
)
table.add_role(Role("head", can={EVERYTHING: READ}))


@table.on_change(Visit)
def send_bill(change: Change[Visit]) -> None:
    """Send the bill of a `paid` visit."""


@table.examples
def make_examples() -> list[Entity]:
    expires = datetime(2040, 1, 1, tzinfo=UTC)
    return [
        Patient(patient="7", name="Ann <b>|`x`", email="ann@example.com", pin=SecretStr("4711")),
        Visit(patient="7", number=10, ward="A", day="2026-01-02", hour=15, doctor="Lu"),
        Visit(patient="7", number=2, ward="A", day="2026-01-02", hour=9, fee=Decimal("12.50")),
        Visit(patient="7", number=3, expires=expires),
        Ward(ward="A", beds=12),
    ]


@table.pattern("Get patient", rate="10/s")
def get_patient(patient: str) -> Get[Patient]:
    return Patient.get(patient=patient)


@table.pattern("Visits of a day")
def visits_of_day(ward: str, day: str) -> Query[Ref[Visit]]:
    return Visit.query(by_day, ward=ward, day=day).refs()


@table.pattern("Add visit", rate="1/s")
def add_visit(visit: Visit) -> Put[Visit]:
    return visit.create()


@table.pattern("All wards", lint_ignore={"P01": "there are five of them"})
def all_wards() -> Scan[Ward]:
    return Ward.scan()
