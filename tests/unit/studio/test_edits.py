"""The room Edit: forms, drafts, previews, conditional saves, conflicts and undo."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from keyfold.designs import market, pantry
from keyfold.engine import Engine
from keyfold.model import (
    CreatedAt,
    Entity,
    Expiry,
    Index,
    Key,
    Table,
    UpdatedAt,
    Version,
    attr,
    part,
)
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
_BIG = "1234567890123456789012345678901234567.8"
_ACTIONS = {each.name: each for each in ACTIONS}

by_owner = Index("ByOwner", key=Key("ownerKey", "dueKey"))
by_kind = Index("ByKind", key=Key("kind"), project=["title"])
tasks = Table("Tasks", key=Key("pk", "sk"), indexes=[by_owner, by_kind], ttl="ttl")
boards = tasks.shard("B#{board}", name="boards")


class Step(BaseModel):
    """A step of a task."""

    label: str
    weight: Decimal = Decimal(1)


class Priority(Enum):
    """How soon a task is due."""

    LOW = "low"
    HIGH = "high"


class Task(
    Entity,
    table=tasks,
    key=(boards, "T#{number:04}"),
    indexes={by_owner: ("O#{owner}", "{due}")},
    unique="code",
):
    """A task, with a field of nearly every type."""

    board: str = part()
    number: int = part()
    title: str
    owner: str | None = None
    due: str | None = None
    code: str | None = None
    kind: str | None = None
    size: Decimal | None = None
    priority: Priority = Priority.LOW
    is_open: bool = attr("open", default=True)
    labels: frozenset[str] = frozenset()
    scores: frozenset[Decimal] = frozenset()
    picture: bytes | None = None
    steps: list[Step] = attr(default_factory=list[Step])
    links: dict[str, str] = attr(default_factory=dict[str, str])
    version: Version | None = None
    created: CreatedAt | None = None
    updated: UpdatedAt | None = None
    ttl: Expiry | None = None


tasks.add_role(Role("worker", tenant="board", can={boards: ALL}, unique=[Task], hidden={}))
tasks.add_role(Role("reader", can={boards: READ}))
tasks.add_role(
    Role("clerk", can={boards: ALL}, unique=[Task], hidden={boards: ["size", "picture"]})
)
tasks.add_role(Role("planner", can={boards: ALL}))


@dataclass
class Room:
    """Actions of the room, on one database."""

    engine: Engine
    workspace: Workspace
    now: list[float]
    units: tuple[float, float] = (0, 0)

    def act(self, action: str, /, *, table: str = "Tasks", role: Any = None, **body: Any) -> Any:
        """Run an action; an error is returned as `{"status": …, "error": {…}}`."""
        call = make_call(self.workspace, StudioBody({"table": table, "as": role, **body}))
        try:
            # As the browser gets it.
            return json.loads(json.dumps(_ACTIONS[f"edit/{action}"].run(call)))
        except Exception as error:
            problem = describe_problem(error)
            if problem.status == 500:
                raise
            return {"status": problem.status, "error": json.loads(json.dumps(problem.to_json()))}
        finally:
            self.units = call.recorder.count_units()

    def put(self, item: Item, table: str = "Tasks") -> Item:
        """Store an item as it is."""
        self.engine.execute("PutItem", {"TableName": table, "Item": item})
        return item

    def get(self, item: Mapping[str, Any], table: str = "Tasks") -> Item | None:
        """Return an item with the key of another one."""
        declared = {"Tasks": tasks, "Market": market.table, "Pantry": pantry.table}[table]
        key = {name: item[name] for name in declared.key.names}
        return self.engine.execute("GetItem", {"TableName": table, "Key": key}).get("Item")

    def open(self, item: Mapping[str, Any], **more: Any) -> Any:
        """Open an item, by its key."""
        return self.act("open", key={name: item[name] for name in ("pk", "sk")}, **more)

    def guards(self, table: str = "Tasks") -> set[str]:
        """Return the unique values that are taken."""
        items = self.engine.execute("Scan", {"TableName": table})["Items"]
        found = {item["pk"]["S"] for item in items if "keyfold_unique" in item}
        return {each.removeprefix("keyfold#unique#") for each in found}


@pytest.fixture
def room() -> Iterator[Room]:
    now = [_NOW]
    with Engine.open(":memory:", clock=lambda: now[0]) as engine:
        for table in (tasks, market.table, pantry.table):
            Store(engine, StoreSettings([table])).create_table(table)
        workspace = make_workspace(
            engine, [tasks, market.table, pantry.table], clock=lambda: now[0]
        )
        yield Room(engine, workspace, now)
        assert engine.verify() == []


def _draft(opened: Any, others: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return the draft of a form with other values."""
    name = "fresh" if opened["item"] is None else "value"
    values = {each["name"]: each.get(name) for each in opened["form"]}
    return {
        "mode": "typed",
        "entity": opened["entity"],
        "fields": {**values, **fields},
        "others": {**opened["others"], **(others or {})},
    }


