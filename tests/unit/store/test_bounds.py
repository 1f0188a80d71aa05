"""Updates that would take a field out of its bounds fail, and say which bound it is."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from keyfold.errors import ConditionFailed, NotFound, OutOfBounds, TransactionFailed
from keyfold.model import Entity, Key, Table, Update, attr, part, transaction
from tests.unit.store.store_kinds import AnyStore, OpenStore

table = Table("Bounds", key=Key("pk"))


class Member(Entity, table=table, key="M#{id}"):
    id: str = part()
    age: int = attr(default=20, ge=18, le=21)
    visits: int | None = attr(default=None, ge=2)
    notes: list[str] = attr(default_factory=list[str], max_length=2)
    tags: set[str] = attr(default_factory=lambda: {"a"}, min_length=1, max_length=2)
    prices: dict[str, int] = attr(default_factory=lambda: {"x": 1}, min_length=1, max_length=2)
    scores: list[int] = attr(default_factory=lambda: [1], min_length=1, max_length=2)
    lists: dict[str, list[int]] = attr(default_factory=dict[str, list[int]], max_length=1)
    born: datetime | None = None
    other: int = 0


f = Member.f
MEMBER = Member(id="1")


def start() -> Update[Member]:
    return Member.update(id="1")


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    store = open_store(table)
    store.run(MEMBER.create())
    return store


def run(store: AnyStore, *updates: Update[Any]) -> Member:
    for update in updates[:-1]:
        store.run(update)
    return store.run(updates[-1])


@pytest.mark.parametrize(
    ("updates", "fact"),
    [
        ([start().increment(f.age), start().increment(f.age)], "age plus 1 would not be at most 21"),
        ([start().increment(f.age, -3)], "age plus -3 would not be at least 18"),
        ([start().add(f.visits, 1)], "visits plus 1 would not be at least 2"),
        ([start().append(f.notes, "a", "b"), start().append(f.notes, "c")], "notes would have more than 2 members"),
        ([start().append(f.notes, "a", "b", "c")], "notes would have more than 2 members"),
        ([start().add(f.tags, {"b"}), start().add(f.tags, {"c"})], "tags might have more than 2 members"),
        ([start().delete(f.tags, {"a"})], "tags might have fewer than 1 members"),
        ([start().set(f.prices.y, 2), start().set(f.prices.z, 3)], "the value around prices.z would have more than 2 members"),
        ([start().remove(f.prices.x)], "the value around prices.x would have fewer than 1 members"),
        ([start().set(f.prices.y, 2).set(f.prices.z, 3)], "the value around prices.z would have more than 2 members"),
        ([start().set(f.scores[1], 2).set(f.scores[2], 3)], "the value around scores[2] would have more than 2 members"),
        ([start().set(f.scores[1], 2), start().remove(f.scores[0]).remove(f.scores[1])], "the value around scores[1] would have fewer than 1 members"),
        ([start().set(f.prices.y, 2), start().add(f.prices.z, 3)], "the value around prices.z would have more than 2 members"),
        ([start().append(f.lists.x, 1), start().append(f.lists.y, 1)], "the value around lists.y would have more than 1 members"),
        ([start().set(f.age, f.other)], "age would not be at least 18"),
    ],
)  # fmt: skip
def test_an_update_out_of_bounds_fails(
    store: AnyStore, updates: list[Update[Any]], fact: str
) -> None:
    with pytest.raises(OutOfBounds) as caught:
        run(store, *updates)
    assert caught.value.fact == fact
    assert isinstance(caught.value.found, Member)
    assert str(caught.value).endswith("[out-of-bounds]")


@pytest.mark.parametrize(
    ("updates", "field", "value"),
    [
        ([start().increment(f.age)], "age", 21),
        ([start().add(f.visits, 2), start().add(f.visits, 1)], "visits", 3),
        ([start().append(f.notes, "a", "b")], "notes", ["a", "b"]),
        ([start().add(f.tags, {"b"}), start().add(f.tags, {"a"})], "tags", {"a", "b"}),
        ([start().add(f.tags, {"b"}), start().delete(f.tags, {"a"})], "tags", {"b"}),
        ([start().delete(f.tags, {"z"})], "tags", {"a"}),
        ([start().set(f.prices.y, 2), start().set(f.prices.y, 3)], "prices", {"x": 1, "y": 3}),
        ([start().set(f.prices.y, 2), start().remove(f.prices.x)], "prices", {"y": 2}),
        ([start().set(f.prices.y, 2), start().add(f.prices.y, 3)], "prices", {"x": 1, "y": 5}),
        ([start().append(f.lists.x, 1), start().append(f.lists.x, 2)], "lists", {"x": [1, 2]}),
        ([start().set(f.other, 19), start().set(f.age, f.other)], "age", 19),
        ([start().set(f.born, "2001-02-03T00:00:00Z")], "born", datetime.fromisoformat("2001-02-03T00:00:00Z")),
    ],
)  # fmt: skip
def test_an_update_within_bounds_succeeds(
    store: AnyStore, updates: list[Update[Any]], field: str, value: Any
) -> None:
    assert getattr(run(store, *updates), field) == value


def test_the_cause_is_told_from_others(store: AnyStore) -> None:
    with pytest.raises(NotFound):
        store.run(Member.update(id="2").increment(f.age))
    with pytest.raises(ConditionFailed) as caught:
        store.run(start().increment(f.age).where(f.other.eq(5)))
    assert type(caught.value) is ConditionFailed
    # Whoever is to learn nothing of the item learns nothing of its bounds.
    with pytest.raises(ConditionFailed) as caught:
        store.run(start().increment(f.age, 5).returning_nothing())
    assert type(caught.value) is ConditionFailed


def test_a_transaction_names_the_bound(store: AnyStore) -> None:
    with pytest.raises(TransactionFailed) as caught:
        store.run(transaction(start().increment(f.age, 5)))
    (reason,) = caught.value.reasons
    assert isinstance(reason, OutOfBounds)
    assert reason.fact == "age plus 5 would not be at most 21"


def test_unchecked_changes_have_no_bounds(store: AnyStore) -> None:
    update = start().unchecked().increment(f.age, 5).returning_nothing()
    assert store.run(update) is None
