"""The room of patterns: lists, forms, explanations, runs and costs, on every included design."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from keyfold import Entity, Key, Put, Query, Scan, Table, attr, part
from keyfold.analysis import SampleData, find_sample
from keyfold.engine import Engine
from keyfold.model import Pattern
from keyfold.requests import Count
from keyfold.studio._actions import make_call, show_calls
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import make_workspace
from keyfold.studio._problems import describe_problem
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms._pattern_forms import find_fields
from keyfold.studio.rooms._pattern_steps import find_handed
from keyfold.studio.rooms._profiles import ProfileCache
from keyfold.studio.rooms.patterns import ACTIONS

DESIGNS = ("exchange_rates", "letsgo", "market", "pantry")
TABLES: list[Table] = [import_module(f"keyfold.designs.{name}").table for name in DESIGNS]
PATTERNS = [
    pytest.param(table, pattern, id=f"{table.name}-{pattern.__name__}")
    for table in TABLES
    for pattern in table.patterns.values()
]
KINDS = {
    *("text", "secret", "number", "integer", "time", "date", "duration", "choice", "boolean"),
    *("id", "uuid", "model", "list", "set", "map", "json"),
}
_BY_NAME = {each.name: each for each in ACTIONS}
# The examples of the designs have not expired at this time.
MOMENT = 1_767_268_900.0
# Patterns are measured once: it takes a second or two.
PROFILES = ProfileCache(20)


class Room:
    """The actions of the room, on a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def act(self, action: str, table: str, **body: Any) -> Any:
        """Ask for an action, as the browser does."""
        return self.answer(action, table, **body)["result"]

    def answer(self, action: str, table: str, **body: Any) -> dict[str, Any]:
        """Return the result of an action, or its problem, with the calls that it made."""
        given = json.loads(json.dumps({"table": table, **body}))
        call = make_call(self.workspace, StudioBody(given))
        told: dict[str, Any] = {}
        try:
            told["result"] = json.loads(json.dumps(_BY_NAME[f"patterns/{action}"].run(call)))
        except Exception as error:
            problem = describe_problem(error)
            if problem.status == 500:
                raise
            told["error"] = {**problem.to_json(), "status": problem.status}
        told["calls"] = show_calls(call.table, call.recorder.calls)
        return told


@cache
def sample_of(table: Table) -> SampleData:
    """Return the examples of a table, completed once."""
    return find_sample(table)


def fill(engine: Engine, *tables: Table) -> Engine:
    """Write the examples of tables."""
    for table in tables:
        engine.execute("CreateTable", table.to_dynamodb())
        for item in sample_of(table).items:
            engine.execute("PutItem", {"TableName": table.name, "Item": item})
    return engine


def open_workspace(engine: Engine, *tables: Table) -> Workspace:
    """Return a workspace of tables with their examples."""
    workspace = make_workspace(fill(engine, *tables), tables, clock=lambda: MOMENT)
    workspace.remember(("costs", "profiles"), lambda: PROFILES)
    return workspace


@pytest.fixture(scope="module")
def shared() -> Iterator[Room]:
    """The four designs with their examples; tests of it do not write."""
    with Engine.open(":memory:", clock=lambda: MOMENT) as engine:
        yield Room(open_workspace(engine, *TABLES))


@pytest.fixture
def room() -> Iterator[Room]:
    """The market with its examples."""
    from keyfold.designs.market import table

    with Engine.open(":memory:", clock=lambda: MOMENT) as engine:
        yield Room(open_workspace(engine, table))


def test_the_list_has_every_pattern_with_units_once_they_are_measured(shared: Room) -> None:
    plain = shared.act("list", "Market")
    assert not plain["measured"]
    assert all(each["units"] is None for each in plain["patterns"])
    measured = shared.act("list", "Market", measured=True)["patterns"]
    assert [each["name"] for each in plain["patterns"]] == [each["name"] for each in measured]
    by_name = {each["name"]: each for each in measured}
    assert by_name["user_profile"]["units"] == {"read": 0.5, "write": 0.0}
    assert not by_name["user_profile"]["writes"]
    assert by_name["place_order"]["writes"]
    assert by_name["place_order"]["units"]["write"] == 14