def _new_task(room: Room, **fields: Any) -> Item:
    opened = room.act("open", entity="Task")
    given = {"board": {"S": "x"}, "number": {"S": "1"}, "title": {"S": "Write"}, **fields}
    return room.act("save", draft=_draft(opened, **given))["after"]


_FULL: dict[str, Any] = {
    "owner": {"S": "ada"},
    "due": {"S": "2026-12"},
    "code": {"S": "A-1"},
    "kind": {"S": "chore"},
    "size": {"N": _BIG},
    "priority": {"S": "high"},
    "is_open": {"BOOL": False},
    "labels": {"SS": ["b", "a"]},
    "scores": {"NS": ["2", "0.5"]},
    "picture": {"B": "AP8="},
    "steps": {"L": [{"M": {"label": {"S": "one"}, "weight": {"N": "1.5"}}}]},
    "links": {"M": {"home": {"S": "https://example.com"}}},
}


# Forms.


def test_a_form_describes_every_field(room: Room) -> None:
    form = {each["name"]: each for each in room.act("open", entity="Task")["form"]}
    kinds = {name: each["shape"]["kind"] for name, each in form.items()}
    assert kinds == {
        "board": "text",
        "number": "text",
        "title": "text",
        "owner": "text",
        "due": "text",
        "code": "text",
        "kind": "text",
        "size": "number",
        "priority": "choice",
        "is_open": "boolean",
        "labels": "set",
        "scores": "set",
        "picture": "binary",
        "steps": "list",
        "links": "map",
        "version": "integer",
        "created": "time",
        "updated": "time",
        "ttl": "seconds",
    }
    assert [name for name in form if form[name]["key"]] == ["board", "number"]
    assert [name for name in form if form[name]["required"]] == ["board", "number", "title"]
    assert [name for name in form if form[name]["unique"]] == ["code"]
    assert form["is_open"]["attribute"] == "open"
    assert form["board"]["attribute"] is None
    assert form["priority"]["default"] == {"S": "low"}
    assert [each["label"] for each in form["priority"]["shape"]["choices"]] == ["low", "high"]
    assert {form[name]["managed"] for name in ("version", "created", "updated")} == {
        "version",
        "created",
        "updated",
    }
    members = form["steps"]["shape"]["members"]
    assert members["kind"] == "model"
    assert [(each["name"], each["required"]) for each in members["fields"]] == [
        ("label", True),
        ("weight", False),
    ]
    assert form["ttl"]["expires"]
    assert form["ttl"]["type"] == "Expiry | None"


def test_a_new_item_suggests_an_id(room: Room) -> None:
    opened = room.act("open", table="Market", entity="Product")
    fresh = {each["name"]: each["fresh"] for each in opened["form"]}
    assert fresh["product"]["S"].startswith("I#")
    assert fresh["tp"] == {"S": "product"}
    assert fresh["user"] is None


def test_an_unknown_entity_and_a_missing_item_are_named(room: Room) -> None:
    assert room.act("open", entity="Nope")["error"]["code"] == "entity-unknown"
    missing = room.open({"pk": {"S": "B#x"}, "sk": {"S": "T#0009"}})
    assert (missing["status"], missing["error"]["code"]) == (404, "item-missing")
    malformed = room.act("open", key={"pk": {"S": "x"}})
    assert malformed["error"]["code"] == "request-malformed"


# New items.


def test_a_new_item_keeps_every_type(room: Room) -> None:
    after = _new_task(room, **_FULL)
    stored = room.get(after)
    assert stored is not None
    assert stored["pk"] == {"S": "B#x"}
    assert stored["sk"] == {"S": "T#0001"}
    assert stored["size"] == {"N": _BIG}
    assert stored["labels"] == {"SS": ["a", "b"]}
    assert stored["scores"] == {"NS": ["0.5", "2"]}
    assert stored["picture"] == {"B": b"\x00\xff"}
    assert stored["open"] == {"BOOL": False}
    assert stored["ownerKey"] == {"S": "O#ada"}
    assert stored["version"] == {"N": "1"}
    assert stored["created"] == stored["updated"]
    assert room.guards() >= {"Task.code#S#A-1"}


def test_a_preview_says_what_creating_does_and_costs(room: Room) -> None:
    opened = room.act("open", entity="Task")
    draft = _draft(opened, board={"S": "x"}, number={"S": "1"}, title={"S": "Write"}, **_FULL)
    preview = room.act("preview", draft=draft)
    assert room.units == (0, 0)
    assert preview["ok"]
    assert [(each["index"], each["change"]) for each in preview["entries"]] == [
        ("ByOwner", "appears"),
        ("ByKind", "appears"),
    ]
    key = [each["text"] for each in preview["entries"][0]["after"]]
    assert key == ["O#ada", "2026-12"]
    assert [(each["field"], each["change"]) for each in preview["guards"]] == [("code", "taken")]
    room.act("save", draft=draft)
    assert room.units == (0, preview["units"]["write"])


