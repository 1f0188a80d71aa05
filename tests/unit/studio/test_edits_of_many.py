"""Bulk edits, imports and exports of the room Edit."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from keyfold.engine import Engine
from keyfold.model import Entity, Expiry, Index, Key, Table, Version, attr, part
from keyfold.policy import ALL, READ, Role
from keyfold.store import Store, StoreSettings
from keyfold.studio._actions import make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import make_workspace
from keyfold.studio._problems import describe_problem
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms.edits import ACTIONS
from keyfold.values import Item

_NOW = 1_790_000_000.0
_ACTIONS = {each.name: each for each in ACTIONS}

by_place = Index("ByPlace", key=Key("place"))
goods = Table("Goods", key=Key("pk", "sk"), indexes=[by_place], ttl="ttl")
shops = goods.shard("S#{shop}", name="shops")


class Good(Entity, table=goods, key=(shops, "G#{good}"), unique="code"):
    """Something that a shop sells."""

    shop: str = part()
    good: str = part()
    name: str
    note: str | None = None
    code: str | None = None
    place: str | None = None
    price: Decimal | None = attr(default=None, ge=0)
    tags: frozenset[str] = frozenset()
    picture: bytes | None = None
    parts: list[str] = attr(default_factory=list[str])
    version: Version | None = None
    ttl: Expiry | None = None


class Till(Entity, table=goods, key=(shops, "T#{till}")):
    """A till of a shop."""

    shop: str = part()
    till: str = part()
    name: str = "till"


goods.add_role(Role("keeper", tenant="shop", can={shops: ALL}, unique=[Good]))
goods.add_role(Role("visitor", can={shops: READ}))


@dataclass
class Shop:
    """Actions of the room, on one database."""

    engine: Engine
    workspace: Workspace
    units: tuple[float, float] = (0, 0)

    def act(self, action: str, /, *, role: Any = None, **body: Any) -> Any:
        """Run an action; an error is returned as `{"status": …, "error": {…}}`."""
        call = make_call(self.workspace, StudioBody({"table": "Goods", "as": role, **body}))
        try:
            return json.loads(json.dumps(_ACTIONS[f"edit/{action}"].run(call)))
        except Exception as error:
            problem = describe_problem(error)
            if problem.status == 500:
                raise
            return {"status": problem.status, "error": json.loads(json.dumps(problem.to_json()))}
        finally:
            self.units = call.recorder.count_units()

    def put(self, shop: str, good: str, /, **attributes: Any) -> Item:
        """Store a good as it is."""
        key = {"pk": {"S": f"S#{shop}"}, "sk": {"S": f"G#{good}"}}
        item: Item = {**key, "name": {"S": good}, **attributes}
        self.engine.execute("PutItem", {"TableName": "Goods", "Item": item})
        return item

    def list_items(self) -> dict[str, Item]:
        """Return all items but guards, by their keys."""
        items = self.engine.execute("Scan", {"TableName": "Goods"})["Items"]
        return {
            f"{item['pk']['S']} {item['sk']['S']}": item
            for item in items
            if "keyfold_unique" not in item and not item["pk"]["S"].startswith("keyfold#")
        }

    def export(self, form: str, entity: str | None = "Good", where: str = "") -> Any:
        """Return all pages of an export, joined."""
        text, after = "", None
        skipped: list[Any] = []
        while True:
            page = self.act(
                "export", form=form, filter={"entity": entity, "where": where}, after=after
            )
            text += (page["header"] if not text else "") + page["text"]
            skipped += page["skipped"]
            after = page["after"]
            if after is None:
                return text, skipped

    def load(self, form: str, text: str, **more: Any) -> Any:
        """Import a text, as the page does with a small file."""
        header, body, line = "", text, 1
        if form == "csv":
            header, _, body = text.partition("\n")
            line = 2
        entity = "Good" if form == "csv" else None
        return self.act(
            "import", form=form, header=header, text=body, line=line, entity=entity, **more
        )


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Engine.open(":memory:", clock=lambda: _NOW) as engine:
        Store(engine, StoreSettings([goods])).create_table(goods)
        yield Shop(engine, make_workspace(engine, [goods], clock=lambda: _NOW))
        assert engine.verify() == []


def _set(name: str, value: Any) -> dict[str, Any]:
    return {"kind": "set", "field": name, "value": value}


# Bulk edits.


def test_a_bulk_preview_counts_shows_examples_and_prices(shop: Shop) -> None:
    for number in range(30):
        shop.put("a", f"{number:02}", price={"N": str(number)})
    shop.put("b", "99", price={"N": "99"})
    chosen = {"entity": "Good", "where": "shop = a and price >= 10"}
    preview = shop.act("bulk-preview", filter=chosen, change=_set("place", {"S": "shelf"}))
    assert len(preview["items"]) == 20
    assert len(preview["examples"]) == 10
    assert preview["scanned"] == 30
    assert preview["after"] is None
    assert preview["examples"][0]["entries"][0]["index"] == "ByPlace"
    assert shop.units[1] == 0
    done, written = 0, 0.0
    for start in (0, 10):
        batch = preview["items"][start : start + 10]
        report = shop.act("bulk", items=batch, change=_set("place", {"S": "shelf"}), count=20)
        assert report["failed"] == []
        done += len(report["done"])
        written += shop.units[1]
    assert (done, written) == (20, preview["units"])
    placed = [each for each in shop.list_items().values() if "place" in each]
    assert len(placed) == 20


def test_a_bulk_edit_leaves_one_that_fails_and_says_why(shop: Shop) -> None:
    items = [shop.put("a", name, price={"N": "1"}) for name in "wxyz"]
    preview = shop.act(
        "bulk-preview", filter={"entity": "Good", "where": "shop = a"}, change={"kind": "delete"}
    )
    shop.put("a", "x", price={"N": "2"})
    key = {name: items[2][name] for name in ("pk", "sk")}
    shop.engine.execute("DeleteItem", {"TableName": "Goods", "Key": key})
    report = shop.act("bulk", items=preview["items"], change={"kind": "delete"}, count=4)
    assert [each["key"]["sk"]["S"] for each in report["done"]] == ["G#w", "G#z"]
    failed = {each["key"]["sk"]["S"]: each for each in report["failed"]}
    assert failed["G#x"]["code"] == "edit-conflict"
    assert "changed" in failed["G#x"]["message"]
    assert "deleted" in failed["G#y"]["message"]
    assert [*shop.list_items()] == ["S#a G#x"]


def test_a_bulk_edit_names_items_that_would_be_invalid(shop: Shop) -> None:
    shop.put("a", "x")
    shop.put("a", "y", price={"S": "broken"})
    change = _set("note", {"S": "n"})
    preview = shop.act(
        "bulk-preview", filter={"entity": "Good", "where": "shop = a"}, change=change
    )
    assert [each["key"]["sk"]["S"] for each in preview["items"]] == ["G#x"]
    [failing] = preview["failing"]
    assert failing["key"]["sk"]["S"] == "G#y"
    assert failing["message"].startswith("price")
    negative = shop.act(
        "bulk-preview",
        filter={"entity": "Good", "where": "good = x"},
        change=_set("price", {"N": "-1"}),
    )
    assert negative["items"] == []
    removed = shop.act(
        "bulk-preview",
        filter={"entity": "Good", "where": "good = x"},
        change={"kind": "remove", "field": "name"},
    )
    assert removed["failing"][0]["message"].startswith("name")


def test_a_unique_value_is_given_to_one_item_of_a_bulk_edit(shop: Shop) -> None:
    for name in "xy":
        shop.put("a", name)
    change = _set("code", {"S": "C"})
    preview = shop.act("bulk-preview", filter={"entity": "Good", "where": ""}, change=change)
    report = shop.act("bulk", items=preview["items"], change=change, count=2)
    assert len(report["done"]) == 1
    assert [each["code"] for each in report["failed"]] == ["unique-taken"]


def test_a_bulk_edit_of_keys_and_its_undo(shop: Shop) -> None:
    items = [shop.put("a", name, note={"S": "old"}) for name in "xyz"]
    keys = [{name: item[name] for name in ("pk", "sk")} for item in items[:2]]
    missing = {"pk": {"S": "S#a"}, "sk": {"S": "G#none"}}
    change = {"kind": "remove", "field": "note"}
    preview = shop.act("bulk-preview", filter={"keys": [*keys, missing]}, change=change)
    assert preview["failing"] == [{"key": missing, "message": "No item has this key."}]
    report = shop.act("bulk", items=preview["items"], change=change, count=2)
    assert sum("note" in each for each in shop.list_items().values()) == 1
    for each in report["done"]:
        shop.act("undo", before=each["before"], after=each["after"])
    assert sum("note" in each for each in shop.list_items().values()) == 3


_MALFORMED: list[dict[str, Any]] = [
    {"items": [], "change": {"kind": "delete"}, "count": 1},
    {"items": [{}] * 26, "change": {"kind": "delete"}, "count": 26},
    {"items": [{}, {}], "change": {"kind": "delete"}, "count": 1},
    {"items": [{}], "change": {"kind": "explode"}, "count": 1},
    {"items": [{}], "change": {"kind": "set"}, "count": 1},
    {"items": [{}], "change": {"kind": "delete"}},
]


@pytest.mark.parametrize("body", _MALFORMED)
def test_a_malformed_bulk_edit_is_refused(shop: Shop, body: dict[str, Any]) -> None:
    assert shop.act("bulk", **body)["status"] == 400


def test_keys_versions_and_guards_are_not_edited_in_bulk(shop: Shop) -> None:
    shop.put("a", "x")
    for name in ("good", "version"):
        preview = shop.act(
            "bulk-preview",
            filter={"entity": "Good", "where": ""},
            change=_set(name, {"S": "1"}),
        )
        assert (preview["items"], len(preview["failing"])) == ([], 1)
    opened = shop.act("open", entity="Good")
    fields = {each["name"]: each["fresh"] for each in opened["form"]}
    fields |= {"shop": {"S": "a"}, "good": {"S": "y"}, "name": {"S": "y"}, "code": {"S": "C"}}
    shop.act("save", draft={"mode": "typed", "entity": "Good", "fields": fields, "others": {}})
    preview = shop.act(
        "bulk-preview", filter={"entity": None, "where": ""}, change={"kind": "delete"}
    )
    assert len(preview["items"]) == 2


def test_a_role_edits_its_own_partition_in_bulk(shop: Shop) -> None:
    shop.put("a", "x")
    shop.put("b", "y")
    keeper = {"roles": ["keeper"], "ids": {"shop": "a"}}
    change = _set("note", {"S": "n"})
    denied = shop.act(
        "bulk-preview", role=keeper, filter={"entity": "Good", "where": ""}, change=change
    )
    assert (denied["status"], denied["error"]["code"]) == (403, "access-denied")
    preview = shop.act(
        "bulk-preview", role=keeper, filter={"entity": "Good", "where": "shop = a"}, change=change
    )
    assert len(preview["items"]) == 1
    visitor: dict[str, Any] = {"roles": ["visitor"], "ids": {}}
    report = shop.act("bulk", role=visitor, items=preview["items"], change=change, count=1)
    assert report["failed"][0]["code"] == "access-denied"
    assert "visitor lacks update" in report["failed"][0]["message"]
    report = shop.act("bulk", role=keeper, items=preview["items"], change=change, count=1)
    assert len(report["done"]) == 1


# Exports and imports.

_AWKWARD: list[dict[str, Any]] = [
    {"note": {"S": 'a, "quoted", cell'}},
    {"note": {"S": "two\nlines\r\nand more"}},
    {"note": {"S": ""}},
    {"note": {"S": '{"S": "looks like JSON"}'}},
    {"note": {"S": '"quoted"'}},
    {"note": {"S": "=SUM(A1:A9)"}},
    {"note": {"S": "  spaces  "}},
    {"note": {"S": "ünïcode 🜁 <script>alert(1)</script>"}},
    {},
    {"price": {"N": "1234567890123456789012345678901234567.8"}},
    {"price": {"N": "0"}},
    {"tags": {"SS": ["a,b", 'c"d', "e"]}},
    {"picture": {"B": b"\x00\xff\n"}},
    {"parts": {"L": []}},
    {"parts": {"L": [{"S": "x,y"}]}},
    {"code": {"S": "C-1"}, "version": {"N": "3"}},
    {"ttl": {"N": "1"}},
    {"undeclared": {"M": {"deep": {"L": [{"NULL": True}, {"BOOL": True}]}}}},
    {"undeclared": {"BS": [b"a"]}},
]


def _fill(shop: Shop) -> dict[str, Item]:
    for number, attributes in enumerate(_AWKWARD):
        shop.put("a", f"{number:02}", **attributes)
    return shop.list_items()


def _clear(shop: Shop, items: Mapping[str, Item]) -> None:
    for item in items.values():
        key = {name: item[name] for name in ("pk", "sk")}
        shop.engine.execute("DeleteItem", {"TableName": "Goods", "Key": key})


@pytest.mark.parametrize("form", ["csv", "lines"])
def test_what_is_exported_is_imported_exactly(shop: Shop, form: str) -> None:
    before = _fill(shop)
    text, skipped = shop.export(form)
    assert skipped == []
    _clear(shop, before)
    dry = shop.load(form, text, dry=True)
    assert (dry["new"], dry["invalid"], dry["failed"]) == (len(before), [], [])
    assert shop.units[1] == 0
    assert shop.list_items() == {}
    done = shop.load(form, text)
    assert (done["new"], done["invalid"], done["failed"]) == (len(before), [], [])
    assert shop.units[1] == dry["units"]
    assert shop.list_items() == before
    again = shop.load(form, text, replaces=True)
    assert again["same"] == len(before)


def test_rows_that_do_not_fit_are_listed_by_line(shop: Shop) -> None:
    text = (
        "shop,good,name,price\n"
        'a,1,"two\nlines",5\n'
        "a,2,Fine,dear\n"
        "\n"
        "a,3\n"
        "a,4,,1\n"
        "a,5,Good,-1\n"
        "a,6,Good,1\n"
    )
    report = shop.load("csv", text)
    assert report["new"] == 2
    assert [each["line"] for each in report["invalid"]] == [4, 6, 7, 8]
    reasons = [each["message"] for each in report["invalid"]]
    assert "price" in reasons[0]
    assert "2 cells" in reasons[1]
    assert "name" in reasons[2]
    assert "greater than or equal" in reasons[3]
    assert {*shop.list_items()} == {"S#a G#1", "S#a G#6"}


@pytest.mark.parametrize(
    ("header", "fact"),
    [
        ("shop,good", "missing column name"),
        ("shop,good,name,colour", "unknown column 'colour'"),
        ("shop,good,name,name", "column name twice"),
        ("", "it has to name columns"),
    ],
)
def test_a_header_that_does_not_fit_is_explained(shop: Shop, header: str, fact: str) -> None:
    refused = shop.load("csv", f"{header}\na,1,x\n")
    assert refused["status"] == 422
    assert fact in refused["error"]["message"]


def test_lines_that_are_no_items_are_listed(shop: Shop) -> None:
    lines = [
        '{"pk": {"S": "S#a"}, "sk": {"S": "G#1"}, "name": {"S": "x"}}',
        "not json",
        "",
        '{"pk": "S#a", "sk": "G#2", "name": "plain", "price": 1.10}',
        '{"pk": {"S": "S#a"}, "sk": {"S": "G#3"}, "name": {"N": "1"}}',
        '{"pk": {"S": "keyfold#unique#Good.code#S#C"}, "sk": {"S": "keyfold#unique"}}',
        '{"pk": {"S": "nowhere"}, "sk": {"S": "G#3"}}',
    ]
    report = shop.load("lines", "\n".join(lines))
    assert report["new"] == 2
    assert [each["line"] for each in report["invalid"]] == [2, 5, 6, 7]
    stored = shop.list_items()["S#a G#2"]
    assert stored["price"] == {"N": "1.1"}


def test_an_import_replaces_only_if_it_is_told_to(shop: Shop) -> None:
    shop.put("a", "1", note={"S": "old"}, version={"N": "4"})
    text = "shop,good,name,note\na,1,1,new\n"
    report = shop.load("csv", text)
    assert (report["new"], report["changed"]) == (0, 0)
    assert [(each["line"], each["code"]) for each in report["failed"]] == [(2, "already-exists")]
    report = shop.load("csv", text, replaces=True)
    assert report["changed"] == 1
    stored = shop.list_items()["S#a G#1"]
    assert (stored["note"], stored["version"]) == ({"S": "new"}, {"N": "5"})


def test_an_import_keeps_values_unique(shop: Shop) -> None:
    text = "shop,good,name,code\na,1,x,C\na,2,y,C\n"
    report = shop.load("csv", text)
    assert report["new"] == 1
    assert [each["code"] for each in report["failed"]] == ["unique-taken"]


def test_a_role_imports_into_its_own_partition(shop: Shop) -> None:
    keeper = {"roles": ["keeper"], "ids": {"shop": "a"}}
    report = shop.load("csv", "shop,good,name\na,1,x\nb,1,x\n", role=keeper)
    assert report["new"] == 1
    assert [(each["line"], each["code"]) for each in report["failed"]] == [(3, "access-denied")]


def test_an_item_that_is_no_row_is_skipped_with_the_reason(shop: Shop) -> None:
    shop.put("a", "1")
    shop.put("a", "2", price={"S": "broken"})
    text, skipped = shop.export("csv")
    assert len(list(csv.reader(io.StringIO(text)))) == 2
    assert skipped[0]["name"] == "S#a · G#2"
    lines, skipped = shop.export("lines")
    assert (len(lines.splitlines()), skipped) == (2, [])


def test_an_export_has_the_items_of_its_filter(shop: Shop) -> None:
    shop.put("a", "1", price={"N": "1"})
    shop.put("a", "2", price={"N": "2"})
    shop.put("b", "1", price={"N": "2"})
    key = {"pk": {"S": "S#a"}, "sk": {"S": "T#1"}}
    shop.engine.execute("PutItem", {"TableName": "Goods", "Item": key})
    text, _ = shop.export("lines", None, "")
    assert len(text.splitlines()) == 4
    text, _ = shop.export("lines", "Good", "shop = a and price > 1")
    assert [json.loads(each)["Item"]["sk"] for each in text.splitlines()] == [{"S": "G#2"}]
    refused = shop.act("export", form="csv", filter={"entity": None, "where": ""})
    assert refused["status"] == 422
    assert shop.act("export", form="xml", filter={})["status"] == 400
    assert shop.act("export", form="csv", filter={"entity": "Nope"})["status"] == 404


def test_a_long_export_comes_in_pages(shop: Shop) -> None:
    for number in range(1_050):
        shop.put("a", f"{number:04}")
    page = shop.act("export", form="csv", filter={"entity": "Good", "where": ""})
    assert page["count"] == 500
    assert page["after"] is not None
    text, _ = shop.export("csv")
    assert len(text.splitlines()) == 1_051