def test_the_list_has_the_findings_of_lint(shared: Room) -> None:
    found = shared.act("list", "Market", measured=True)["patterns"]
    [listed] = [each for each in found if each["name"] == "last_orders"]
    codes = {each["code"]: each["severity"] for each in listed["findings"]}
    # It reads the lines that lie between the orders.
    assert codes["P03"] == "warning"


@pytest.mark.parametrize(("table", "pattern"), PATTERNS)
def test_every_pattern_has_a_form_and_an_explanation(
    shared: Room, table: Table, pattern: Pattern[..., Any]
) -> None:
    name = pattern.__name__
    form = shared.act("form", table.name, pattern=name, measured=True)
    assert [each["name"] for each in form["inputs"]] == [each.name for each in pattern.parameters]
    assert {each["kind"] for each in find_fields(form["inputs"])} <= KINDS
    required = {each["name"] for each in form["inputs"] if each["required"]}
    assert required <= form["sample"].keys()
    plain = shared.act("explain", table.name, pattern=name)
    assert plain["steps"]
    assert plain["writes"] == form["writes"]
    given = json.dumps(form["sample"])
    explained = shared.answer("explain", table.name, pattern=name, arguments=given)
    assert "error" in explained or explained["result"]["concrete"]
    assert explained["calls"] == []
    cost = shared.act("cost", table.name, pattern=name, calls=10_000_000)
    assert cost["usd"] > 0
    code = shared.answer("code", table.name, pattern=name, arguments=given)
    assert "error" in code or code["result"]["python"]["text"]


@pytest.mark.parametrize(("table", "pattern"), PATTERNS)
def test_every_pattern_runs_with_its_sample(table: Table, pattern: Pattern[..., Any]) -> None:
    with Engine.open(":memory:", clock=lambda: MOMENT) as engine:
        room = Room(open_workspace(engine, table))
        form = room.act("form", table.name, pattern=pattern.__name__, measured=True)
        action = "write" if form["writes"] else "run"
        given = json.dumps(form["sample"])
        told = room.answer(action, table.name, pattern=pattern.__name__, arguments=given)
        if "error" in told:
            # As the store words it: what the sample says exists already, or has changed since.
            assert told["error"]["status"] in (404, 409, 422)
            assert told["error"]["code"] != "internal-error"
        else:
            assert told["calls"]
            assert len(told["result"]["handed"]) == len(told["calls"])


def test_a_stored_sample_finds_something(shared: Room) -> None:
    sample = shared.answer("sample", "Market", pattern="last_orders", stored=True)
    assert sample["result"]["source"] == "stored items"
    assert [each["operation"] for each in sample["calls"]] == ["Scan"]
    given = json.dumps(sample["result"]["arguments"])
    assert shared.act("run", "Market", pattern="last_orders", arguments=given)["count"] > 0


def test_a_role_that_may_not_scan_gets_the_declared_sample(shared: Room) -> None:
    customer = {"roles": ["customer"], "ids": {"user": "rabinovich"}}
    told = shared.act("sample", "Market", pattern="last_orders", stored=True, **{"as": customer})
    assert told["source"] == "the table's examples"
    assert told["arguments"]["user"] == "rabinovich"


def test_forms_have_an_input_for_each_type(shared: Room) -> None:
    inputs = shared.act("form", "Market", pattern="place_order")["inputs"]
    cart, order, number, ttl = inputs
    assert (cart["kind"], cart["entity"]) == ("model", "Cart")
    lines = next(each for each in cart["fields"] if each["name"] == "lines")
    assert lines["kind"] == "map"
    assert (order["kind"], order["head"]) == ("id", "O#")
    assert (number["kind"], number["nullable"], number["required"]) == ("text", True, True)
    assert (ttl["kind"], ttl["required"]) == ("time", False)
    rate, lasting = shared.act("form", "ExchangeRates", pattern="save")["inputs"]
    kinds = {each["name"]: each["kind"] for each in rate["fields"]}
    assert (kinds["rate"], kinds["stale"], kinds["at"]) == ("number", "boolean", "time")
    assert lasting["kind"] == "duration"