def test_a_new_item_does_not_replace_another(room: Room) -> None:
    first = _new_task(room)
    opened = room.act("open", entity="Task")
    draft = _draft(opened, board={"S": "x"}, number={"S": "1"}, title={"S": "Another"})
    refused = room.act("save", draft=draft)
    assert refused["status"] == 409
    assert refused["error"]["code"] == "edit-conflict"
    assert refused["error"]["read"] is None
    assert refused["error"]["now"] == first
    assert refused["error"]["yours"]["title"] == {"S": "Another"}
    stored = room.get(first)
    assert stored is not None
    assert stored["title"] == {"S": "Write"}


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"title": None}, "title"),
        ({"number": {"S": "many"}}, "number"),
        ({"number": None}, "number"),
        ({"board": {"S": "x#y"}}, "board"),
        ({"size": {"N": "12a"}}, "size"),
        ({"size": {"N": "1" * 39}}, "size"),
        ({"size": {"S": "big"}}, "size"),
        ({"priority": {"S": "middling"}}, "priority"),
        ({"labels": {"SS": ["a", "a"]}}, "labels"),
        ({"steps": {"L": [{"M": {"weight": {"N": "1"}}}]}}, "steps.0.label"),
        ({"picture": {"B": "no base 64"}}, "picture"),
        ({"nothing": {"S": ""}}, "nothing"),
    ],
)
def test_what_is_invalid_is_named_by_field(room: Room, fields: dict[str, Any], where: str) -> None:
    opened = room.act("open", entity="Task")
    given = {"board": {"S": "x"}, "number": {"S": "1"}, "title": {"S": "Write"}, **fields}
    preview = room.act("preview", draft=_draft(opened, **given))
    assert not preview["ok"]
    assert [each["field"] for each in preview["errors"]] == [where]
    refused = room.act("save", draft=_draft(opened, **given))
    assert (refused["status"], refused["error"]["code"]) == (422, "edit-invalid")
    assert refused["error"]["fields"] == preview["errors"]


# Changes.


def test_a_save_writes_what_differs_and_counts_the_version(room: Room) -> None:
    item = _new_task(room, **_FULL)
    opened = room.open(item)
    room.now[0] += 60
    draft = _draft(opened, size={"N": "2.50"}, labels={"SS": ["c"]}, due=None)
    preview = room.act("preview", read=opened["item"], draft=draft)
    changed = {each["name"]: each["by"] for each in preview["changes"]}
    assert changed == {
        "size": "you",
        "labels": "you",
        "due": "you",
        "version": "version",
        "updated": "updated",
        "dueKey": "index key",
    }
    assert [(each["index"], each["change"]) for each in preview["entries"]] == [
        ("ByOwner", "vanishes")
    ]
    saved = room.act("save", read=opened["item"], draft=draft)
    stored = room.get(item)
    assert stored is not None
    assert stored["size"] == {"N": "2.5"}
    assert stored["labels"] == {"SS": ["c"]}
    assert stored["version"] == {"N": "2"}
    assert "due" not in stored
    assert "dueKey" not in stored
    assert stored["created"] != stored["updated"]
    assert saved["after"]["updated"] == stored["updated"]
    assert room.units[1] == preview["units"]["write"]


def test_a_draft_without_a_change_is_not_saved(room: Room) -> None:
    opened = room.open(_new_task(room, **_FULL))
    preview = room.act("preview", read=opened["item"], draft=_draft(opened))
    assert (preview["ok"], preview["changes"]) == (True, [])
    refused = room.act("save", read=opened["item"], draft=_draft(opened))
    assert refused["error"]["code"] == "edit-empty"


def test_a_default_that_is_not_stored_stays_so(room: Room) -> None:
    item = room.put({"pk": {"S": "B#x"}, "sk": {"S": "T#0001"}, "title": {"S": "Old"}})
    opened = room.open(item)
    room.act("save", read=opened["item"], draft=_draft(opened, title={"S": "New"}))
    stored = room.get(item)
    assert stored is not None
    assert {*stored} == {"pk", "sk", "title", "version", "updated"}


def test_other_attributes_are_added_kept_and_removed(room: Room) -> None:
    item = _new_task(room)
    extra = {"a": {"NULL": True}, "b": {"L": [{"N": "1"}]}, "c": {"BS": ["AA=="]}}
    opened = room.open(item)
    room.act("save", read=opened["item"], draft=_draft(opened, extra))
    opened = room.open(item)
    assert opened["others"] == extra
    draft = _draft(opened, {"a": None, "b": {"M": {}}})
    room.act("save", read=opened["item"], draft=draft)
    stored = room.get(item)
    assert stored is not None
    assert "a" not in stored
    assert stored["b"] == {"M": {}}
    assert stored["c"] == {"BS": [b"\x00"]}


