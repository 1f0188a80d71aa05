"""Any valid entity round-trips through the store, and conditions on absent items are known."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import keyfold
from keyfold.errors import ConditionFailed
from keyfold.expressions import holds_for_absent_item
from keyfold.keys import Ulid
from keyfold.model import (
    Condition,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    UnixTime,
    Version,
    attr,
    batch,
    part,
    transaction,
)
from tests.examples import examples
from tests.unit.store.store_kinds import Kind, open_any_store

EXAMPLES = examples(30)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class PartId(Ulid, prefix="P"): ...


class Inner(BaseModel):
    name: str = attr("n")
    size: int | None
    tags: set[str] = attr(default_factory=set)
    inner: Inner | None = None


class Box(BaseModel):
    width: Decimal = attr("w")


by_group = Index("ByGroup", key=Key("group", "rank"))
by_made = Index("ByMade", key=Key("madePk", "made"))
table = Table("Things", key=Key("pk", "sk"), indexes=[by_group, by_made], naming="camel")


class Thing(
    Entity,
    table=table,
    key=("THING#{owner}", "{part_id}#{number:06}#{day}"),
    indexes={by_made: ("{colour}#{owner}", "{made_at}")},
):
    owner: str = part()
    part_id: PartId = part()
    number: int = part()
    day: date = part()
    group: str | None = None
    rank: Decimal | None = None
    colour: Colour | None = None
    made_at: datetime = attr("at")
    seen: UnixTime | None = None
    gone: Expiry | None = None
    text: str = ""
    amount: Decimal = Decimal(0)
    count: int = 7
    flag: bool | None = True
    data: bytes = b""
    clock: time | None = None
    uuid: UUID | None = None
    mode: Literal["a", "b"] | None = "a"
    ratio: float = 0.0
    words: set[str] = attr(default_factory=set)
    numbers: frozenset[Decimal] = frozenset({Decimal(1)})
    blobs: set[bytes] | None = None
    names: list[str] = attr(default_factory=list)
    days: list[date] | None = None
    pair: tuple[int, str] | None = None
    by_name: dict[str, Decimal] = attr(default_factory=dict)
    by_number: dict[int, list[bool]] = attr(default_factory=dict)
    inner: Inner | None = None
    inners: list[Inner] = attr(default_factory=list)
    either: Inner | Box | int | None = None
    anything: Any = None
    version: Version = 0


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
parts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="#"), min_size=1, max_size=8
)
keys = parts  # of an index key
decimals = st.tuples(st.integers(0, 1), st.integers(0, 10**38 - 1), st.integers(-80, 80)).map(
    lambda drawn: Decimal((drawn[0], tuple(map(int, str(drawn[1]))), drawn[2]))
)
# Offsets, not zones: a time that a zone skips or repeats equals no other time in Python.
offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(
    min_value=datetime(1, 1, 3),  # noqa: DTZ001 - offsets are drawn
    max_value=datetime(9999, 12, 29),  # noqa: DTZ001 - as above
    timezones=offsets,
)
seconds = st.datetimes(min_value=datetime(1970, 1, 2)).map(  # noqa: DTZ001 - as above
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)
inners = st.recursive(
    st.builds(Inner, name=texts, size=st.none() | st.integers(), tags=st.sets(parts, max_size=3)),
    lambda deeper: st.builds(Inner, name=texts, size=st.none(), inner=deeper),
    max_leaves=3,
)
free_form = st.recursive(
    st.none()
    | st.booleans()
    | texts
    | decimals
    | st.binary(max_size=8)
    | st.sets(parts, min_size=1, max_size=3),
    lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(parts, deeper, max_size=3),
    max_leaves=6,
)
things = st.builds(
    Thing,
    owner=parts,
    part_id=st.integers(0, 2**128 - 1).map(PartId.from_number),
    number=st.integers(0, 999_999),
    day=st.dates(),
    group=st.none() | keys,
    rank=st.none() | decimals,
    colour=st.none() | st.sampled_from(Colour),
    made_at=moments,
    seen=st.none() | moments,
    gone=st.none() | seconds,
    text=texts,
    amount=decimals,
    count=st.integers(-(10**37), 10**37),
    flag=st.none() | st.booleans(),
    data=st.binary(max_size=10),
    clock=st.none() | st.times(),
    uuid=st.none() | st.uuids(),
    mode=st.sampled_from([None, "a", "b"]),
    ratio=st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False, min_value=-1e100, max_value=1e100).filter(lambda ratio: ratio == 0 or abs(ratio) > 1e-100),
    words=st.sets(texts.filter(bool), max_size=3),
    numbers=st.frozensets(decimals, max_size=3),
    blobs=st.none() | st.sets(st.binary(min_size=1, max_size=5), min_size=1, max_size=3),
    names=st.lists(texts, max_size=3),
    days=st.none() | st.lists(st.dates(), max_size=3),
    pair=st.none() | st.tuples(st.integers(), texts),
    by_name=st.dictionaries(parts, decimals, max_size=3),
    by_number=st.dictionaries(st.integers(), st.lists(st.booleans(), max_size=2), max_size=3),
    inner=st.none() | inners,
    inners=st.lists(inners, max_size=2),
    either=st.none() | inners | st.builds(Box, width=decimals) | st.integers(),
    anything=free_form,
)  # fmt: skip


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_any_valid_entity_round_trips(kind: Kind) -> None:
    store = open_any_store(kind, table)

    @EXAMPLES
    @given(things)
    def check(thing: Thing) -> None:
        store.run(batch([Thing.delete(**_key(thing))]))
        written = store.run(thing.create())
        assert written == thing.model_copy(update={"version": 1})
        get = Thing.get(**_key(thing))
        assert store.run(get) == written
        assert store.run(batch([get])) == [written]
        assert store.run(transaction(get)) == [written]
        (found,) = store.run(Thing.query(**_key(thing)))
        assert found == written
        if thing.group is not None and thing.rank is not None:
            assert written in store.iterate(Thing.query(by_group, group=thing.group))
        if thing.colour is not None:
            query = Thing.query(by_made, colour=thing.colour, owner=thing.owner)
            assert written in store.iterate(query.since(thing.made_at))
        assert store.run(written.replace()) == written.model_copy(update={"version": 2})
        deleted = store.run(Thing.delete(**_key(thing)))
        assert deleted == written.model_copy(update={"version": 2})

    try:
        check()
    finally:
        store.close()


def _key(thing: Thing) -> dict[str, Any]:
    return {
        "owner": thing.owner,
        "part_id": thing.part_id,
        "number": thing.number,
        "day": thing.day,
    }


# Conditions.

plain = Table("Plain", key=Key("pk"))


class Plain(Entity, table=plain, key="P#{id}"):
    id: str = part()
    a: int | None = None
    b: int | None = None
    words: set[str] = attr(default_factory=set)


f = Plain.f
simple: st.SearchStrategy[Condition] = st.sampled_from(
    [
        f.a.eq(1), f.a.ne(1), f.a < 1, f.a >= 1, f.a.between(0, 2), f.a.in_(1, 2),
        f.a.exists(), f.a.not_exists(), f.a.eq(f.b), f.a.ne(f.b), f.a < f.b,
        f.words.contains("x"), f.words.size.eq(1), f.words.size.ne(1), f.words.size < 2,
    ]
)  # fmt: skip


def _join(deeper: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    pairs = st.tuples(deeper, deeper)
    return (
        pairs.map(lambda pair: pair[0] & pair[1])
        | pairs.map(lambda pair: pair[0] | pair[1])
        | deeper.map(lambda one: ~one)
    )


conditions = st.recursive(simple, _join, max_leaves=6)


def test_whether_a_condition_holds_for_an_absent_item_is_known() -> None:
    with keyfold.open(plain, ":memory:") as store:

        @EXAMPLES
        @given(conditions)
        def check(condition: Condition) -> None:
            delete = Plain.delete(id="none").where(condition)
            if holds_for_absent_item(condition):
                assert store.run(delete) is None
            else:
                with pytest.raises(ConditionFailed):
                    store.run(delete)

        check()
