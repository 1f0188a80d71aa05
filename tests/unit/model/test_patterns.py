"""Access patterns explain themselves without a database."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from keyfold.errors import DeclarationInvalid, PatternFailed, PatternUnexplained, PatternUnknown
from keyfold.model import (
    Batch,
    Check,
    Delete,
    Entity,
    Get,
    Index,
    Key,
    Page,
    Put,
    Query,
    Request,
    Scan,
    Table,
    Transaction,
    Update,
    attr,
    batch,
    now,
    part,
    transaction,
)
from keyfold.model._patterns import Parameter, Pattern, PatternStep
from keyfold.requests import Chain, Count, First
from tests.unit.model.shop import (
    Address,
    Order,
    OrderId,
    OrderLine,
    OrderWithLines,
    Rate,
    Status,
    Ticket,
    User,
    by_base,
    by_id,
    by_key,
    by_owner,
    by_status,
    desk,
    rates,
)

table = Table("Patterns", key=Key("pk"))


def get_rate(base: str, target: str) -> Get[Rate]:
    """One rate."""
    return Rate.get(base=base.upper(), target=target[:3])


def by_base_currency(base: str) -> Query[Rate]:
    return Rate.query(by_base, base=base).where(Rate.f.expires > now)


def save(rate: Rate, ttl: timedelta) -> Put[Rate]:
    return rate.put().expiring_in(ttl)


def order_by_id(code: str) -> Chain[OrderWithLines | None]:
    return (
        Order.query(by_id, id=code, tp="order")
        .first()
        .then(lambda found: OrderWithLines.get(user=found.user, order=found.order))
    )


def since(user: str, first: OrderId, limit: int = 10) -> Query[Order]:
    return Order.query(user=user).since(first).limit(limit)


def lines_between(user: str, order: OrderId, low: int, high: int) -> Query[OrderLine]:
    return OrderLine.query(user=user, order=order).between(low, high)


def lately(team: str, status: Status) -> Query[Ticket]:
    return Ticket.query(by_status, team=team, status=status).since(now - timedelta(days=1))


def starting(team: str, start: str) -> Count:
    return Ticket.query(team=team).starting_with(start).count()


def all_open() -> Scan[Ticket]:
    return Ticket.scan().where(Ticket.f.status.eq(Status.OPEN))


def finish(team: str, number: int, title: str) -> Update[Ticket]:
    update = Ticket.update(team=team, number=number).set(Ticket.f.status, Status.DONE)
    return update.set(Ticket.f.title, title).where(Ticket.f.title.ne(title))


def drop(team: str, number: int) -> Delete[Ticket]:
    return Ticket.delete(team=team, number=number)


def file(ticket: Ticket) -> Put[Ticket]:
    return ticket.put()


def move(old: Rate, new: Rate) -> Transaction:
    return transaction(
        new.create(),
        Rate.delete(base=old.base, target=old.target),
        Rate.check(Rate.f.stale.eq(False), base="USD", target=new.target),
    )


def several(user: str, order: OrderId) -> Batch[OrderLine | None]:
    return batch([OrderLine.get(user=user, order=order, line=line) for line in range(150)])


def register(user: User) -> Put[User]:
    return user.create()


def rename(name: str, email: str) -> Update[User]:
    return User.update(name=name).set(User.f.email, email)


def annotate(name: str, note: str) -> Update[User]:
    return User.update(name=name).set(User.f.note, note)


def unregister(name: str) -> Delete[User]:
    return User.delete(name=name)


def move_email(name: str, other: str, email: str) -> Transaction:
    return transaction(
        User.update(name=name).set(User.f.email, None),
        User.update(name=other).set(User.f.email, email),
    )


def title_owner(owner: str) -> Chain[Query[Any] | None]:
    class Title(BaseModel):
        title: str

    found = Ticket.query(by_owner, owner=owner).only(Title).first()
    return found.then(lambda title: Rate.query(by_base, base=title.title))  # type: ignore[return-value]


def order_user(order: OrderId) -> Chain[Order | None]:
    return Order.query(by_key, order=order).refs().first().then(lambda ref: ref.get())


def first_any(pk: str) -> First[Any]:
    return desk.query(pk=pk).first()


EXPLAINED: list[tuple[Any, dict[str, Any], list[PatternStep]]] = [
    (get_rate, {}, [PatternStep("GetItem", "ExchangeRates", None, "PK='RATE#{base.upper()}#{target[:3]}'")]),
    (by_base_currency, {}, [PatternStep("Query", "ExchangeRates", "BaseCurrencyIndex", "Base = '{base}'", filters=True, lags=True)]),
    (save, {"ttl": timedelta(days=1)}, [PatternStep("PutItem", "ExchangeRates", None, "PK='RATE#{rate.base}#{rate.target}'")]),
    (
        order_by_id,
        {},
        [
            PatternStep("Query", "Market", "IdLookupIndex", "id = '{code}' and tp = 'order'", lags=True),
            PatternStep("Query", "Market", None, "pk = 'U#{found.user}#O' and sk begins with '{found.order}'"),
        ],
    ),
    (since, {}, [PatternStep("Query", "Market", None, "pk = 'U#{user}#O' and sk >= '{first}'")]),
    (
        lines_between,
        {},
        [PatternStep("Query", "Market", None, "pk = 'U#{user}#O' and sk between '{order}#{low}' and '{order}#{high}'")],
    ),
    (lately, {}, [PatternStep("Query", "Desk", "ByStatus", "gsi1pk = 'STATUS#{status}#{team}' and gsi1sk >= {now - 1 day, 0:00:00}", lags=True)]),
    (starting, {}, [PatternStep("Query", "Desk", None, "pk = 'TEAM#{team}' and sk begins with 'TICKET#{start}'")]),
    (all_open, {}, [PatternStep("Scan", "Desk", None, "", scans=True, filters=True)]),
    (finish, {}, [PatternStep("UpdateItem", "Desk", None, "pk='TEAM#{team}' sk='TICKET#{number}'")]),
    (drop, {}, [PatternStep("DeleteItem", "Desk", None, "pk='TEAM#{team}' sk='TICKET#{number}'")]),
    (file, {}, [PatternStep("PutItem", "Desk", None, "pk='TEAM#{ticket.team}' sk='TICKET#{ticket.number}'")]),
    (
        move,
        {},
        [
            PatternStep(
                "TransactWriteItems",
                "ExchangeRates",
                None,
                "PK='RATE#{new.base}#{new.target}'; PK='RATE#{old.base}#{old.target}'; PK='RATE#USD#{new.target}'",
            )
        ],
    ),
    (register, {}, [PatternStep("TransactWriteItems", "Accounts", None, "pk='USER#{user.name}' sk='USER'")]),
    (
        rename,
        {},
        [
            PatternStep("GetItem", "Accounts", None, "pk='USER#{name}' sk='USER'"),
            PatternStep("TransactWriteItems", "Accounts", None, "pk='USER#{name}' sk='USER'"),
            PatternStep("GetItem", "Accounts", None, "pk='USER#{name}' sk='USER'"),
        ],
    ),
    (annotate, {}, [PatternStep("UpdateItem", "Accounts", None, "pk='USER#{name}' sk='USER'")]),
    (
        unregister,
        {},
        [
            PatternStep("GetItem", "Accounts", None, "pk='USER#{name}' sk='USER'"),
            PatternStep("TransactWriteItems", "Accounts", None, "pk='USER#{name}' sk='USER'"),
        ],
    ),
    (
        move_email,
        {},
        [
            PatternStep("GetItem", "Accounts", None, "pk='USER#{name}' sk='USER'"),
            PatternStep("GetItem", "Accounts", None, "pk='USER#{other}' sk='USER'"),
            PatternStep("TransactWriteItems", "Accounts", None, "pk='USER#{name}' sk='USER'; pk='USER#{other}' sk='USER'"),
        ],
    ),
    (
        title_owner,
        {},
        [
            PatternStep("Query", "Desk", "ByOwner", "owner = '{owner}'", lags=True),
            PatternStep("Query", "ExchangeRates", "BaseCurrencyIndex", "Base = '{found.title}'", lags=True),
        ],
    ),
    (
        order_user,
        {},
        [
            PatternStep("Query", "Market", "ReverseIndex", "sk = '{order}' and pk begins with 'U#'", lags=True),
            PatternStep("GetItem", "Market", None, "pk='U#{found.user}#O' sk='{found.order}'"),
        ],
    ),
    (first_any, {}, [PatternStep("Query", "Desk", None, "pk = '{pk}'")]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "example", "steps"), EXPLAINED)
def test_a_pattern_explains_itself(
    make: Any, example: dict[str, Any], steps: list[PatternStep]
) -> None:
    own = Table("Own", key=Key("pk"))
    pattern: Any = own.pattern("name", example=example)(make)
    explained = pattern.explain()
    assert list(explained.steps) == steps
    assert explained.pattern == "name"
    assert explained.round_trips == len(steps)
    assert explained.scans is any(step.scans for step in steps)
    assert explained.filters is any(step.filters for step in steps)


def test_a_batch_explains_each_of_its_calls() -> None:
    explained = Table("Tab", key=Key("pk")).pattern("several")(several).explain()
    assert [step.operation for step in explained.steps] == ["BatchGetItem", "BatchGetItem"]
    assert explained.steps[1].key.startswith("pk='U#{user}#O' sk='{order}#100'; ")


def test_patterns_are_listed_with_parameters_and_types() -> None:
    own = Table("Own", key=Key("pk"))
    pattern = own.pattern("Get")(get_rate)
    own.pattern("Since")(since)
    assert list(own.patterns) == ["Get", "Since"]
    assert own.patterns["Get"] is pattern
    assert pattern.description == "One rate."
    assert pattern.parameters == (
        Parameter("base", str, is_required=True),
        Parameter("target", str, is_required=True),
    )
    assert own.patterns["Since"].parameters == (
        Parameter("user", str, is_required=True),
        Parameter("first", OrderId, is_required=True),
        Parameter("limit", int, is_required=False),
    )
    assert repr(pattern) == "<Pattern 'Get'>"
    assert pattern("usd", "euros").to_dynamodb()["Key"] == {"PK": {"S": "RATE#USD#eur"}}


def test_a_pattern_that_takes_no_placeholder_says_to_give_an_example() -> None:
    def within(base: str, days: int) -> Query[Rate]:
        return Rate.query(by_base, base=base).where(Rate.f.at > now - timedelta(days=days))

    def branches(base: str, stale: bool) -> Query[Rate]:
        query = Rate.query(by_base, base=base)
        return query.where(Rate.f.stale.eq(True)) if stale else query

    def compares(base: str) -> Query[Rate]:
        return Rate.query(by_base, base="EUR" if base == "eur" else base)

    def counts(bases: list[str]) -> Query[Rate]:
        return Rate.query(by_base, base="EUR").limit(len(bases))

    makes: list[Any] = [within, branches, compares, counts]
    for make in makes:
        own = Table("Own", key=Key("pk"))
        pattern: Any = own.pattern("name")(make)
        with pytest.raises(PatternUnexplained, match=r"Declare it with example=") as caught:
            pattern.explain()
        assert str(caught.value).startswith("pattern 'name': it cannot be called with placeholders")
    own = Table("Own", key=Key("pk"))
    explained = own.pattern("ok", example={"days": 2})(within).explain()
    assert explained.steps[0].key == "Base = '{base}'"
    assert explained.filters


def test_a_pattern_may_make_models_of_its_arguments() -> None:
    def register(name: str, at: datetime) -> Put[User]:
        return User(name=name, email=f"{name}@example.com").create()

    def move(team: str, number: int, city: str) -> Update[Ticket]:
        update = Ticket.update(team=team, number=number)
        return update.set(Ticket.f.address, Address(city=city))

    def add(order: Order, skus: list[str]) -> Transaction:
        return transaction(
            order.create(),
            *(
                OrderLine(user=order.user, order=order.order, line=number, sku=sku).create()
                for number, sku in enumerate(skus, 1)
            ),
        )

    [step] = Pattern("Register", register, None).explain().steps
    assert "{name}" in step.key
    [step] = Pattern("Move", move, None).explain().steps
    assert "{team}" in step.key
    [step] = Pattern("Add", add, None).explain().steps
    assert step.key.count("{order.user}") == 2


def test_a_model_that_takes_no_placeholder_is_named() -> None:
    class Code(BaseModel):
        code: str = attr(pattern="[A-Z]{3}")

    def make(name: str) -> Put[User]:
        return User(name=Code(code=name).code).create()

    with pytest.raises(PatternUnexplained, match=r"Code validates code when it is created"):
        Pattern("name", make, None).explain()


def test_placeholders_stand_inside_nested_values() -> None:
    def move(team: str, address: Address, name: str, place: int) -> Update[Ticket]:
        return (
            Ticket.update(team=team, number=1)
            .set(Ticket.f.address, address)
            .set(Ticket.f.counts[name], 1)
            .set(Ticket.f.steps[place], name)
            .set(Ticket.f.addresses, [address])
        )

    explained = Table("Own", key=Key("pk")).pattern("move")(move).explain()
    assert [step.key for step in explained.steps] == ["pk='TEAM#{team}' sk='TICKET#00001'"]


def test_a_placeholder_cannot_index_a_field_without_members() -> None:
    def wrong(name: str) -> Update[Ticket]:
        return Ticket.update(team="a", number=1).set(Ticket.f.title[name], 1)

    with pytest.raises(PatternFailed, match=r"PathInvalid: .*it has no members"):
        Table("Own", key=Key("pk")).pattern("wrong")(wrong).explain()


def test_requests_for_each_of_several_items_are_explained_once() -> None:
    def of_arguments(bases: list[str]) -> Batch[Rate | None]:
        return batch([Rate.get(base=each, target="EUR") for each in bases])

    def of_a_page(user: str) -> Chain[list[Order | None]]:
        return Order.query(user=user).then(
            lambda page: batch([Order.get(user=each.user, order=each.order) for each in page])
        )

    def of_refs(order: OrderId) -> Chain[list[Order | None]]:
        refs = Order.query(by_key, order=order).refs()
        return refs.then(lambda page: batch([each.get() for each in page]))

    def of_a_place(user: str) -> Chain[Order | None]:
        query = Order.query(user=user).limit(2)
        return query.then(lambda page: Order.get(user=page[0].user, order=page[-1].order))

    def of_a_cursor(user: str) -> Chain[Page[Order]]:
        query = Order.query(user=user).limit(2)
        return query.then(lambda page: query.after(page.cursor))

    def of_every_page(user: str) -> Chain[Any]:
        query = Order.query(user=user)

        def go_on(page: Page[Order]) -> Request[Any]:
            if page.cursor is not None:
                return query.after(page.cursor).then(go_on)
            return batch([Order.get(user=each.user, order=each.order) for each in page[:9]])

        return query.then(go_on)

    own = Table("Own", key=Key("pk"))
    each = "pk='U#{found[i].user}#O' sk='{found[i].order}'"
    cases: list[tuple[Any, str]] = [
        (of_arguments, "PK='RATE#{bases[i]}#EUR'"),
        (of_a_page, each),
        (of_refs, each),
        (of_a_place, "pk='U#{found[0].user}#O' sk='{found[-1].order}'"),
        (of_every_page, each),
        (of_a_cursor, "pk = 'U#{user}#O' and sk begins with 'O#'"),
    ]
    for make, key in cases:
        pattern: Any = own.pattern(make.__name__)(make)
        assert pattern.explain().steps[-1].key == key


def test_members_of_a_list_get_the_placeholders_of_their_type() -> None:
    def place(order: Order, lines: list[OrderLine]) -> Transaction:
        return transaction(order.create(), *(line.create() for line in lines))

    def place_some(lines: tuple[OrderLine, ...], sizes: dict[str, int]) -> Batch[OrderLine]:
        assert str(sizes["a"]) == '{sizes["a"]}'
        return batch([lines[0].put(), *(line.put() for line in lines[1:])])

    [step] = Pattern("Place", place, None).explain().steps
    assert "'U#{lines[i].user}" in step.key
    assert "'U#{order.user}" in step.key
    [step] = Pattern("Place some", place_some, None).explain().steps
    assert "lines[0].user" in step.key
    assert "lines[1:][i].user" in step.key


def test_an_invalid_pattern_is_refused() -> None:
    own = Table("Own", key=Key("pk"))
    own.pattern("Get")(get_rate)
    with pytest.raises(DeclarationInvalid, match="pattern 'Get' is declared twice"):
        own.pattern("Get")
    with pytest.raises(
        DeclarationInvalid, match="its example has 'bsae', which is not one of its parameters"
    ):
        own.pattern("Other", example={"bsae": "USD"})(get_rate)
    with pytest.raises(PatternUnknown, match="it has no pattern 'Gte'; it has Get"):
        own.patterns["Gte"]


def test_a_function_that_returns_no_request_is_refused() -> None:
    def wrong(base: str) -> Any:
        return base

    with pytest.raises(PatternFailed, match=r"its result: \{base\} is not a request"):
        Table("Own", key=Key("pk")).pattern("wrong")(wrong).explain()


def test_global_indexes_lag_and_local_ones_do_not() -> None:
    by_day, by_size = (
        Index("ByDay", key=Key("day")),
        Index("BySize", key=Key("pk", "n"), local=True),
    )
    own = Table("Own", key=Key("pk", "sk"), indexes=[by_day, by_size])

    class Parcel(Entity, table=own, key=("P#{user}", "{id}")):
        user: str = part()
        id: str = part()
        day: str
        n: int

    @own.pattern("by day")
    def of_day(day: str) -> Query[Parcel]:
        return Parcel.query(by_day, day=day)

    @own.pattern("all")
    def every() -> Scan[Parcel]:
        return Parcel.scan(by_day)

    @own.pattern("by size")
    def of_size(user: str) -> Query[Parcel]:
        return Parcel.query(by_size, user=user)

    @own.pattern("drop the first of a day")
    def drop_first(day: str) -> Chain[Any]:
        return of_day(day).first().then(lambda found: found.delete())

    @own.pattern("drop, then look at the day")
    def look_last(user: str, day: str) -> Chain[Any]:
        return Parcel.delete(user=user, id="1").then(lambda _: of_day(day))

    explained = {each: pattern.explain() for each, pattern in own.patterns.items()}
    assert {each: one.lagging_indexes for each, one in explained.items()} == {
        "by day": ("ByDay",),
        "all": ("ByDay",),
        "by size": (),
        "drop the first of a day": ("ByDay",),
        "drop, then look at the day": ("ByDay",),
    }
    assert [each for each, one in explained.items() if one.writes_after_lag] == [
        "drop the first of a day"
    ]


def test_types_that_are_local_to_a_function_do_not_matter() -> None:
    index = Index("Ind", key=Key("day"))
    own = Table("Own", key=Key("pk"), indexes=[index])

    class Local(Entity, table=own, key="L#{id}"):
        id: str
        day: str

    @own.pattern("by day")
    def by_day(day: str) -> Query[Local]:
        return Local.query(index, day=day)

    assert by_day.explain().steps == (
        PatternStep("Query", "Own", "Ind", "day = '{day}'", lags=True),
    )


def test_an_entity_of_every_type_can_be_an_argument() -> None:
    own = Table("Own", key=Key("pk"), ttl="ttl")

    class Inner(BaseModel):
        x: int

    class All(Entity, table=own, key="ALL#{id}#{day}"):
        id: str
        day: datetime
        flag: bool
        amount: Decimal
        tags: set[str]
        names: list[str]
        inner: Inner
        table: dict[str, int]
        status: Status
        data: bytes

    @own.pattern("save")
    def put_all(whole: All) -> Put[Any]:
        return whole.put()

    make: Any = put_all
    make.make.__annotations__["whole"] = All
    assert make.explain().steps[0].key == "pk='ALL#{whole.id}#{whole.day}'"


def test_a_request_names_its_tables() -> None:
    checked: Check = Rate.check(Rate.f.rate > 1, base="a", target="b")
    request: Request[Any] = Rate.query(by_base, base="USD")
    assert (checked.tables, request.tables) == ((rates,), (rates,))
    assert isinstance(Page([1]), Page)


def test_a_range_of_an_attribute_is_explained_whatever_its_arguments_are_called() -> None:
    meters = Table("Meters", key=Key("meter", "reading"))

    class Reading(Entity, table=meters, key=("{meter}", "{reading}")):
        meter: str
        reading: int

    @meters.pattern("Readings between")
    def readings(meter: str, low: int, high: int) -> Query[Reading]:
        return Reading.query(meter=meter).between(low, high)

    [step] = readings.explain().steps
    assert step.key == "meter = '{meter}' and reading between '{low}' and '{high}'"
    assert readings.placeholder_request() == readings.placeholder_request()