def test_arguments_keep_all_digits(room: Room) -> None:
    digits = "0.12345678901234567890123456789012345678"
    given = json.dumps({"user": "eve", "order": "O#01JZ10H7X367VB2NF4YQ973DHW", "total": digits})
    told = room.act("explain", "Market", pattern="record_total", arguments=given)
    assert told["steps"][0]["body"]["ExpressionAttributeValues"][":0"] == {"N": digits}


def test_invalid_arguments_name_their_fields(room: Room) -> None:
    told = room.answer("run", "Market", pattern="last_orders", arguments='{"count": "x", "a": 1}')
    fields = {each["field"]: each["message"] for each in told["error"]["fields"]}
    assert fields.keys() == {"user", "count", "a"}
    assert told["error"]["status"] == 422
    told = room.answer("run", "Market", pattern="last_orders", arguments="{")
    assert told["error"]["code"] == "request-malformed"


def test_an_unknown_pattern_is_named(room: Room) -> None:
    told = room.answer("form", "Market", pattern="nothing")
    assert told["error"]["code"] == "pattern-unknown"


def test_a_run_shows_entities_by_kind_and_what_calls_hand_on(room: Room) -> None:
    sample = room.act("form", "Market", pattern="order_by_id", measured=True)["sample"]
    told = room.answer("run", "Market", pattern="order_by_id", arguments=json.dumps(sample))
    result = told["result"]
    assert result["name"] == "OrderWithLines"
    order, lines = result["groups"]
    assert (order["entity"], order["single"], lines["entity"]) == ("Order", True, "OrderLine")
    assert not lines["single"]
    assert order["rows"][0]["keys"][0]["pieces"][1]["part"] == "user"
    assert result["handed"] == [[], ["user", "order"]]
    assert [each["operation"] for each in told["calls"]] == ["Query", "Query"]


def test_pages_continue(room: Room) -> None:
    from keyfold.designs.market import Product

    store = room.workspace.open_store(room.workspace.find("Market"), None, room.workspace.executor)
    for number in range(7):
        identifier = f"I#01JZ10H7X367VB2NF4YQ973D0{number}"
        store.run(Product.model_validate({"user": "zoe", "product": identifier}).create())
    given = json.dumps({"user": "zoe"})
    first = room.act("run", "Market", pattern="products_of", arguments=given, limit=4)
    assert (first["count"], first["continues"], first["page"]) == (4, True, True)
    second = room.act(
        "run", "Market", pattern="products_of", arguments=given, limit=4, cursor=first["cursor"]
    )
    assert (second["count"], second["continues"]) == (3, False)
    keys = [row["key"]["sk"]["S"] for page in (first, second) for row in page["groups"][0]["rows"]]
    assert len(set(keys)) == 7


def test_nothing_found_is_no_error(room: Room) -> None:
    told = room.act("run", "Market", pattern="user_profile", arguments='{"user": "nobody"}')
    assert told["shape"] == "nothing"


def test_projections_and_references_have_rows(shared: Room) -> None:
    told = shared.act("run", "Market", pattern="bills", arguments='{"user": "rabinovich"}')
    [group] = told["groups"]
    assert (group["kind"], group["entity"]) == ("BillSummary", None)
    assert group["rows"][0]["key"] is None
    amounts = [each["value"] for each in group["rows"][0]["fields"] if each["name"] == "amount"]
    assert "N" in amounts[0]


def test_a_run_refuses_writes(room: Room) -> None:
    sample = json.dumps(room.act("form", "Market", pattern="save_address")["sample"])
    told = room.answer("run", "Market", pattern="save_address", arguments=sample)
    assert told["error"]["code"] == "pattern-writes"
    assert told["calls"] == []
    assert {each.name for each in ACTIONS if each.writes} == {"patterns/write"}
    written = room.act("write", "Market", pattern="save_address", arguments=sample)
    assert written["groups"][0]["entity"] == "Address"