def test_nested_attributes_that_are_not_declared_stay(room: Room) -> None:
    step = {"M": {"label": {"S": "one"}, "note": {"S": "newer program"}}}
    item = room.put(
        {
            "pk": {"S": "B#x"},
            "sk": {"S": "T#0001"},
            "title": {"S": "Old"},
            "steps": {"L": [step]},
        }
    )
    opened = room.open(item)
    changed = {"M": {**step["M"], "label": {"S": "two"}}}
    draft = _draft(opened, steps={"L": [changed]})
    room.act("save", read=opened["item"], draft=draft)
    stored = room.get(item)
    assert stored is not None
    members = stored["steps"]["L"][0]["M"]
    assert members["label"] == {"S": "two"}
    assert members["note"] == {"S": "newer program"}


def test_a_change_of_the_key_moves_the_item_with_its_unique_value(room: Room) -> None:
    item = _new_task(room, **_FULL)
    opened = room.open(item)
    draft = _draft(opened, number={"S": "2"})
    preview = room.act("preview", read=opened["item"], draft=draft)
    assert preview["moves"]
    saved = room.act("save", read=opened["item"], draft=draft)
    assert room.units[1] == preview["units"]["write"]
    assert room.get(item) is None
    assert saved["after"]["sk"] == {"S": "T#0002"}
    assert room.guards() >= {"Task.code#S#A-1"}
    undone = room.act("undo", before=saved["before"], after=saved["after"])
    assert undone["after"]["sk"] == {"S": "T#0001"}
    assert room.get(item) is not None


def test_an_item_does_not_move_over_another(room: Room) -> None:
    item = _new_task(room)
    _new_task(room, number={"S": "2"})
    opened = room.open(item)
    draft = _draft(opened, number={"S": "2"})
    refused = room.act("save", read=opened["item"], draft=draft)
    assert (refused["status"], refused["error"]["code"]) == (409, "already-exists")
    assert room.get(item) is not None


def test_a_unique_value_of_another_item_is_refused(room: Room) -> None:
    _new_task(room, code={"S": "A-1"})
    other = _new_task(room, number={"S": "2"}, code={"S": "A-2"})
    opened = room.open(other)
    draft = _draft(opened, code={"S": "A-1"})
    refused = room.act("save", read=opened["item"], draft=draft)
    assert (refused["status"], refused["error"]["code"]) == (422, "unique-taken")
    assert refused["error"]["fields"][0]["field"] == "code"
    assert room.guards() >= {"Task.code#S#A-1", "Task.code#S#A-2"}
    room.act("save", read=opened["item"], draft=_draft(opened, code={"S": "A-3"}))
    assert "Task.code#S#A-2" not in room.guards()
    assert "Task.code#S#A-3" in room.guards()


def test_an_expiry_that_changes_moves_the_guard_along(room: Room) -> None:
    item = _new_task(room, code={"S": "A-1"})
    opened = room.open(item)
    draft = _draft(opened, ttl={"N": str(int(_NOW) + 60)})
    preview = room.act("preview", read=opened["item"], draft=draft)
    room.act("save", read=opened["item"], draft=draft)
    assert room.units[1] == preview["units"]["write"]
    key = {"pk": {"S": "keyfold#unique#Task.code#S#A-1"}, "sk": {"S": "keyfold#unique"}}
    guard = room.get(key)
    assert guard is not None
    assert guard["ttl"] == {"N": str(int(_NOW) + 60)}


def test_an_item_that_does_not_fit_is_repaired(room: Room) -> None:
    item = room.put(
        {
            "pk": {"S": "B#x"},
            "sk": {"S": "T#0001"},
            "title": {"N": "5"},
            "size": {"S": "big"},
            "version": {"S": "one"},
            "odd": {"S": "kept"},
        }
    )
    opened = room.open(item)
    assert opened["shown"]["problem"]
    same = room.act("preview", read=opened["item"], draft=_draft(opened))
    assert {each["field"] for each in same["errors"]} == {"title", "size", "version"}
    draft = _draft(opened, title={"S": "Five"}, size={"N": "5"}, version=None)
    preview = room.act("preview", read=opened["item"], draft=draft)
    assert any("repairs" in each for each in preview["notes"])
    saved = room.act("save", read=opened["item"], draft=draft)
    assert saved["opened"]["shown"]["problem"] is None
    stored = room.get(item)
    assert stored is not None
    assert stored["version"] == {"N": "1"}
    assert stored["odd"] == {"S": "kept"}
    # What was stored before comes back, although it does not fit.
    room.act("undo", before=saved["before"], after=saved["after"])
    stored = room.get(item)
    assert stored is not None
    assert stored["title"] == {"N": "5"}


# Conflicts.

_OTHERS_CHANGE: list[tuple[str, Any]] = [
    ("title", {"S": "Theirs"}),
    ("size", {"N": "1.25"}),
    ("open", {"BOOL": True}),
    ("labels", {"SS": ["a", "b", "z"]}),
    ("scores", {"NS": ["9"]}),
    ("picture", {"B": b"other"}),
    ("steps", {"L": []}),
    ("links", {"M": {"home": {"S": "elsewhere"}}}),
    ("priority", {"S": "low"}),
    ("owner", {"S": "bob"}),
    ("version", {"N": "7"}),
    ("size", None),
    ("labels", None),
    ("odd", {"S": "changed"}),
    ("odd", {"NULL": True}),
    ("odd", None),
    ("ttl", {"N": "1990000000"}),
]


