"""Whatever updates do to an entity, what is stored fits its declaration."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings
from pydantic import BaseModel, Field

import keyfold
from keyfold import Entity, Key, Table, Update, attr, part
from keyfold.errors import OutOfBounds, PathInvalid, RequestRefused, UpdateInvalid, ValueInvalid

table = Table("Things", key=Key("pk"))


class Inner(BaseModel):
    low: int = Field(default=0, ge=-2, le=2)
    words: list[str] = Field(default_factory=list[str], max_length=2)


class Thing(Entity, table=table, key="T#{id}"):
    id: str = part()
    whole: int = attr(default=0, gt=-4, le=3)
    even: int = attr(default=0, multiple_of=2)
    money: Decimal = attr(default=Decimal(0), max_digits=3, decimal_places=1)
    maybe: int | None = attr(default=None, ge=1)
    words: list[str] = attr(default_factory=list[str], max_length=3)
    some: list[int] = attr(default_factory=lambda: [1], min_length=1)
    tags: set[str] = attr(default_factory=lambda: {"a"}, min_length=1, max_length=3)
    marks: dict[str, int] = attr(default_factory=dict[str, int], max_length=2)
    inner: Inner = Inner()


f = Thing.f
NUMBERS = st.integers(-5, 5) | st.decimals(-12, 12, places=2) | st.sampled_from(["2", "x", None])
TEXTS = st.sampled_from("abcd") | st.integers(0, 1)
FIELDS = (f.whole, f.even, f.money, f.maybe, f.words, f.some, f.tags, f.marks, f.inner)
MEMBERS = (f.words[0], f.words[5], f.some[0], f.marks.a, f.marks.b, f.marks.c)
NESTED = (f.inner.low, f.inner.words, f.inner.words[1])
PATHS = st.sampled_from([*FIELDS, *MEMBERS, *NESTED])
VALUES = NUMBERS | TEXTS | st.lists(TEXTS, max_size=4) | st.sets(TEXTS, max_size=4)
AMOUNTS = st.integers(-3, 3) | st.sampled_from([Decimal("9.5"), Decimal(-60), Decimal(60)])
NUMBER_FIELDS = st.sampled_from([f.whole, f.even, f.money, f.maybe, f.inner.low])
LETTERS = st.sets(st.sampled_from("abcd"), min_size=1, max_size=3)
STEPS = st.one_of(
    # Changes that often fit, and take a field to its bounds and beyond them.
    st.tuples(
        st.sampled_from(["increment", "add"]),
        NUMBER_FIELDS,
        AMOUNTS,
    ),
    st.tuples(st.just("set"), NUMBER_FIELDS, NUMBER_FIELDS),
    st.tuples(st.just("append"), st.sampled_from([f.words, f.inner.words]), st.just("a")),
    st.tuples(st.sampled_from(["add", "delete"]), st.just(f.tags), LETTERS),
    st.tuples(st.just("set"), st.sampled_from(MEMBERS), st.integers(0, 1) | st.just("a")),
    st.tuples(st.just("remove"), st.sampled_from(MEMBERS), st.none()),
    # Anything with anything.
    st.tuples(st.sampled_from(["set", "set_if_absent"]), PATHS, VALUES),
    st.tuples(st.sampled_from(["set", "increment"]), PATHS, PATHS),
    st.tuples(st.sampled_from(["add", "delete", "append", "remove"]), PATHS, VALUES),
)


def make(steps: list[tuple[str, Any, Any]]) -> Update[Thing]:
    update = Thing.update(id="1")
    for method, path, operand in steps:
        arguments = (path,) if method == "remove" else (path, operand)
        update = getattr(update, method)(*arguments)
    return update


@settings(max_examples=200)
@given(st.lists(st.lists(STEPS, min_size=1, max_size=2), max_size=20))
def test_what_is_stored_fits(updates: list[list[tuple[str, Any, Any]]]) -> None:
    with keyfold.open(table, ":memory:") as store:
        store.run(Thing(id="1").create())
        for steps in updates:
            # Refused when it is made, by its condition, or by the service: a path that is absent.
            with suppress(UpdateInvalid, ValueInvalid, PathInvalid, OutOfBounds, RequestRefused):
                store.run(make(steps))
            assert store.run(Thing.get(id="1")) is not None
