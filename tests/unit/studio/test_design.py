"""The room Design: what its diagram, keys, findings, source and document say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import pytest

from keyfold import Entity, Index, Key, Table, part
from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
from keyfold.imports import load_tables
from keyfold.studio._actions import make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import DESIGNS, make_workspace
from keyfold.studio._problems import StudioProblem
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms._membership import find_membership
from keyfold.studio.rooms._source_text import find_named, name_file, split_words
from keyfold.studio.rooms.design import ACTIONS

TABLES: dict[str, Table] = {
    table.name: table
    for table in (import_module(f"keyfold.designs.{each}").table for each in DESIGNS)
}
RUN = {action.name: action.run for action in ACTIONS}


@pytest.fixture(scope="module")
def workspace() -> Iterator[Workspace]:
    """The four designs, in a database without items."""
    with Engine.open(":memory:") as engine:
        yield make_workspace(engine, list(TABLES.values()))


def ask(workspace: Workspace, table: str, action: str, **body: Any) -> Any:
    call = make_call(workspace, StudioBody({"table": table, **body}))
    return RUN[action](call)


def find(listed: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [each for each in listed if all(each[name] == value for name, value in wanted.items())]


def only(listed: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    [found] = find(listed, **wanted)
    return found


# The diagram.


def test_entities_are_grouped_by_shard(workspace: Workspace) -> None:
    groups = ask(workspace, "Market", "design/diagram")["groups"]
    assert {each["name"]: each["entities"] for each in groups}["orders"] == ["Order", "OrderLine"]
    assert only(groups, name="orders")["template"]["text"] == "U#{user}#O"
    assert {each["kind"] for each in groups} == {"shard"}


def test_entities_without_a_shard_have_a_group(workspace: Workspace) -> None:
    groups = ask(workspace, "Pantry", "design/diagram")["groups"]
    assert only(groups, kind="outside") == {
        "name": "outside shards",
        "kind": "outside",
        "entities": ["Categories"],
    }


def test_a_table_without_shards_is_grouped_by_partition_template() -> None:
    table = Table("Plain", key=Key("pk", "sk"))

    class Basket(Entity, table=table, key=("U#{user}", "B#{basket}")):
        user: str = part()
        basket: str = part()

    class Parcel(Entity, table=table, key=("U#{user}", "P#{parcel}")):
        user: str = part()
        parcel: str = part()

    class Depot(Entity, table=table, key=("D#{depot}", "D")):
        depot: str = part()

    with Engine.open(":memory:") as engine:
        groups = ask(make_workspace(engine, [table]), "Plain", "design/diagram")["groups"]
    assert [(each["name"], each["kind"], each["entities"]) for each in groups] == [
        ("U#{user}", "partition", [Basket.__name__, Parcel.__name__]),
        ("D#{depot}", "partition", [Depot.__name__]),
    ]


def test_a_table_without_a_sort_key_is_one_group(workspace: Workspace) -> None:
    [group] = ask(workspace, "ExchangeRates", "design/diagram")["groups"]
    assert group == {"name": "one item a partition", "kind": "outside", "entities": ["Rate"]}


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("last_orders", [("reads", "Order", None)]),
        (
            "user_profile",
            [("reads", "User", None), ("reads", "Address", None), ("reads", "Cart", None)],
        ),
        (
            "order_by_id",
            [
                ("reads", "Order", "IdLookupIndex"),
                ("reads", "Order", None),
                ("reads", "OrderLine", None),
            ],
        ),
        # Items of any entity, first through the index and then in the table.
        ("find_by_key", [("reads", None, "ReverseIndex"), ("reads", None, None)]),
        # The store's own lookup of a unique value is no line.
        ("delete_cart", [("writes", "Cart", None)]),
        ("create_bill", [("writes", "Bill", None), ("checks", "Order", None)]),
        # A check of what was read is no line of its own.
        (
            "place_order",
            [
                ("reads", "Product", None),
                ("writes", "Order", None),
                ("writes", "OrderLine", None),
                ("writes", "Cart", None),
            ],
        ),
    ],
)
def test_lines_follow_the_steps_of_a_pattern(
    workspace: Workspace, pattern: str, lines: list[tuple[str, str | None, str | None]]
) -> None:
    found = find(ask(workspace, "Market", "design/diagram")["lines"], pattern=pattern)
    assert [(each["deed"], each["entity"], each["index"]) for each in found] == lines


@pytest.mark.parametrize("table", TABLES)
def test_every_line_ends_at_nodes_of_the_diagram(workspace: Workspace, table: str) -> None:
    diagram = ask(workspace, table, "design/diagram")
    entities = {name for group in diagram["groups"] for name in group["entities"]}
    indexes = {each["name"] for each in diagram["indexes"]}
    patterns = {each["name"] for each in diagram["patterns"]}
    assert entities == set(TABLES[table].entities)
    assert patterns == {each["pattern"] for each in diagram["lines"]}
    for line in diagram["lines"]:
        assert line["entity"] in entities | {None}
        assert line["index"] in indexes | {None}


def test_patterns_are_reads_or_writes(workspace: Workspace) -> None:
    patterns = ask(workspace, "Market", "design/diagram")["patterns"]
    assert only(patterns, name="last_orders")["writes"] is False
    assert only(patterns, name="place_order")["writes"] is True


def test_a_pattern_that_cannot_be_explained_says_why() -> None:
    table = Table("Odd", key=Key("pk"))

    class Gadget(Entity, table=table, key="G#{name}"):
        name: str = part()

    @table.pattern("Get by parity")
    def by_parity(number: int) -> Any:
        return Gadget.get(name="even" if number % 2 == 0 else "odd")

    with Engine.open(":memory:") as engine:
        workspace = make_workspace(engine, [table])
        diagram = ask(workspace, "Odd", "design/diagram")
        shown = ask(workspace, "Odd", "design/pattern", name=by_parity.__name__)
    [pattern] = diagram["patterns"]
    assert pattern["writes"] is None
    assert "Get by parity" in pattern["problem"]
    assert diagram["lines"] == []
    assert shown["steps"] == []
    assert shown["problem"] == pattern["problem"]


# Membership in indexes.


def test_a_sparse_membership_is_told_in_sentences(workspace: Workspace) -> None:
    memberships = ask(workspace, "Market", "design/diagram")["memberships"]
    order = only(memberships, entity="Order", index="IdLookupIndex")
    assert order["belongs"] == "if set"
    assert order["fields"] == ("id", "tp")
    assert order["sentence"].replace("`", "") == (
        'Order is in IdLookupIndex when id and tp are set. tp is always "order", so id decides.'
    )


@pytest.mark.parametrize(
    ("table", "entity", "index", "belongs", "sentence"),
    [
        (
            "Market",
            "Address",
            "IdLookupIndex",
            "never",
            "Address is never in IdLookupIndex: it has no `id` and no `tp`.",
        ),
        (
            "Market",
            "Address",
            "ReverseIndex",
            "always",
            "Every Address is in ReverseIndex: each item has `sk` and `pk`.",
        ),
        (
            "Pantry",
            "JoinLink",
            "UserGroupIndex",
            "never",
            "JoinLink is never in UserGroupIndex: it has no `UserID`.",
        ),
        (
            "ExchangeRates",
            "Rate",
            "BaseCurrencyIndex",
            "always",
            "Every Rate is in BaseCurrencyIndex: `base` is always set.",
        ),
    ],
)
def test_membership_says_why(
    table: str, entity: str, index: str, belongs: str, sentence: str
) -> None:
    declared = TABLES[table]
    [wanted] = [each for each in declared.indexes if each.name == index]
    found = find_membership(declared, declared.entities[entity], wanted)
    assert (found.belongs, found.sentence) == (belongs, sentence)


def test_membership_with_several_keys_to_choose_from() -> None:
    by_place = Index("ByPlace", key=Key("place", "room"))
    table = Table("Choices", key=Key("pk"), indexes=[by_place])

    class Visit(
        Entity,
        table=table,
        key="V#{visit}",
        indexes={by_place: [("TOWN#{town}", "{visit}"), ("SHIP#{ship}", "{deck}")]},
    ):
        visit: str = part()
        town: str | None = None
        ship: str | None = None
        deck: str | None = None

    found = find_membership(table, table.entities[Visit.__name__], by_place)
    assert found.belongs == "if set"
    assert found.sentence == "Visit is in ByPlace when `town` is set, or `ship` and `deck` are set."


def test_an_entity_with_attributes_of_any_name_may_be_in_an_index() -> None:
    by_owner = Index("ByOwner", key=Key("owner"))
    table = Table("Free", key=Key("pk"), indexes=[by_owner])

    class Note(Entity, table=table, key="N#{note}", extra="allow"):
        note: str = part()

    found = find_membership(table, table.entities[Note.__name__], by_owner)
    assert found.belongs == "free"
    assert "when `owner` is among them" in found.sentence


# Details.


def test_an_entity_has_typed_keys_and_examples(workspace: Workspace) -> None:
    shown = ask(workspace, "Market", "design/entity", name="Order")
    partition, sort = shown["keys"]
    assert (partition["attribute"], partition["role"]) == ("pk", "partition")
    assert partition["types"] == {"user": "str"}
    assert partition["example"]["text"] == "U#rabinovich#O"
    assert sort["types"] == {"order": "OrderId"}
    assert shown["order"] == [
        "`OrderId` is `O#` and a ULID, so items sort by the time they were made.",
        "OrderLine adds `#{line:03}` to the key of its Order, and sorts right behind it.",
    ]


def test_padded_numbers_sort_as_numbers(workspace: Workspace) -> None:
    shown = ask(workspace, "Market", "design/entity", name="Address")
    assert shown["order"] == ["`number` is padded to 3 digits, so text sorts as the numbers do."]


def test_an_entity_has_its_source(workspace: Workspace) -> None:
    source = ask(workspace, "Market", "design/entity", name="Order")["source"]
    first = source["lines"][0]
    assert source["file"].endswith("market/_items.py")
    assert first["number"] == source["line"]
    assert first["words"][0] == ("k", "class")
    assert "".join(text for _, text in first["words"]).startswith("class Order(_IdentifiedItem")


def test_a_pattern_has_its_requests(workspace: Workspace) -> None:
    shown = ask(workspace, "Market", "design/pattern", name="place_order")
    read, write = shown["steps"]
    assert (read["operation"], read["deeds"]) == (
        "BatchGetItem",
        [{"verb": "reads", "entity": "Product"}],
    )
    assert [(each["verb"], each["entity"]) for each in write["deeds"]] == [
        ("puts", "Order"),
        ("puts", "OrderLine"),
        ("checks", "Product"),
        ("updates", "Cart"),
    ]
    assert shown["parameters"][0] == {"name": "cart", "type": "Cart", "required": True}
    assert shown["source"]["lines"]


def test_lookups_of_the_store_are_told_apart(workspace: Workspace) -> None:
    lookup, _ = ask(workspace, "Market", "design/pattern", name="delete_cart")["steps"]
    assert lookup["own"] is True
    assert lookup["deeds"] == [{"verb": "looks up unique values of", "entity": "Cart"}]


def test_remarks_about_scans_and_lag(workspace: Workspace) -> None:
    shown = ask(workspace, "Pantry", "design/pattern", name="list_of_expired_join_links")
    assert shown["remarks"] == [
        "It scans, so its cost grows with all items.",
        "It filters what it has read, and pays for what it leaves out.",
        "JoinLinkIndex may lag behind the last writes.",
    ]


def test_an_index_has_members_and_its_declaration(workspace: Workspace) -> None:
    shown = ask(workspace, "Market", "design/index", name="IdLookupIndex")
    assert shown["types"] == {"id": "S", "tp": "S"}
    assert shown["projection"] == "all attributes"
    assert only(shown["members"], entity="Order")["keys"][0]["example"]["text"] == "2025-0001"
    assert only(shown["members"], entity="Address")["keys"] == []
    text = "".join(text for _, text in shown["source"]["lines"][0]["words"])
    assert text == "by_id = Index("


@pytest.mark.parametrize("table", TABLES)
def test_keys_of_every_entity(workspace: Workspace, table: str) -> None:
    entities = ask(workspace, table, "design/keys")["entities"]
    declared = TABLES[table]
    assert [each["name"] for each in entities] == list(declared.entities)
    for each in entities:
        assert [key["attribute"] for key in each["keys"]] == list(declared.key.names)
        assert all(key["example"] is not None for key in each["keys"])
        assert [one["index"] for one in each["indexes"]] == [one.name for one in declared.indexes]


@pytest.mark.parametrize("kind", ["entity", "pattern", "index"])
def test_an_unknown_name_is_refused(workspace: Workspace, kind: str) -> None:
    with pytest.raises(StudioProblem) as caught:
        ask(workspace, "Market", f"design/{kind}", name="<script>")
    problem = caught.value.problem
    assert (problem.status, problem.code) == (404, "design-unknown")
    assert f"Market has no {kind} '<script>'; it has " in problem.message


def test_roles_see_the_same_declaration(workspace: Workspace) -> None:
    customer = {"roles": ["customer"], "ids": {"user": "rabinovich"}}
    mine = ask(workspace, "Market", "design/entity", name="Bill", **{"as": customer})
    assert mine == ask(workspace, "Market", "design/entity", name="Bill")


# Findings.


@pytest.fixture(scope="module")
def review(workspace: Workspace) -> Mapping[str, Any]:
    """The findings about Market."""
    return ask(workspace, "Market", "design/findings")


def test_findings_name_what_they_are_about(review: Mapping[str, Any]) -> None:
    overlap = only(review["findings"], code="K09")
    assert overlap["subject"] == {"kind": "entity", "name": "Order"}
    assert overlap["severity"] == "warning"
    assert "OrderLine" in overlap["message"]
    assert overlap["fix"]
    assert overlap["accepted"] is None
    reading = find(review["findings"], code="P03")
    assert {each["subject"]["name"] for each in reading} == {"last_orders", "orders_between"}


def test_accepted_findings_have_reasons_and_are_not_counted(review: Mapping[str, Any]) -> None:
    accepted = only(review["findings"], code="S01")
    assert accepted["accepted"] == "an order takes 48 lines at most, so nobody needs a larger cart"
    open_ones = find(review["findings"], accepted=None)
    assert sum(review["counts"].values()) == len(open_ones)
    assert review["counts"]["warning"] == len(find(open_ones, severity="warning"))
    assert len(open_ones) < len(review["findings"])


def test_skipped_rules_have_reasons(review: Mapping[str, Any]) -> None:
    assert only(review["skipped"], code="P11")["reason"].startswith("no database was given")


def test_a_table_is_reviewed_once(workspace: Workspace, review: Mapping[str, Any]) -> None:
    from keyfold.studio.rooms._findings import review_once

    subject = workspace.find("Market")
    assert review_once(workspace, subject) is review_once(workspace, subject)
    assert ask(workspace, "Market", "design/findings") == review


# The document.


def test_the_document_has_blocks(workspace: Workspace) -> None:
    document = ask(workspace, "ExchangeRates", "design/document")
    titles = [each["title"] for each in document["sections"]]
    assert titles[:2] == ["Primary key", "Entities"]
    [grid] = find(document["sections"][0]["blocks"], kind="grid")
    assert [each["name"] for each in grid["columns"]] == ["key", "attribute", "type"]
    assert grid["rows"][0] == [["Partition key"], [{"code": "PK"}], ["String"]]


def test_the_document_contains_no_markup(workspace: Workspace) -> None:
    """Pictures are tables here: the browser makes elements, and never reads HTML or SVG."""
    assert "<svg" not in repr(ask(workspace, "Market", "design/document"))


def test_the_document_as_markdown(workspace: Workspace) -> None:
    text = ask(workspace, "Pantry", "design/document", markdown=True)["markdown"]
    assert text.startswith("# Pantry")


# Inferred declarations.


@pytest.fixture
def inferred(workspace: Workspace) -> Iterator[Workspace]:
    """A table that nobody declared."""
    market = TABLES["Market"]
    with Engine.open(":memory:") as engine:
        engine.execute("CreateTable", market.to_dynamodb() | {"TableName": "My-Shop"})
        for each in market.example_entities():
            item = market.entities[type(each).__name__].encode(each)
            engine.execute("PutItem", {"TableName": "My-Shop", "Item": item})
        yield make_workspace(engine, url="http://127.0.0.1:8000")


def test_an_inferred_declaration_is_shown_with_its_command(inferred: Workspace) -> None:
    module = ask(inferred, "My-Shop", "design/module")
    assert module["command"] == (
        "keyfold import dynamodb http://127.0.0.1:8000 --name My-Shop --output my_shop.py"
    )
    assert "Table(" in module["text"]
    joined = "\n".join(
        "".join(text for _, text in line["words"]) for line in module["source"]["lines"]
    )
    assert joined == module["text"].rstrip("\n")


def test_the_source_of_inferred_things_is_in_the_module(inferred: Workspace) -> None:
    module = ask(inferred, "My-Shop", "design/module")["text"].splitlines()
    diagram = ask(inferred, "My-Shop", "design/diagram")
    names = {
        "entity": diagram["groups"][0]["entities"][0],
        "pattern": diagram["patterns"][0]["name"],
        "index": "IdLookupIndex",
    }
    for kind, name in names.items():
        source = ask(inferred, "My-Shop", f"design/{kind}", name=name)["source"]
        assert source["file"] == "inferred declaration"
        assert source["path"] is None
        for line in source["lines"]:
            text = "".join(text for _, text in line["words"])
            assert text == module[line["number"] - 1]


def test_a_table_is_inferred_again_while_it_has_no_items() -> None:
    with Engine.open(":memory:") as engine:
        request = TABLES["Market"].to_dynamodb() | {"TableName": "Later"}
        engine.execute("CreateTable", request)
        workspace = make_workspace(engine, url="later.db")
        assert ask(workspace, "Later", "design/diagram")["groups"] == []
        assert ask(workspace, "Later", "design/findings")["findings"]
        item = {"pk": {"S": "U#ada"}, "sk": {"S": "U#ada"}, "name": {"S": "Ada"}}
        engine.execute("PutItem", {"TableName": "Later", "Item": item})
        assert ask(workspace, "Later", "design/diagram")["groups"] != []


def test_requests_at_once_infer_a_declaration_once(inferred: Workspace) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(inferred.find, ["My-Shop"] * 4))
    assert all(each is found[0] for each in found)


def test_modules_are_loaded_one_at_a_time(inferred: Workspace) -> None:
    text = inferred.find("My-Shop").module
    assert text is not None
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(load_tables, [text] * 8))
    assert [[table.name for table in each] for each in loaded] == [["My-Shop"]] * 8


def test_a_declared_table_has_no_inferred_module(workspace: Workspace) -> None:
    with pytest.raises(StudioProblem) as caught:
        ask(workspace, "Market", "design/module")
    assert caught.value.problem.code == "studio-not-inferred"


def test_the_review_of_an_inferred_table(inferred: Workspace) -> None:
    try:
        found = ask(inferred, "My-Shop", "design/findings")
    except KeyfoldError as error:  # pragma: no cover - the failure is the message
        pytest.fail(str(error))
    assert all(each["subject"]["kind"] for each in found["findings"])


# Source.


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["def f():"], [[("k", "def"), ("", " f():")]]),
        (["    return 'a'"], [[("", "    "), ("k", "return"), ("", " "), ("s", "'a'")]]),
        (
            ["f(", '    "a",', ")"],
            [[("", "f(")], [("", "    "), ("s", '"a"'), ("", ",")], [("", ")")]],
        ),
        (
            ["class A:", '    """One', "", '    two."""'],
            [
                [("k", "class"), ("", " A:")],
                [("", "    "), ("c", '"""One')],
                [],
                [("c", '    two."""')],
            ],
        ),
        # What cannot be read is shown as it is.
        (["x = '''"], [[("", "x = '''")]]),
        ([], []),
    ],
)
def test_words_have_kinds(lines: list[str], words: list[list[tuple[str, str]]]) -> None:
    assert split_words(lines) == words


def test_decorators_belong_to_a_definition() -> None:
    text = "x = 1\n\n@table.pattern('A')\ndef find():\n    return x\n"
    found = find_named(text, "find")
    assert found is not None
    assert (found.first, found.lines[0]) == (3, "@table.pattern('A')")
    assert find_named(text, "lose") is None
    assert find_named("def broken(:", "broken") is None


def test_files_elsewhere_have_short_names() -> None:
    assert name_file("/somewhere/else/market/_items.py") == "market/_items.py"