@pytest.mark.parametrize(("name", "value"), _OTHERS_CHANGE)
@pytest.mark.parametrize("action", ["save", "delete", "undo"])
def test_a_change_of_others_in_any_field_is_a_conflict(
    room: Room, action: str, name: str, value: Any
) -> None:
    item = _new_task(room, **_FULL)
    opened = room.open(item)
    saved = room.act("save", read=opened["item"], draft=_draft(opened, {"odd": {"S": "mine"}}))
    opened = saved["opened"]
    changed = dict(room.get(item) or {})
    if value is None:
        del changed[name]
    else:
        changed[name] = value
    room.put(changed)
    match action:
        case "save":
            refused = room.act(
                "save", read=opened["item"], draft=_draft(opened, kind={"S": "mine"})
            )
        case "delete":
            refused = room.act("delete", read=opened["item"])
        case _:
            refused = room.act("undo", before=saved["before"], after=saved["after"])
    assert (refused["status"], refused["error"]["code"]) == (409, "edit-conflict")
    assert refused["error"]["read"] == opened["item"]
    assert refused["error"]["now"] == room.open(item)["item"]
    assert room.get(item) == changed


def test_a_conflict_has_three_columns(room: Room) -> None:
    item = _new_task(room, **_FULL)
    opened = room.open(item)
    changed = dict(room.get(item) or {})
    room.put({**changed, "size": {"N": "1"}, "odd": {"S": "theirs"}})
    draft = _draft(opened, title={"S": "Mine"})
    refused = room.act("save", read=opened["item"], draft=draft)
    rows = {each["name"]: each for each in refused["error"]["rows"]}
    assert {*rows} == {"size", "title", "odd"}
    assert (rows["size"]["read"], rows["size"]["now"]) == ({"N": _BIG}, {"N": "1"})
    assert rows["size"]["yours"] == {"N": _BIG}
    assert (rows["title"]["now"], rows["title"]["yours"]) == ({"S": "Write"}, {"S": "Mine"})
    assert rows["odd"]["read"] is None
    # With what is stored now as read, the same draft can be saved.
    again = room.open(item)
    draft = _draft(again, title={"S": "Mine"})
    room.act("save", read=again["item"], draft=draft)
    stored = room.get(item)
    assert stored is not None
    assert (stored["title"], stored["size"]) == ({"S": "Mine"}, {"N": "1"})
    assert stored["odd"] == {"S": "theirs"}


def test_an_item_that_others_deleted_is_a_conflict(room: Room) -> None:
    item = _new_task(room)
    opened = room.open(item)
    key = {name: item[name] for name in ("pk", "sk")}
    room.engine.execute("DeleteItem", {"TableName": "Tasks", "Key": key})
    refused = room.act("save", read=opened["item"], draft=_draft(opened, title={"S": "x"}))
    assert refused["status"] == 409
    assert refused["error"]["now"] is None
    assert room.get(item) is None


def test_an_attribute_that_others_add_meanwhile_under_a_new_name_stays(room: Room) -> None:
    item = _new_task(room)
    opened = room.open(item)
    room.put({**(room.get(item) or {}), "unheard of": {"S": "theirs"}})
    room.act("save", read=opened["item"], draft=_draft(opened, title={"S": "Mine"}))
    stored = room.get(item)
    assert stored is not None
    assert stored["unheard of"] == {"S": "theirs"}


def test_more_attributes_than_a_condition_takes_can_be_saved(room: Room) -> None:
    many: Item = {f"extra {number:03}": {"N": str(number)} for number in range(300)}
    item = room.put({"pk": {"S": "B#x"}, "sk": {"S": "T#0001"}, "title": {"S": "Wide"}, **many})
    opened = room.open(item)
    draft = _draft(opened, {"extra 299": {"N": "-1"}})
    preview = room.act("preview", read=opened["item"], draft=draft)
    assert any("not compared" in each for each in preview["notes"])
    assert "after" in room.act("save", read=opened["item"], draft=draft)
    stored = room.get(item)
    assert stored is not None
    assert stored["extra 299"] == {"N": "-1"}
    # A change of the attribute that the draft changes is always noticed.
    room.put({**stored, "extra 299": {"N": "7"}})
    again = {**opened["item"], "extra 299": {"N": "-1"}, "version": stored["version"]}
    again["updated"] = stored["updated"]
    refused = room.act("save", read=again, draft=_draft(opened, {"extra 299": {"N": "5"}}))
    assert refused["status"] == 409


# Deletions and undo.