def test_a_write_is_explained_before_it_is_made(room: Room) -> None:
    sample = json.dumps(room.act("form", "Market", pattern="pay_bill")["sample"])
    told = room.act("explain", "Market", pattern="pay_bill", arguments=sample)
    [step] = told["steps"]
    assert step["operation"] == "TransactWriteItems"
    bill, payment = step["members"]
    assert (bill["action"], bill["entity"]) == ("Update", "Bill")
    assert bill["changes"] == "SET status = 'paid'"
    assert "amount = 0.9" in bill["condition"]
    assert (payment["action"], payment["entity"]) == ("Put", "Payment")
    assert {"name": "amount", "value": {"N": "0.9"}} in payment["attributes"]


def test_values_that_depend_on_a_response_are_said_to_be_samples(room: Room) -> None:
    sample = json.dumps(room.act("form", "Market", pattern="place_order")["sample"])
    read, write = room.act("explain", "Market", pattern="place_order", arguments=sample)["steps"]
    assert (read["level"], read["sampled"]) == (0, False)
    assert (write["level"], write["sampled"]) == (1, True)


def test_roles_run_with_their_rights(shared: Room) -> None:
    given = json.dumps({"user": "rabinovich", "count": 5})
    own = {"roles": ["customer"], "ids": {"user": "rabinovich"}}
    told = shared.answer("run", "Market", pattern="last_orders", arguments=given, **{"as": own})
    assert told["result"]["count"] > 0
    other = {"roles": ["customer"], "ids": {"user": "mallory"}}
    told = shared.answer("run", "Market", pattern="last_orders", arguments=given, **{"as": other})
    assert (told["error"]["code"], told["error"]["status"]) == ("access-denied", 403)
    assert told["calls"] == []


def test_secrets_are_masked(shared: Room) -> None:
    issuer = {"issuer": "https://a.example/", "private_key": "-----KEY-----"}
    given = json.dumps({"issuer": issuer})
    for action in ("explain", "code"):
        told = shared.act(action, "letsgo", pattern="create_issuer", arguments=given)
        assert "-----KEY-----" not in json.dumps(
            told["steps"] if action == "explain" else told["boto3"]
        )
    assert "-----KEY-----" not in json.dumps([told["python"], told["cli"], told["partiql"]])


def test_costs_are_those_of_a_run_or_of_the_examples(shared: Room) -> None:
    known = shared.act("cost", "Market", pattern="order_by_id", calls=10_000_000)
    assert (known["source"], known["units"]) == ("examples", {"read": 1.5, "write": 0.0})
    assert known["usd"] == pytest.approx(10 * 1.5 * known["prices"]["read"])
    assert known["sentence"] == (
        "A third of it is the lookup in IdLookupIndex; a caller that knows user and order can skip it."
    )
    spent = [
        {"operation": "Query", "index": "IdLookupIndex", "read": True, "units": 2},
        {"operation": "Query", "index": None, "read": True, "units": 2},
    ]
    run = shared.act("cost", "Market", pattern="order_by_id", calls=1_000_000, spent=spent)
    assert (run["source"], run["units"]["read"]) == ("run", 4)
    assert run["sentence"].startswith("Half of it")
    assert {"mode", "region", "date", "read", "write"} == run["prices"].keys()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("pk = 'U#{user}'", ()),
        ("pk = 'U#{found.user}#O' and sk begins with '{found.order}'", ("user", "order")),
        ("PK='{found[i].user}' SK='USER'", ("user of each",)),
        ("pk='{found.key[\"pk\"][\"S\"]}' sk='{key}'", ("pk",)),
    ],
)
def test_what_is_handed_on_is_named(text: str, names: tuple[str, ...]) -> None:
    assert find_handed(text) == names


# A table whose patterns are unlike those of the designs.
odd = Table("Odd", key=Key("pk"))


class Unreadable:
    """A type that has no JSON."""


class Thing(Entity, table=odd, key="T#{name}"):
    name: str = part()
    size: int = attr(default=1)


@odd.pattern("Count things")
def count_things() -> Count:
    """Count them all."""
    return Thing.scan().count()


