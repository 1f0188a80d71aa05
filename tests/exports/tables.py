"""Tables that declare whatever a deployment file can have, and the four designs."""

from __future__ import annotations

from keyfold import Entity, Expiry, Index, Key, OnDemand, Provisioned, Table, attr, part
from keyfold.designs.exchange_rates import table as exchange_rates
from keyfold.designs.letsgo import table as letsgo
from keyfold.designs.market import table as market
from keyfold.designs.pantry import table as pantry

DESIGNS = (exchange_rates, letsgo, market, pantry)

# An attribute that means something in Python and in Terraform.
TRICKY = "a \"b\" 'c' \\ ${d} %{e}"

# Every setting, with provisioned capacity.
shipments = Table(
    "my-shop.Shipments",
    key=Key("pk", "sk"),
    indexes=[
        Index(
            "by-state", key=Key(("carrier", "state"), ("day", "weight")), project=["note", TRICKY]
        ),
        Index("ByDay", key=Key("day"), project="keys"),
        Index("ByWeight", key=Key("pk", "weight"), local=True, project=["note"]),
        Index("ByNote", key=Key("pk", "note"), local=True),
    ],
    ttl="expires",
    stream="keys",
    billing=Provisioned(read=10, write=5, indexes={"ByDay": Provisioned(read=20, write=5)}),
    deletion_protection=True,
    tags={"team": "logistics", "cost center": "12/a = é"},
)


class Shipment(Entity, table=shipments, key=("ORDER#{order}", "SHIP#{number:03}")):
    """A shipment of an order."""

    order: str = part()
    number: int = part()
    carrier: str
    state: str
    day: str
    weight: int
    note: str | None = None
    expires: Expiry | None = None


# As little as possible: a partition key alone, of numbers, and nothing set.
counters = Table("counters", key=Key("id"), deletion_protection=False, billing="on demand")


class Counter(Entity, table=counters, key="{id}"):
    """A counter."""

    id: int
    count: int = attr(default=0)


# On demand, with maximums, of which the index has others.
visits = Table(
    "Visits",
    key=Key("pk", "sk"),
    indexes=[Index("ByPage", key=Key("page")), Index("ByDay", key=Key("day"), project="keys")],
    billing=OnDemand(max_read=4000, max_write=1000, indexes={"ByDay": OnDemand(max_read=50)}),
)


class Visit(Entity, table=visits, key=("VISITOR#{visitor}", "{day}")):
    """A visit of a page."""

    visitor: str = part()
    day: str
    page: str


TABLES = (*DESIGNS, shipments, counters, visits)