def test_a_deletion_releases_what_is_unique_and_can_be_undone(room: Room) -> None:
    item = _new_task(room, **_FULL)
    opened = room.open(item)
    preview = room.act("preview", read=opened["item"], deletes=True)
    assert {each["change"] for each in preview["entries"]} == {"vanishes"}
    deleted = room.act("delete", read=opened["item"])
    assert room.units[1] == preview["units"]["write"]
    assert room.get(item) is None
    assert "Task.code#S#A-1" not in room.guards()
    undone = room.act("undo", before=deleted["before"], after=deleted["after"])
    assert undone["after"]["title"] == {"S": "Write"}
    assert "Task.code#S#A-1" in room.guards()


def test_undo_of_a_deletion_does_not_replace_what_others_created(room: Room) -> None:
    item = _new_task(room)
    deleted = room.act("delete", read=room.open(item)["item"])
    _new_task(room, title={"S": "Theirs"})
    refused = room.act("undo", before=deleted["before"], after=None)
    assert refused["status"] == 409
    stored = room.get(item)
    assert stored is not None
    assert stored["title"] == {"S": "Theirs"}


def test_undo_of_a_creation_deletes_the_item(room: Room) -> None:
    item = _new_task(room, code={"S": "A-1"})
    room.act("undo", before=None, after=room.open(item)["item"])
    assert room.get(item) is None
    assert "Task.code#S#A-1" not in room.guards()


def test_undo_puts_the_values_back_and_counts_the_version_up(room: Room) -> None:
    item = _new_task(room, **_FULL)
    opened = room.open(item)
    saved = room.act("save", read=opened["item"], draft=_draft(opened, size=None, kind=None))
    room.now[0] += 5
    undone = room.act("undo", before=saved["before"], after=saved["after"])
    stored = room.get(item)
    assert stored is not None
    assert stored["size"] == {"N": _BIG}
    assert stored["version"] == {"N": "3"}
    assert undone["after"]["version"] == {"N": "3"}
    assert room.act("undo", before=None, after=None)["status"] == 400


# Expired items.


def test_an_expired_item_is_created_anew_and_deleted(room: Room) -> None:
    item = _new_task(room, code={"S": "A-1"}, ttl={"N": str(int(_NOW) + 10)})
    room.now[0] += 100
    opened = room.open(item)
    assert opened["shown"]["expired"]
    same = room.act("preview", read=opened["item"], draft=_draft(opened, title={"S": "Again"}))
    assert any("stay expired" in each for each in same["notes"])
    draft = _draft(opened, ttl=None, title={"S": "Again"})
    preview = room.act("preview", read=opened["item"], draft=draft)
    assert any("expired" in each for each in preview["notes"])
    assert "after" in room.act("save", read=opened["item"], draft=draft)
    stored = room.get(item)
    assert stored is not None
    assert stored["title"] == {"S": "Again"}
    assert "ttl" not in stored
    other = _new_task(room, number={"S": "2"}, ttl={"N": str(int(room.now[0]) + 10)})
    room.now[0] += 100
    opened = room.open(other)
    changed = {**(room.get(other) or {}), "title": {"S": "changed"}}
    room.put(changed)
    assert room.act("delete", read=opened["item"])["status"] == 409
    room.put({**changed, "title": opened["item"]["title"]})
    assert room.act("delete", read=opened["item"])["after"] is None
    assert room.get(other) is None


# Raw drafts.


def test_a_raw_item_is_checked_by_its_entity(room: Room) -> None:
    item = _new_task(room, **_FULL)
    read = room.open(item)["item"]
    text = json.dumps({**read, "title": {"S": "Raw"}, "new": {"SS": ["x"]}})
    saved = room.act("save", read=read, draft={"mode": "raw", "text": text})
    assert saved["after"]["title"] == {"S": "Raw"}
    assert saved["after"]["version"] == {"N": "2"}
    read = saved["after"]
    wrong = json.dumps({**read, "size": {"S": "big"}})
    refused = room.act("save", read=read, draft={"mode": "raw", "text": wrong})
    assert [each["field"] for each in refused["error"]["fields"]] == ["size"]
    contradicting = json.dumps({**read, "ownerKey": {"S": "O#bob"}})
    refused = room.act("save", read=read, draft={"mode": "raw", "text": contradicting})
    assert "O#ada" in refused["error"]["message"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n  "pk": {"S": "a",}\n}', 2, 19),
        ("", 1, 1),
        ("[]", 1, 1),
        ('{\n "pk": {"S": 1}}', 2, 2),
        ('{"pk": {"S": "a"},\n\n   "sk": "b"}', 3, 4),
    ],
)
def test_errors_of_a_raw_text_have_a_position(
    room: Room, text: str, line: int, column: int
) -> None:
    preview = room.act("preview", read=None, draft={"mode": "raw", "text": text})
    assert not preview["ok"]
    [error] = preview["errors"]
    assert (error["line"], error["column"]) == (line, column)


def test_a_raw_text_with_a_name_twice_is_refused(room: Room) -> None:
    text = '{"pk": {"S": "B#x"}, "pk": {"S": "B#y"}, "sk": {"S": "T#0001"}}'
    preview = room.act("preview", draft={"mode": "raw", "text": text})
    assert "twice" in preview["errors"][0]["message"]