@odd.pattern("Find things")
def find_things() -> Scan[Thing]:
    """Find them all."""
    return Thing.scan()


@odd.pattern("Put a thing", example={"how": Unreadable()})
def put_thing(name: str, how: Unreadable) -> Put[Thing]:
    """Put it somehow."""
    return Thing(name=name, size=0 if how is None else 2).put()  # pyright: ignore[reportUnnecessaryComparison] - the studio may pass anything


@odd.pattern("Choose")
def choose(names: list[str]) -> Query[Any]:
    """Decide by what it gets, so that no placeholder will do."""
    if len(names) > 1:
        raise TypeError(names)
    return odd.query(pk=f"T#{names[0]}")


@pytest.fixture
def odd_room() -> Iterator[Room]:
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", odd.to_dynamodb())
        room = Room(make_workspace(engine, [odd]))
        store = room.workspace.open_store(room.workspace.find("Odd"), None, engine)
        store.run(Thing(name="one").put())
        store.run(Thing(name="two").put())
        invalid = {"pk": {"S": "T#three"}, "size": {"S": "large"}}
        engine.execute("PutItem", {"TableName": "Odd", "Item": invalid})
        yield room


def test_a_count_is_a_value(odd_room: Room) -> None:
    told = odd_room.act("run", "Odd", pattern="count_things")
    assert (told["shape"], told["values"]) == ("value", [{"N": "3"}])


def test_invalid_items_are_listed(odd_room: Room) -> None:
    told = odd_room.act("run", "Odd", pattern="find_things")
    assert told["count"] == 2
    [invalid] = told["invalid"]
    assert (invalid["entity"], invalid["name"]) == ("Thing", "T#three")
    assert "size" in invalid["reason"]


def test_a_link_does_not_run_a_scan(odd_room: Room) -> None:
    assert not odd_room.act("form", "Odd", pattern="find_things", measured=True)["linkable"]


def test_a_link_runs_a_read_of_few_known_units(shared: Room) -> None:
    assert shared.act("form", "Market", pattern="order_by_id", measured=True)["linkable"]
    # Not before its units are known, and never a write.
    assert not shared.act("form", "Market", pattern="order_by_id")["linkable"]
    assert not shared.act("form", "Market", pattern="save_address", measured=True)["linkable"]


def test_a_link_stops_after_ten_units(odd_room: Room) -> None:
    store = odd_room.workspace.executor
    for number in range(40):
        item = {"pk": {"S": f"T#{number}"}, "note": {"S": "x" * 60_000}}
        store.execute("PutItem", {"TableName": "Odd", "Item": item})
    told = odd_room.answer("run", "Odd", pattern="find_things", link=True)
    assert told["error"]["code"] == "studio-units-spent"
    assert len(told["calls"]) == 1


def test_a_pattern_that_is_no_endpoint_takes_json(odd_room: Room) -> None:
    form = odd_room.act("form", "Odd", pattern="put_thing")
    assert form["inputs"] is None
    assert "how" in form["problem"]
    given = json.dumps({"name": "four", "how": None})
    told = odd_room.act("write", "Odd", pattern="put_thing", arguments=given)
    assert told["groups"][0]["rows"][0]["fields"][1]["value"] == {"N": "0"}
    told = odd_room.answer("write", "Odd", pattern="put_thing", arguments='{"name": 1, "b": 2}')
    assert {each["field"] for each in told["error"]["fields"]} == {"name", "how", "b"}


def test_a_pattern_that_cannot_be_explained_says_so(odd_room: Room) -> None:
    told = odd_room.answer("explain", "Odd", pattern="choose")
    assert told["error"]["code"] in ("pattern-unexplained", "pattern-failed")
    told = odd_room.act("explain", "Odd", pattern="choose", arguments='{"names": ["one"]}')
    assert told["steps"][0]["key"] == "pk = 'T#one'"
    told = odd_room.answer("write", "Odd", pattern="choose", arguments='{"names": ["a", "b"]}')
    assert told["error"]["code"] == "pattern-failed"
