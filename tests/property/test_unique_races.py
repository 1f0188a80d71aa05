"""Plans of writers that interleave in any order leave each unique value with one owner."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
from keyfold.model import Entity, Key, Request, Table, Update, transaction
from keyfold.model._calls import ApiCall
from keyfold.store import Store, StoreSettings
from keyfold.store._dispatch import plan
from keyfold.store._guards import OWNER, guard_item, guard_key, is_guard
from keyfold.store._plans import Plan, repeat_call
from keyfold.store._unique_audit import UniqueAudit
from keyfold.store._unique_marker import guard_names

members = Table("Members", key=Key("pk"))


class Member(Entity, table=members, key="M#{id}", unique=("email", "handle")):
    id: str
    email: str | None = None
    handle: str | None = None


ids = st.sampled_from("ab")
# So few values that most writes collide.
values = st.sampled_from([None, "x", "y"])
entities = st.builds(Member, id=ids, email=values, handle=values)


def set_field(name: str, field: Any, value: str | None) -> Update[Member]:
    return Member.update(id=name).set(field, value)


updates = st.builds(set_field, ids, st.sampled_from([Member.f.email, Member.f.handle]), values)
single = st.one_of(
    entities.map(lambda each: each.put()),
    entities.map(lambda each: each.create()),
    entities.map(lambda each: each.replace()),
    ids.map(lambda name: Member.delete(id=name)),
    updates,
)


@st.composite
def swaps(draw: st.DrawFn) -> Request[Any]:
    one, other = draw(st.lists(ids, min_size=2, max_size=2, unique=True))
    field = draw(st.sampled_from([Member.f.email, Member.f.handle]))
    return transaction(set_field(one, field, draw(values)), set_field(other, field, draw(values)))


class Running:
    """A plan that is advanced call by call; `result` or `failure` is how it ended."""

    def __init__(self, engine: Engine, steps: Plan[Any]) -> None:
        self._engine = engine
        self._steps = steps
        self.result: Any = None
        self.failure: KeyfoldError | None = None
        self._send: Any = None
        self._failure: KeyfoldError | None = None
        self.is_done = False

    def advance(self) -> None:
        """Run the plan up to its next call, and make that call."""
        try:
            step = self._resume()
            if isinstance(step, ApiCall):
                try:
                    self._send = self._engine.execute(step.operation, step.request)
                except KeyfoldError as error:
                    self._failure = error
        except StopIteration as stop:
            self.result, self.is_done = stop.value, True
        except KeyfoldError as error:
            self.failure, self.is_done = error, True

    def _resume(self) -> Any:
        failure, send = self._failure, self._send
        self._failure = self._send = None
        return self._steps.send(send) if failure is None else self._steps.throw(failure)


@settings(max_examples=600)
@given(
    st.lists(entities.map(lambda each: each.create()), min_size=1, max_size=2),
    st.lists(single | updates | swaps(), min_size=2, max_size=3),
    st.lists(st.integers(0, 2), min_size=8, max_size=20),
)
def test_interleaved_writers_leave_guards_that_equal_the_items(
    before: list[Request[Any]], requests: list[Request[Any]], schedule: list[int]
) -> None:
    store_settings = StoreSettings([members], jitter=lambda: 0.0)
    with Engine.open(":memory:") as engine:
        Store(engine, store_settings).create_table(members)
        for request in before:
            run_alone(Running(engine, plan(store_settings, request)))
        running = [Running(engine, plan(store_settings, request)) for request in requests]
        for number in schedule:
            chosen = running[number % len(running)]
            if not chosen.is_done:
                chosen.advance()
        for each in running:
            run_alone(each)
        check_guards(engine.execute("Scan", {"TableName": "Members"})["Items"])


def run_alone(running: Running) -> None:
    while not running.is_done:
        running.advance()


def check_guards(items: list[Mapping[str, Any]]) -> None:
    guards = {each["pk"]["S"]: each[OWNER]["M"] for each in items if OWNER in each}
    wanted: dict[str, Any] = {}
    fields = Member.keyfold_schema().unique.values()
    for item in items:
        if is_guard(members, item):
            continue
        for field in fields:
            value = field.value_in(item)
            if value is not None:
                key = guard_key(members, field.guard, value)["pk"]["S"]
                assert key not in wanted  # or two items would have the value
                wanted[key] = {"pk": item["pk"]}
    assert guards == wanted


@settings(max_examples=300)
@given(
    st.lists(entities, min_size=1, max_size=2, unique_by=lambda each: each.id),
    st.lists(single | updates | swaps(), min_size=1, max_size=2),
    st.lists(st.integers(0, 2), min_size=8, max_size=24),
    st.booleans(),
)
def test_guards_that_are_made_while_writers_go_on_equal_the_items(
    before: list[Member], requests: list[Request[Any]], schedule: list[int], breaks: bool
) -> None:
    store_settings = StoreSettings([members], jitter=lambda: 0.0)
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", members.to_dynamodb())
        for member in before:
            # Without guards, or with those of another item, as no program of ours leaves them.
            item = Member.keyfold_schema().encode(member)
            engine.execute("PutItem", {"TableName": "Members", "Item": item})
        if breaks:
            stale = guard_item(members, "Member.email", {"S": "x"}, {"pk": {"S": "M#gone"}})
            engine.execute("PutItem", {"TableName": "Members", "Item": stale})
        audit = UniqueAudit(partial(repeat_call, lambda: 0.0), members, "Members")
        making = Running(engine, audit.complete(guard_names(members)))
        running = [making, *(Running(engine, plan(store_settings, each)) for each in requests)]
        for number in schedule:
            chosen = running[number % len(running)]
            if not chosen.is_done:
                chosen.advance()
        for each in reversed(running):
            run_alone(each)
        assert making.failure is None
        items = engine.execute("Scan", {"TableName": "Members"})["Items"]
        if making.result.is_good:
            check_guards(items)
        else:
            # Two items had a value before either had its guard: reported, and not complete.
            assert "duplicate" in making.result.found