def test_a_raw_item_of_no_entity_is_written_as_it_is(room: Room) -> None:
    text = json.dumps({"pk": {"S": "free"}, "sk": {"S": "form"}, "a": {"N": "1"}})
    preview = room.act("preview", draft={"mode": "raw", "text": text})
    assert preview["entity"] is None
    assert any("no entity" in each for each in preview["notes"])
    saved = room.act("save", draft={"mode": "raw", "text": text})
    read = room.open(saved["after"])
    assert read["entity"] is None
    changed = json.dumps({**read["item"], "a": {"N": "2"}})
    room.act("save", read=read["item"], draft={"mode": "raw", "text": changed})
    stale = room.act("save", read=read["item"], draft={"mode": "raw", "text": changed})
    assert stale["status"] == 409
    read = room.open(saved["after"])
    assert room.act("delete", read=read["item"])["after"] is None


def test_own_items_are_not_edited(room: Room) -> None:
    _new_task(room, code={"S": "A-1"})
    key = {"pk": {"S": "keyfold#unique#Task.code#S#A-1"}, "sk": {"S": "keyfold#unique"}}
    opened = room.open(key)
    assert opened["shown"]["own"]
    assert room.act("delete", read=opened["item"])["error"]["code"] == "edit-own-item"
    text = json.dumps({**opened["item"], "x": {"S": "y"}})
    refused = room.act("save", read=opened["item"], draft={"mode": "raw", "text": text})
    assert refused["status"] == 422
    raw = room.act("save", read=None, draft={"mode": "raw", "text": json.dumps(key)})
    assert raw["status"] == 422


# Roles.

_WORKER = {"roles": ["worker"], "ids": {"board": "x"}}


def test_a_role_edits_what_it_may(room: Room) -> None:
    item = _new_task(room, **_FULL)
    other = _new_task(room, board={"S": "y"})
    opened = room.open(item, role=_WORKER)
    draft = _draft(opened, code={"S": "A-9"})
    assert "after" in room.act("save", role=_WORKER, read=opened["item"], draft=draft)
    denied = room.open(other, role=_WORKER)
    assert (denied["status"], denied["error"]["code"]) == (403, "access-denied")
    foreign = _draft(room.act("open", entity="Task"), board={"S": "y"}, number={"S": "8"})
    foreign["fields"]["title"] = {"S": "theirs"}
    assert room.act("save", role=_WORKER, draft=foreign)["status"] == 403


def test_a_denial_names_the_missing_right(room: Room) -> None:
    item = _new_task(room)
    reader: dict[str, Any] = {"roles": ["reader"], "ids": {}}
    opened = room.open(item, role=reader)
    draft = _draft(opened, title={"S": "x"})
    denied = room.act("save", role=reader, read=opened["item"], draft=draft)
    assert denied["status"] == 403
    assert "reader lacks update" in denied["error"]["message"]
    denied = room.act("delete", role=reader, read=opened["item"])
    assert "reader lacks delete" in denied["error"]["message"]
    planner: dict[str, Any] = {"roles": ["planner"], "ids": {}}
    opened = room.open(item, role=planner)
    draft = _draft(opened, code={"S": "A-2"})
    denied = room.act("save", role=planner, read=opened["item"], draft=draft)
    assert "unique values of Task.code" in denied["error"]["message"]


def test_a_role_does_not_see_nor_lose_what_is_hidden_from_it(room: Room) -> None:
    clerk: dict[str, Any] = {"roles": ["clerk"], "ids": {}}
    item = _new_task(room, **_FULL)
    opened = room.open(item, role=clerk)
    assert opened["hidden"] == ["picture", "size"]
    assert "size" not in opened["item"]
    draft = _draft(opened, title={"S": "Clerk"}, code={"S": "A-5"})
    saved = room.act("save", role=clerk, read=opened["item"], draft=draft)
    assert "size" not in saved["after"]
    stored = room.get(item)
    assert stored is not None
    assert (stored["title"], stored["size"]) == ({"S": "Clerk"}, {"N": _BIG})
    undone = room.act("undo", role=clerk, before=saved["before"], after=saved["after"])
    assert "error" not in undone
    stored = room.get(item)
    assert stored is not None
    assert (stored["title"], stored["size"]) == ({"S": "Write"}, {"N": _BIG})
    opened = room.open(item, role=clerk)
    moved = room.act(
        "save", role=clerk, read=opened["item"], draft=_draft(opened, number={"S": "7"})
    )
    assert moved["status"] == 403
    assert "size" in moved["error"]["message"]


# The designs.


