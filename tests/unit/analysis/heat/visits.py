"""Tables for the tests of heat: partition keys that are dates, numbers and typed ids."""

from __future__ import annotations

from datetime import date
from typing import Literal

from keyfold import Entity, Get, Index, Key, OnDemand, Provisioned, Put, Query, Table, Ulid, part

by_country = Index("ByCountry", key=Key("country_key", "country_sort"))
table = Table("Visits", key=Key("pk", "sk"), indexes=[by_country])


class Visit(
    Entity,
    table=table,
    key=("DAY#{day}", "VISIT#{visit}"),
    indexes={by_country: ("COUNTRY#{country}", "{visit}")},
):
    day: date
    visit: str
    country: Literal["at", "ch", "de"] | None = None


@table.examples
def examples() -> list[Entity]:
    return [Visit(day=date(2026, 1, 1), visit="1"), Visit(day=date(2026, 1, 2), visit="2")]


@table.pattern("Count a visit")
def count_visit(visit: Visit) -> Put[Visit]:
    return visit.put()


@table.pattern("Visits of a day")
def visits_of(day: date) -> Query[Visit]:
    return Visit.query(day=day).limit(10)


meters = Table("Meters", key=Key("pk", "sk"), billing=Provisioned(read=5, write=5))


class Meter(Entity, table=meters, key=("METER#{meter}", "METER")):
    meter: str


@meters.pattern("Save", rate="20/s")
def save_meter(meter: Meter) -> Put[Meter]:
    return meter.put()


badges = Table("Badges", key=Key("pk", "sk"))


class BadgeId(Ulid, prefix="B"):
    """An id that a made-up key does not fit."""


class Badge(Entity, table=badges, key=("{badge}", "BADGE")):
    badge: BadgeId = part()


class Stamp(Entity, table=badges, key=("{badge}", "STAMP#{number:03}")):
    badge: BadgeId = part()
    number: int = part()


@badges.pattern("Read a badge")
def read_badge(badge: BadgeId) -> Get[Badge]:
    return Badge.get(badge=badge)


@badges.pattern("Add a stamp")
def add_stamp(stamp: Stamp) -> Put[Stamp]:
    return stamp.create()


@badges.examples
def badge_examples() -> list[Entity]:
    badge = BadgeId("B#01HK153X000000000000000000")
    return [Badge(badge=badge), *(Stamp(badge=badge, number=number) for number in range(10))]


capped = Table("Capped", key=Key("pk", "sk"), billing=OnDemand(max_read=50, max_write=50))


class Reading(Entity, table=capped, key=("METER#{meter}", "METER")):
    meter: str


capped.expect(Reading, items=10_000)


@capped.pattern("Save", rate="20/s")
def save_reading(reading: Reading) -> Put[Reading]:
    return reading.put()
