"""Values of every field type are read back as they were written, and sort as documented."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from enum import IntFlag
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import PurePosixPath
from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, NaiveDatetime, SecretBytes, SecretStr

import keyfold
from keyfold import Codec
from keyfold.errors import ValueInvalid
from keyfold.keys import Ulid
from keyfold.model import Entity, Key, Table, UnixTime, attr, part
from keyfold.values import AttributeValue
from tests.examples import examples

EXAMPLES = examples(60)


class Rights(IntFlag):
    READ = 1
    WRITE = 2
    ADMIN = 4


class BillId(Ulid, prefix="b", separator="-"): ...


@dataclass(frozen=True)
class Leg:
    length: timedelta
    name: str | None = None


class Spot(NamedTuple):
    x: float
    tags: frozenset[str]


class Box(BaseModel):
    legs: list[Leg]
    spots: dict[str, Spot]


Hex = Annotated[int, Codec(encode=hex, decode=lambda text: int(text, 16))]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts.filter(bool)
floats = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda value: value == 0 or 1e-129 < abs(value) < 1e125
)
deltas = st.timedeltas()
naive = st.datetimes()
moments = naive.filter(lambda moment: 1 < moment.year < 9999).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
legs = st.builds(Leg, deltas, st.none() | texts)
spots = st.builds(Spot, floats, st.frozensets(names, max_size=2))
flags = st.integers(0, 7).map(Rights)
ids = st.integers(0, 2**128 - 1).map(BillId.from_number)
urls = st.from_regex(r"\Ahttps?://[a-z]{1,8}\.com/[a-z0-9é]{0,5}\Z").map(AnyUrl)
scalars: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "floating": (float, floats),
    "delta": (timedelta, deltas),
    "naive": (NaiveDatetime, naive),
    "unix": (UnixTime, moments),
    "address": (IPv4Address, st.integers(0, 2**32 - 1).map(IPv4Address)),
    "any_address": (
        IPv4Address | IPv6Address,
        st.integers(0, 2**32 - 1).map(IPv4Address) | st.integers(2**96, 2**128 - 1).map(IPv6Address),
    ),
    "network": (
        IPv4Network,
        st.integers(0, 2**24 - 1).map(lambda head: IPv4Network((head << 8, 24))),
    ),
    "path": (PurePosixPath, names.filter(lambda name: "\x00" not in name).map(PurePosixPath)),
    "url": (AnyUrl, urls),
    "secret": (SecretStr, texts.map(SecretStr)),
    "hidden": (SecretBytes, st.binary(max_size=5).map(SecretBytes)),
    "fraction": (Fraction, st.fractions()),
    "number": (complex, st.complex_numbers(allow_nan=False, allow_infinity=False)),
    "rights": (Rights, flags),
    "bill": (BillId, ids),
    "hex": (Hex, st.integers(0, 2**64)),
    "leg": (Leg, legs),
    "spot": (Spot, spots),
    "box": (
        Box,
        st.builds(
            Box, legs=st.lists(legs, max_size=2), spots=st.dictionaries(names, spots, max_size=2)
        ),
    ),
    "counter": (Counter[str], st.dictionaries(names, st.integers(0, 99), max_size=2).map(Counter)),
}  # fmt: skip

table = Table("Things", key=Key("pk"))


def declare() -> Any:
    kinds: dict[str, Any] = {"id": str}
    space: dict[str, Any] = {"id": part(), "__annotations__": kinds}
    for name, (kind, _) in scalars.items():
        kinds[name], space[name] = kind | None, None
        kinds[f"{name}_list"], space[f"{name}_list"] = list[kind], attr(default_factory=list)
        kinds[f"{name}_deque"], space[f"{name}_deque"] = deque[kind], attr(default_factory=deque)
        kinds[f"{name}_map"], space[f"{name}_map"] = dict[str, kind], attr(default_factory=dict)
        if name not in ("box", "counter"):
            kinds[f"{name}_set"], space[f"{name}_set"] = set[kind], attr(default_factory=set)
            kinds[f"{name}_pair"] = tuple[kind, set[kind]] | None
            space[f"{name}_pair"] = None
    make: Any = type(Entity)
    return make("Thing", (Entity,), space, table=table, key="THING#{id}")


Thing = declare()


@st.composite
def things(draw: st.DrawFn) -> Any:
    values: dict[str, Any] = {}
    for name in draw(st.sets(st.sampled_from([*scalars]), min_size=1, max_size=4)):
        strategy = scalars[name][1]
        values[name] = draw(st.none() | strategy)
        values[f"{name}_list"] = draw(st.lists(strategy, max_size=2))
        values[f"{name}_deque"] = deque(draw(st.lists(strategy, max_size=2)))
        values[f"{name}_map"] = draw(st.dictionaries(names, strategy, max_size=2))
        if name not in ("box", "counter"):
            members = st.sets(strategy, max_size=2).filter(
                lambda drawn: not drawn & {SecretStr(""), SecretBytes(b"")}
            )
            values[f"{name}_set"] = draw(members)
            values[f"{name}_pair"] = draw(st.none() | st.tuples(strategy, members))
    return Thing(id="1", **values)


def test_values_of_every_type_are_read_back() -> None:
    with keyfold.open(table, ":memory:") as store:

        @EXAMPLES
        @given(things())
        def check(thing: Any) -> None:
            store.run(thing.put())
            assert store.run(Thing.get(id="1")) == thing
            with localcontext(prec=2):
                assert Thing.keyfold_schema().decode(thing.put().item) == thing

        check()


@EXAMPLES
@given(st.floats())
def test_a_float_is_stored_exactly_or_refused(value: float) -> None:
    thing = Thing(id="1", floating=value)
    try:
        item = thing.put().item
    except ValueInvalid:
        assert not value or not 1e-129 < abs(value) < 1e125
    else:
        assert len(Decimal(item["floating"]["N"]).normalize().as_tuple().digits) <= 17
        assert Thing.keyfold_schema().decode(item).floating == value


def order_of(stored: AttributeValue) -> Any:
    """Return what DynamoDB compares."""
    ((kind, data),) = stored.items()
    return Decimal(data) if kind == "N" else data.encode()


@pytest.mark.parametrize("name", ["floating", "delta", "naive", "unix", "rights", "bill"])
def test_stored_order_is_the_order_of_the_values(name: str) -> None:
    @EXAMPLES
    @given(scalars[name][1], scalars[name][1])
    def check(one: Any, other: Any) -> None:
        first, second = (Thing(id="1", **{name: each}).put().item[name] for each in (one, other))
        assert (one < other) == (order_of(first) < order_of(second))

    check()


def test_the_epoch_is_zero() -> None:
    item = Thing(id="1", unix=datetime(1970, 1, 1, tzinfo=UTC)).put().item
    assert item["unix"] == {"N": "0"}
