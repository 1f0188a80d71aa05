"""A clinic's table, with every kind of area and index that policies distinguish."""

from __future__ import annotations

from keyfold.model import Entity, Index, Key, Table, attr, part
from keyfold.policy import ALL, EVERYTHING, READ, WRITE, Right, Role

by_owner = Index("ByOwner", key=Key("owner_pk", "owner_sk"))
by_mix = Index("ByMix", key=Key("mix"))
by_state = Index("ByState", key=Key("state"))
by_pair = Index("ByPair", key=Key(("pair_user", "pair_topic"), "sk"))
by_text = Index("ByText", key=Key("pk", "text"), local=True)
by_key = Index("ByKey", key=Key("sk", "pk"))

clinic = Table(
    "Clinic",
    key=Key("pk", "sk"),
    indexes=[by_owner, by_mix, by_state, by_pair, by_text, by_key],
)
notes = clinic.shard("U#{user}", name="notes")
files = clinic.shard("U#{user}#F#{box}", name="files")
catalog = clinic.shard("C#{topic}", name="catalog")


class Note(
    Entity,
    table=clinic,
    key=(notes, "N#{id}"),
    indexes={
        by_owner: ("O#{user}", "{rank}"),
        by_mix: "M#{user}",
        by_pair: ("P#{user}", "{topic}", "N#{id}"),
    },
):
    user: str = part()
    id: str = part()
    text: str = ""
    secret: str | None = None
    state: str | None = None
    rank: str | None = None
    topic: str | None = None


class Member(Entity, table=clinic, key=(notes, "MEMBER#{user}"), unique="email"):
    user: str = part()
    email: str
    age: int = 0


class File(Entity, table=clinic, key=(files, "F#{name}")):
    user: str = part()
    box: str = part()
    name: str = part()
    size: int = 0


class Topic(Entity, table=clinic, key=(catalog, "T"), indexes={by_mix: "{topic}"}):
    topic: str = part()
    title: str = ""


class Setting(Entity, table=clinic, key=("SETTINGS", "S#{name}")):
    name: str = part()
    value: str = attr("v")


patient = clinic.add_role(
    Role(
        "patient",
        tenant="user",
        can={"notes": READ | WRITE, "files": READ, "catalog": READ},
        unique=[Member],
        lookups=[by_state, by_key],
        operations=["DescribeTimeToLive"],
    )
)
# May add notes, but not see `secret` and not change `state`.
scribe = clinic.add_role(
    Role(
        "scribe",
        tenant="user",
        can={"notes": ALL},
        hidden={"notes": ["secret"]},
        fixed={"notes": ["state"]},
    )
)
nurse = clinic.add_role(
    Role("nurse", can={"notes": READ, "files": ALL, Setting: Right.GET | Right.CREATE})
)
auditor = clinic.add_role(Role("auditor", can={EVERYTHING: READ}, hidden={"notes": ["secret"]}))
keeper = clinic.add_role(
    Role(
        "keeper", can={EVERYTHING: ALL}, operations=["ExecuteStatement", "GetRecords", "ListTables"]
    )
)