def test_business_ids_of_the_market_stay_unique(room: Room) -> None:
    opened = room.act("open", table="Market", entity="Order")
    draft = _draft(opened, user={"S": "ada"}, id={"S": "2026-1"}, total={"N": _BIG})
    first = room.act("save", table="Market", draft=draft)["after"]
    assert first["tp"] == {"S": "order"}
    opened = room.act("open", table="Market", entity="Order")
    second = _draft(opened, user={"S": "bob"}, id={"S": "2026-1"})
    refused = room.act("save", table="Market", draft=second)
    assert refused["error"]["code"] == "unique-taken"
    key = {name: first[name] for name in ("pk", "sk")}
    opened = room.act("open", table="Market", key=key)
    preview = room.act(
        "preview", table="Market", read=opened["item"], draft=_draft(opened, id=None)
    )
    assert [(each["index"], each["change"]) for each in preview["entries"]] == [
        ("IdLookupIndex", "vanishes")
    ]
    room.act("save", table="Market", read=opened["item"], draft=_draft(opened, id=None))
    assert "after" in room.act("save", table="Market", draft=second)


def test_an_item_with_a_former_attribute_name_is_edited(room: Room) -> None:
    group = "0b0a3f5e-5d6a-4f53-9d0c-3a1f3f1f0001"
    user = "0b0a3f5e-5d6a-4f53-9d0c-3a1f3f1f0002"
    item = room.put(
        {
            "PK": {"S": group},
            "SK": {"S": "Group"},
            "GroupName": {"S": "Home"},
            "Users": {"L": [{"S": user}]},
        },
        "Pantry",
    )
    key = {name: item[name] for name in ("PK", "SK")}
    opened = room.act("open", table="Pantry", key=key)
    draft = _draft(opened, name={"S": "House"})
    saved = room.act("save", table="Pantry", read=opened["item"], draft=draft)
    assert "error" not in saved, saved
    stored = room.get(item, "Pantry")
    assert stored is not None
    assert stored["GroupName"] == {"S": "House"}
    assert stored["BelongingUsers"] == {"SS": [user]}
    assert "Users" not in stored
    room.put({**stored, "BelongingUsers": {"SS": [group]}}, "Pantry")
    refused = room.act("undo", table="Pantry", before=saved["before"], after=saved["after"])
    assert refused["status"] == 409
    room.put(stored, "Pantry")
    room.act("undo", table="Pantry", before=saved["before"], after=saved["after"])
    assert room.get(item, "Pantry") == item


def test_a_time_of_creation_is_that_of_the_first_write(room: Room) -> None:
    item = _new_task(room)
    assert datetime.fromisoformat(item["created"]["S"]).timestamp() == _NOW


# Secrets.

vault = Table("Vault", key=Key("pk"))


class Account(Entity, table=vault, key="A#{name}"):
    """An account with a secret."""

    name: str = part()
    password: SecretStr
    hint: str | None = None


def test_secrets_are_sealed_kept_and_replaced() -> None:
    with Engine.open(":memory:") as engine:
        Store(engine, StoreSettings([vault])).create_table(vault)
        room = Room(engine, make_workspace(engine, [vault]), [])
        item: Item = {"pk": {"S": "A#x"}, "password": {"S": 'hunter"2'}}
        room.put(item, "Vault")
        opened = room.act("open", table="Vault", key={"pk": {"S": "A#x"}})
        assert "hunter" not in json.dumps(opened)
        sealed = opened["item"]["password"]["S"]
        assert sealed.startswith("keyfold-sealed:")
        draft = _draft(opened, hint={"S": "none"})
        preview = room.act("preview", table="Vault", read=opened["item"], draft=draft)
        assert [each["name"] for each in preview["changes"]] == ["hint"]
        saved = room.act("save", table="Vault", read=opened["item"], draft=draft)
        assert "hunter" not in json.dumps(saved)

        def read() -> Item:
            request = {"TableName": "Vault", "Key": {"pk": {"S": "A#x"}}}
            return engine.execute("GetItem", request)["Item"]

        assert read() == {**item, "hint": {"S": "none"}}
        # In the text of a raw item, too.
        text = json.dumps({**saved["after"], "hint": {"S": "raw"}})
        saved = room.act(
            "save", table="Vault", read=saved["after"], draft={"mode": "raw", "text": text}
        )
        assert read() == {**item, "hint": {"S": "raw"}}
        draft = _draft(saved["opened"], password={"S": "tr0ub4dor"})
        preview = room.act("preview", table="Vault", read=saved["after"], draft=draft)
        assert "hunter" not in json.dumps(preview)
        assert "tr0ub4dor" not in json.dumps(preview)
        replaced = room.act("save", table="Vault", read=saved["after"], draft=draft)
        assert "tr0ub4dor" not in json.dumps(replaced)
        assert read()["password"] == {"S": "tr0ub4dor"}
        room.act("undo", table="Vault", before=replaced["before"], after=replaced["after"])
        assert read()["password"] == item["password"]
        late = _draft(replaced["opened"], hint={"S": "late"})
        stale = room.act("save", table="Vault", read=replaced["after"], draft=late)
        assert stale["status"] == 409
        assert "hunter" not in json.dumps(stale)
        forged = {**opened["item"], "password": {"S": f"{sealed[:-4]}AAA="}}
        refused = room.act("delete", table="Vault", read=forged)
        assert refused["error"]["code"] == "edit-sealed"
