"""Conditions in Python, and the expressions that they become."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import pytest

from keyfold.errors import (
    ConditionAsTruth,
    FieldUnknown,
    KeyfoldError,
    PathInvalid,
    QueryInvalid,
    ValueInvalid,
)
from keyfold.model import Condition, Entity, Key, Table, attr, now
from tests.unit.model.shop import Address, Order, Rate, Status, Ticket
from tests.unit.model.spelling import spell

NOW = datetime(2024, 1, 1, tzinfo=UTC)
f = Ticket.f


def show(condition: Condition, moment: datetime = NOW) -> str:
    request = Ticket.query(team="x").where(condition).to_dynamodb(now=moment)
    return spell(request, "FilterExpression")


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (f.title.eq("a"), "title = a"),
        (f.title.ne("a"), "title <> a"),
        (f.watchers < 3, "watchers < 3"),
        (f.watchers <= 3, "watchers <= 3"),
        (f.watchers > 3, "watchers > 3"),
        (f.watchers >= 3, "watchers >= 3"),
        (3 < f.watchers,  # noqa: SIM300 - the point
         "watchers > 3"),
        (f.watchers.between(1, 3), "watchers BETWEEN 1 AND 3"),
        (f.title.in_("a", "b"), "title IN (a, b)"),
        (f.title.in_(each for each in "ab"), "title IN (a, b)"),
        (f.owner.exists(), "attribute_exists(owner)"),
        (f.owner.not_exists(), "attribute_not_exists(owner)"),
        (f.title.begins_with("a"), "begins_with(title, a)"),
        (f.title.contains("a"), "contains(title, a)"),
        (f.tags.contains("a"), "contains(tags, a)"),
        (f.steps.contains("a"), "contains(steps, a)"),
        (f.addresses.contains(Address(city="Bonn")), "contains(addresses, M:{'c': {'S': 'Bonn'}, 'size': {'N': '0'}})"),
        (f.tags.size.eq(2), "size(tags) = 2"),
        (f.tags.size.ne(2), "size(tags) <> 2"),
        (f.steps.size > 2, "size(steps) > 2"),
        (f.steps.size >= 2, "size(steps) >= 2"),
        (f.steps.size < 2, "size(steps) < 2"),
        (f.steps.size <= 2, "size(steps) <= 2"),
        (f.title.size.between(1, 2), "size(title) BETWEEN 1 AND 2"),
        (f.status.eq(Status.OPEN), "status = open"),
        (f.opened > now - timedelta(days=1), "opened > 2023-12-31T00:00:00.000000Z"),
        (f.opened.in_(now, NOW + timedelta(1)), "opened IN (2024-01-01T00:00:00.000000Z, 2024-01-02T00:00:00.000000Z)"),
        (f.address.city.eq("Bonn"), "address.c = Bonn"),
        (f.address["size"].eq(3), "address.size = 3"),
        (f.address.size > 1, "size(address) > 1"),
        (f.addresses[1].zip.exists(), "attribute_exists(addresses[1].zip)"),
        (f.counts["a b"] > 1, "counts.a b > 1"),
        (f.counts.a > 1, "counts.a > 1"),
        (f.counts["_x"] > 1, "counts._x > 1"),
        (f.steps[0].eq("x"), "steps[0] = x"),
        (f.title.eq(f.owner), "title = owner"),
        (f.tags.eq({"b", "a"}), "tags = SS:['a', 'b']"),
        (f.title.eq("a") & f.owner.exists(), "title = a AND attribute_exists(owner)"),
        (f.title.eq("a") | f.owner.exists(), "title = a OR attribute_exists(owner)"),
        (~f.title.eq("a"), "NOT (title = a)"),
        (
            (f.title.eq("a") | f.title.eq("b")) & ~(f.owner.exists() & f.watchers.eq(1)),
            "(title = a OR title = b) AND NOT (attribute_exists(owner) AND watchers = 1)",
        ),
    ],
)  # fmt: skip
def test_operators_become_expressions(condition: Condition, text: str) -> None:
    assert show(condition) == text


def test_values_are_encoded_by_the_field_they_meet() -> None:
    request = Rate.query(base="a", target="b").where(Rate.f.at.eq(NOW) & (Rate.f.rate > 1))
    values = request.to_dynamodb(now=NOW)["ExpressionAttributeValues"]
    assert values[":1"] == {"N": "1704067200"}
    assert values[":2"] == {"N": "1"}


def test_equal_values_and_names_share_a_placeholder() -> None:
    request = Ticket.query(team="x").where(f.owner.eq("a") | f.title.eq("a") | f.owner.eq("a"))
    body = request.to_dynamodb()
    assert body["FilterExpression"] == "(#0 = :2 OR title = :2) OR #0 = :2"


def test_reserved_words_never_reach_an_expression() -> None:
    table = Table("Tab", key=Key("pk"))

    class Odd(Entity, table=table, key="{id}"):
        id: str
        name: str
        status: str = attr("size")
        odd: str = attr("a.b c-#")

    condition = Odd.f.name.eq("x") & Odd.f.status.exists() & Odd.f.odd.exists()
    body = Odd.query(id="1").where(condition).to_dynamodb()
    assert body["FilterExpression"] == (
        "(#0 = :1 AND attribute_exists(#1)) AND attribute_exists(#2)"
    )
    assert body["ExpressionAttributeNames"]["#2"] == "a.b c-#"


def test_a_condition_has_no_truth_value() -> None:
    # Typed Any, because a type checker would refuse these, too.
    either: Any = f.title.eq("a")
    watchers: Any = f.watchers
    for use in (
        lambda: bool(either),
        lambda: either and f.owner.exists(),
        lambda: either or f.owner.exists(),
        lambda: not either,
        lambda: 1 < watchers < 5,
        lambda: [each for each in [1] if either],
    ):
        with pytest.raises(ConditionAsTruth, match=r"Combine conditions with &, \| and ~"):
            use()


@pytest.mark.parametrize(
    ("build", "kind", "text"),
    [
        (lambda: f.title == "a", PathInvalid, r"Write Ticket.f.title.eq\(...\)"),
        (lambda: f.title != "a", PathInvalid, r"Write Ticket.f.title.ne\(...\)"),
        (lambda: f.tags.size == 1, PathInvalid, r"Write Ticket.f.tags.size.eq\(...\)"),
        (lambda: f.tags.size != 1, PathInvalid, "ne"),
        (lambda: bool(f.title), PathInvalid, "has no truth value"),
        (lambda: bool(f.tags.size), PathInvalid, "has no truth value"),
        (lambda: f.nothing, FieldUnknown, "Ticket: unknown field 'nothing'; known fields: team"),
        (lambda: f.address.nothing, FieldUnknown, "known fields: city, zip, size"),
        (lambda: f.address["c"], FieldUnknown, "known fields: city, zip, size"),
        (lambda: f.title.x, PathInvalid, "Ticket.f.title is not a map"),
        (lambda: f.title[0], PathInvalid, "Ticket.f.title is not a list"),
        (lambda: f.tags[0], PathInvalid, "is not a list"),
        (lambda: f.steps.x, PathInvalid, "is not a map"),
        (lambda: f.steps[-1], PathInvalid, "those start at 0"),
        (lambda: f.steps[cast(Any, slice(1))], PathInvalid, "not a list position"),
        (lambda: f.title.eq(5), PathInvalid, "Ticket.f.title: 5 is not of its type"),
        (lambda: f.watchers.eq("5"), PathInvalid, "'5' is not of its type"),
        (lambda: f.watchers.eq(1.5), ValueInvalid, "Ticket.f.watchers: the field takes no float: 1.5"),
        (lambda: f.watchers.eq(Decimal("1.5")), PathInvalid, "is not of its type"),
        (lambda: Rate.f.rate.eq(0.5), ValueInvalid, "Use Decimal"),
        (lambda: Rate.f.stale.eq("no"), PathInvalid, "is not of its type"),
        (lambda: f.status.eq("lost"), PathInvalid, "'lost' is not of its type"),
        (lambda: Order.f.tp.eq("rate"), PathInvalid, "'rate' is not of its type"),
        (lambda: f.opened > "2024", PathInvalid, "is not of its type"),
        (lambda: f.opened > datetime(2024, 1, 1), ValueInvalid, "has no time zone"),  # noqa: DTZ001 - the point
        (lambda: f.title.eq(now), PathInvalid, "is not of its type"),
        (lambda: f.tags.eq(["a"]), PathInvalid, "is not of its type"),
        (lambda: f.steps.eq("abc"), PathInvalid, "is not of its type"),
        (lambda: f.address.eq({"city": "x"}), PathInvalid, "is not of its type"),
        (lambda: f.watchers.begins_with("a"), PathInvalid, "is for text and bytes"),
        (lambda: f.title.begins_with(cast(Any, 5)), PathInvalid, "neither text nor bytes"),
        (lambda: f.watchers.contains(1), PathInvalid, "is for text, bytes, lists and sets"),
        (lambda: f.tags.contains(5), PathInvalid, "5 is not of its type"),
        (lambda: f.watchers.size, PathInvalid, "have no size"),
        (lambda: f.tags.size > cast(Any, 1.5), PathInvalid, "a size is an int"),
        (lambda: f.title.in_(*[]), PathInvalid, "takes 1 to 100 options, not 0"),
        (lambda: f.title.in_(*["x"] * 101), PathInvalid, "not 101"),
        (lambda: f.title.exists() & True, QueryInvalid, "a condition is expected, but got True"),  # type: ignore[operator]
        (lambda: f.title.exists() | f.owner, QueryInvalid, "but got Ticket.f.owner"),  # type: ignore[operator]
        (lambda: Order.f.user, PathInvalid, "is stored only as part of the item's key"),
    ],
)  # fmt: skip
def test_an_invalid_condition_is_refused_when_it_is_built(
    build: Any, kind: type[KeyfoldError], text: str
) -> None:
    with pytest.raises(kind, match=text) as caught:
        build()
    assert str(caught.value).endswith(f"[{kind.code}]")


def test_a_value_that_changes_later_does_not_reach_a_condition() -> None:
    steps, tags = ["a"], {"a"}
    condition = f.steps.eq(steps) & f.tags.eq(tags) & f.steps[0].in_(*steps)
    steps.append("b")
    tags.add("b")
    assert show(condition) == "(steps = L:[{'S': 'a'}] AND tags = SS:['a']) AND steps[0] IN (a)"


def test_now_inside_a_value_is_resolved_when_the_request_runs() -> None:
    table = Table("Tab", key=Key("pk"))

    class Log(Entity, table=table, key="{id}"):
        id: str
        times: list[datetime]

    times: list[Any] = [NOW, now]
    condition = Log.f.times.eq(times)
    times.clear()
    for moment in (NOW, NOW + timedelta(hours=1)):
        values = Log.query(id="1").where(condition).to_dynamodb(now=moment)
        assert values["ExpressionAttributeValues"][":1"] == {
            "L": [
                {"S": "2024-01-01T00:00:00.000000Z"},
                {"S": f"2024-01-01T{moment:%H}:00:00.000000Z"},
            ]
        }


def test_conditions_are_readable() -> None:
    condition = ~(f.title.eq("a") & (f.opened > now)) | f.tags.contains("x" * 200)
    assert repr(condition) == (
        f"NOT (title = 'a' AND opened > now) OR contains(tags, {'x' * 200!r:.80}…)"
    )
    assert repr(f.addresses[0].city) == "Ticket.f.addresses[0].city"


def test_free_form_entities_have_any_field() -> None:
    table = Table("Tab", key=Key("pk"))

    class Free(Entity, table=table, key="F#{id}", extra="allow"):
        id: str = attr("i")

    assert repr(Free.f.anything.at[0].all.eq(5)) == "anything.at[0].all = 5"
    for name in ("pk", "i"):
        with pytest.raises(FieldUnknown):
            Free.f[name]
