"""The room Console: plans, runs, writes and completion of PartiQL statements."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pydantic import SecretStr

from keyfold.engine import Engine
from keyfold.errors import AccessDenied, ValidationException
from keyfold.model import Entity, Index, Key, Table, attr, part
from keyfold.policy import ALL, EVERYTHING, READ, Role
from keyfold.store import Store, StoreSettings
from keyfold.studio._actions import StudioCall, make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import make_workspace
from keyfold.studio._problems import StudioProblem
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms.console import ACTIONS

_ACTIONS = {each.name: each for each in ACTIONS}
_HOSTILE = "<script>alert(1)</script>"
_NOW = 1_790_000_000.0

by_owner = Index("ByOwner", key=Key("owner", "day"))
by_day = Index("ByDay", key=Key("day"), project=["title"])
notes = Table("Notes", key=Key("pk", "sk"), indexes=[by_owner, by_day])
users = notes.shard("U#{user}", name="users")


class Note(Entity, table=notes, key=(users, "N#{number:03}"), unique="code"):
    """A note of a user."""

    user: str = part()
    number: int = part()
    title: str
    owner: str | None = attr(default=None)
    day: str | None = attr(default=None)
    code: str | None = attr(default=None)
    weight: Decimal = attr(default=Decimal(1))


class Profile(Entity, table=notes, key=(users, "PROFILE")):
    """The profile of a user."""

    user: str = part()
    name: str = attr("fullName")
    password: SecretStr = attr(default=SecretStr("hunter2"))


notes.add_role(Role("reader", tenant="user", can={users: READ}))
notes.add_role(Role("keeper", can={EVERYTHING: ALL}, operations=["ExecuteStatement"]))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine.open(":memory:", upkeep_seconds=None, clock=lambda: _NOW) as engine:
        store = Store(engine, StoreSettings([notes], clock=lambda: _NOW))
        store.create_table(notes)
        for number in range(6):
            note = Note(user="ada", number=number, title=f"Note {number}", owner="ada", day="Mon")
            store.run(note.put())
        store.run(Note(user="bob", number=1, title=_HOSTILE, code="b1").put())
        store.run(Profile(user="ada", name="Ada").put())
        yield engine


@pytest.fixture
def workspace(engine: Engine) -> Workspace:
    return make_workspace(engine, [notes], clock=lambda: _NOW)


def call(workspace: Workspace, **body: Any) -> StudioCall:
    return make_call(workspace, StudioBody({"table": "Notes", **body}))


def act(workspace: Workspace, action: str, statement: str = "", **body: Any) -> Any:
    return _ACTIONS[f"console/{action}"].run(call(workspace, statement=statement, **body))


def refuse(workspace: Workspace, action: str, statement: str, **body: Any) -> Any:
    with pytest.raises(StudioProblem) as caught:
        act(workspace, action, statement, **body)
    return caught.value.problem


# Plans.

PLANS: list[tuple[str, str, str | None, list[str], str | None]] = [
    (
        "SELECT * FROM Notes WHERE pk = 'U#ada' AND sk = 'N#001'",
        "GetItem",
        None,
        ["pk = 'U#ada' AND sk = 'N#001'"],
        None,
    ),
    ("SELECT * FROM Notes WHERE pk = 'U#ada'", "Query", None, ["pk = 'U#ada'"], None),
    (
        "SELECT title FROM Notes WHERE pk = 'U#ada' AND begins_with(sk, 'N#') AND weight > 2",
        "Query",
        None,
        ["pk = 'U#ada' AND begins_with(sk, 'N#')"],
        "weight > 2",
    ),
    (
        "SELECT * FROM Notes WHERE pk IN ['U#ada', 'U#b''s'] AND sk BETWEEN 'N#1' AND 'N#2'",
        "Query",
        None,
        [
            "pk = 'U#ada' AND sk BETWEEN 'N#1' AND 'N#2'",
            "pk = 'U#b''s' AND sk BETWEEN 'N#1' AND 'N#2'",
        ],
        None,
    ),
    (
        'SELECT * FROM "Notes"."ByOwner" WHERE "owner" = \'ada\' AND "day" >= \'Mon\'',
        "Query",
        "ByOwner",
        ["owner = 'ada' AND day >= 'Mon'"],
        None,
    ),
    ("SELECT * FROM Notes WHERE weight > 2", "Scan", None, [], "weight > 2"),
    (
        "SELECT * FROM Notes WHERE pk = 'U#ada' OR weight > 2",
        "Scan",
        None,
        [],
        "pk = 'U#ada' OR weight > 2",
    ),
    ("SELECT * FROM Notes WHERE pk <> 'U#ada'", "Scan", None, [], "pk <> 'U#ada'"),
    (
        "SELECT * FROM Notes WHERE pk = 'U#ada' AND sk <> 'N#001'",
        "Query",
        None,
        ["pk = 'U#ada'"],
        "sk <> 'N#001'",
    ),
    ('SELECT * FROM "Notes"."ByDay"', "Scan", "ByDay", [], None),
    (
        "UPDATE Notes SET weight = 3 WHERE pk = 'U#ada' AND sk = 'N#001' AND weight = 1",
        "UpdateItem",
        None,
        ["pk = 'U#ada' AND sk = 'N#001'"],
        "weight = 1",
    ),
    (
        "DELETE FROM Notes WHERE pk = 'U#ada' AND sk = 'N#001'",
        "DeleteItem",
        None,
        ["pk = 'U#ada' AND sk = 'N#001'"],
        None,
    ),
    (
        "INSERT INTO Notes VALUE {'pk': 'U#ada', 'sk': 'N#009', 'title': 'x'}",
        "PutItem",
        None,
        ["pk = 'U#ada' AND sk = 'N#009'"],
        "the item does not exist",
    ),
]


@pytest.mark.parametrize(("statement", "operation", "index", "keys", "filters"), PLANS)
def test_a_plan_says_which_operation_a_statement_becomes(
    workspace: Workspace,
    statement: str,
    operation: str,
    index: str | None,
    keys: list[str],
    filters: str | None,
) -> None:
    plan = act(workspace, "plan", statement)
    assert (plan["operation"], plan["index"]) == (operation, index)
    assert plan["keys"] == keys
    assert plan["filter"] == filters


def test_the_operation_of_a_plan_is_what_the_units_say(workspace: Workspace) -> None:
    """A plan without a scan reads no more than its keys name."""
    for statement, operation, _, _, _ in PLANS:
        if operation in ("GetItem", "Query"):
            made = call(workspace, statement=statement)
            _ACTIONS["console/run"].run(made)
            [read] = made.recorder.calls
            assert read.units <= 1, statement


def test_a_plan_runs_nothing(workspace: Workspace) -> None:
    for statement, *_ in PLANS:
        made = call(workspace, statement=statement)
        _ACTIONS["console/plan"].run(made)
        assert made.recorder.calls == []


def test_a_partition_is_decoded(workspace: Workspace) -> None:
    plan = act(workspace, "plan", "SELECT * FROM Notes WHERE pk = 'U#ada'")
    assert plan["partition"]["key"]["pieces"] == [{"text": "U#"}, {"text": "ada", "part": "user"}]


def test_a_scan_says_why_and_what_would_be_a_query(workspace: Workspace) -> None:
    plan = act(workspace, "plan", "SELECT * FROM Notes WHERE \"owner\" = 'ada'")
    assert "does not name pk" in plan["why"][0]
    assert plan["why"][1].startswith('FROM "Notes"."ByOwner" would be a query')


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT FROM", "Statement wasn't well formed"),
        ("SELECT * FROM Notes WHERE pk LIKE 'U'", "Operator: like"),
        ('SELECT * FROM "Notes"."Nothing"', "does not have the specified index"),
        ("SELECT COUNT(*) FROM Notes", "Unexpected path component at 1:8:5"),
        ("UPDATE Notes SET weight = 1 WHERE pk = 'U#ada'", "mandatory equality on all key"),
        ("SELECT * FROM Notes WHERE pk = ?", "parameters"),
    ],
)
def test_a_plan_fails_with_the_words_of_the_service(
    workspace: Workspace, statement: str, words: str
) -> None:
    with pytest.raises(ValidationException, match=words.replace("(", r"\(")):
        act(workspace, "plan", statement)


def test_a_statement_about_another_table_names_it(workspace: Workspace) -> None:
    problem = refuse(workspace, "plan", "SELECT * FROM Other")
    assert problem.facts["names"] == "Other"


def test_a_long_statement_is_refused(workspace: Workspace) -> None:
    assert refuse(workspace, "plan", "SELECT " + "x" * 30_000).code == "statement-too-long"


# Reads.


def test_items_come_in_the_shape_of_the_studio_and_raw(workspace: Workspace) -> None:
    found = act(workspace, "run", "SELECT * FROM Notes WHERE pk = 'U#bob'")
    [item] = found["items"]
    assert item["entity"] == "Note"
    assert {each["name"]: each["value"] for each in item["fields"]}["title"] == {"S": _HOSTILE}
    assert found["raw"][0]["weight"] == {"N": "1"}


def test_columns_come_as_rows(workspace: Workspace) -> None:
    found = act(workspace, "run", "SELECT title, weight FROM Notes WHERE pk = 'U#bob'")
    assert found["items"] is None
    assert found["plan"]["columns"] == ("title", "weight")
    assert found["raw"] == [{"title": {"S": _HOSTILE}, "weight": {"N": "1"}}]


def test_items_of_a_narrow_index_lack_fields_without_a_problem(workspace: Workspace) -> None:
    found = act(workspace, "run", 'SELECT * FROM "Notes"."ByDay" WHERE "day" = \'Mon\'')
    assert len(found["items"]) == 6
    assert all(each["problem"] is None for each in found["items"])


def test_secrets_are_masked(workspace: Workspace) -> None:
    for columns in ("*", "password"):
        found = act(
            workspace, "run", f"SELECT {columns} FROM Notes WHERE pk = 'U#ada' AND sk = 'PROFILE'"
        )
        assert "hunter2" not in repr(found)
        assert found["raw"][0]["password"] == {"S": "**********"}


def test_pages_follow_each_other(workspace: Workspace) -> None:
    statement = "SELECT * FROM Notes WHERE pk = 'U#ada'"
    titles: list[Any] = []
    token = None
    for _ in range(10):
        found = act(workspace, "run", statement, limit=2, **({"token": token} if token else {}))
        titles += [each["sk"]["S"] for each in found["raw"]]
        token = found["token"]
        if token is None:
            break
    assert titles == [*(f"N#00{number}" for number in range(6)), "PROFILE"]


def test_pages_that_a_filter_leaves_empty_are_skipped(workspace: Workspace) -> None:
    made = call(
        workspace, statement="SELECT * FROM Notes WHERE pk = 'U#ada' AND fullName = 'Ada'", limit=1
    )
    found = _ACTIONS["console/run"].run(made)
    assert len(found["raw"]) == 1
    assert len(made.recorder.calls) == 7


def test_a_read_of_more_than_10_units_asks_first(engine: Engine, workspace: Workspace) -> None:
    for number in range(10):
        item = {"pk": {"S": "U#zed"}, "sk": {"S": f"N#{number:03}"}, "title": {"S": "x" * 20_000}}
        engine.execute("PutItem", {"TableName": "Notes", "Item": item})
    statement = "SELECT * FROM Notes"
    problem = refuse(workspace, "run", statement)
    assert (problem.status, problem.code) == (409, "statement-costs")
    assert problem.facts["plan"]["estimate"]["most"] > 10
    assert act(workspace, "run", statement, confirmed=True)["raw"]
    # A small page need not ask.
    assert act(workspace, "run", statement, limit=2)["raw"]


def test_run_refuses_writes_and_write_refuses_reads(workspace: Workspace) -> None:
    removal = "DELETE FROM Notes WHERE pk = 'U#ada' AND sk = 'N#001'"
    assert refuse(workspace, "run", removal).code == "statement-writes"
    assert refuse(workspace, "run", f"/* SELECT */ {removal}").code == "statement-writes"
    read = "SELECT * FROM Notes WHERE pk = 'U#ada'"
    assert refuse(workspace, "write", read, confirmed=True).code == "statement-reads"


# Writes.


def test_a_write_shows_what_it_changes_first(workspace: Workspace) -> None:
    statement = (
        "UPDATE Notes SET title = 'New', \"day\" = 'Tue' WHERE pk = 'U#ada' AND sk = 'N#001'"
    )
    preview = act(workspace, "plan", statement, preview=True)["preview"]
    assert {each["name"]: (each["before"], each["after"]) for each in preview["changes"]} == {
        "title": ({"S": "Note 1"}, {"S": "New"}),
        "day": ({"S": "Mon"}, {"S": "Tue"}),
    }
    # The item, and an entry of each index that moves.
    assert preview["units"] == 5
    assert preview["warnings"] == []
    assert refuse(workspace, "write", statement).code == "statement-unconfirmed"
    made = call(workspace, statement=statement, confirmed=True)
    _ACTIONS["console/write"].run(made)
    assert made.recorder.count_units() == (0, preview["units"])
    found = act(workspace, "run", "SELECT * FROM Notes WHERE pk = 'U#ada' AND sk = 'N#001'")
    assert found["raw"][0]["title"] == {"S": "New"}


def test_a_write_that_would_be_refused_says_so(workspace: Workspace) -> None:
    taken = "INSERT INTO Notes VALUE {'pk': 'U#ada', 'sk': 'N#001', 'title': 'x'}"
    preview = act(workspace, "plan", taken, preview=True)["preview"]
    assert preview["refusal"]["code"] == "DuplicateItemException"
    missing = "UPDATE Notes SET weight = 2 WHERE pk = 'U#ada' AND sk = 'N#999'"
    preview = act(workspace, "plan", missing, preview=True)["preview"]
    assert preview["refusal"]["code"] == "ConditionalCheckFailedException"
    assert preview["before"] is None


def test_a_write_warns_of_what_the_declaration_keeps(workspace: Workspace) -> None:
    where = "WHERE pk = 'U#bob' AND sk = 'N#001'"
    preview = act(workspace, "plan", f"UPDATE Notes REMOVE title {where}", preview=True)["preview"]
    assert "would not fit Note: title" in preview["warnings"][0]
    preview = act(workspace, "plan", f"DELETE FROM Notes {where}", preview=True)["preview"]
    assert "code of Note is unique" in preview["warnings"][0]
    assert preview["after"] is None
    stray = "INSERT INTO Notes VALUE {'pk': 'x', 'sk': 'y'}"
    preview = act(workspace, "plan", stray, preview=True)["preview"]
    assert preview["warnings"] == ["The item would be of no declared entity."]


def test_secrets_of_a_change_are_masked(workspace: Workspace) -> None:
    statement = "DELETE FROM Notes WHERE pk = 'U#ada' AND sk = 'PROFILE'"
    assert "hunter2" not in repr(act(workspace, "plan", statement, preview=True))
    returned = act(workspace, "write", f"{statement} RETURNING ALL OLD *", confirmed=True)
    assert "hunter2" not in repr(returned)
    assert returned["items"][0]["entity"] == "Profile"


def test_a_studio_that_only_reads_writes_nothing(engine: Engine) -> None:
    workspace = make_workspace(engine, [notes], read_only=True)
    assert _ACTIONS["console/write"].writes
    removal = "DELETE FROM Notes WHERE pk = 'U#ada' AND sk = 'N#001'"
    assert refuse(workspace, "write", removal, confirmed=True).code == "studio-read-only"
    titles = [each["title"] for each in act(workspace, "examples")["examples"]]
    assert not any(each.startswith(("update", "delete")) for each in titles)


# Roles.


def test_a_role_is_refused_what_it_may_not_do(workspace: Workspace) -> None:
    reader: Any = {"roles": ["reader"], "ids": {"user": "ada"}}
    statement = "SELECT * FROM Notes WHERE pk = 'U#ada'"
    with pytest.raises(AccessDenied):
        act(workspace, "run", statement, **{"as": reader})
    removal = "DELETE FROM Notes WHERE pk = 'U#bob' AND sk = 'N#001'"
    preview = act(workspace, "plan", removal, preview=True, **{"as": reader})["preview"]
    assert list(preview) == ["denied"]
    with pytest.raises(AccessDenied):
        act(workspace, "write", removal, confirmed=True, **{"as": reader})


def test_a_role_is_not_told_how_large_the_table_is(workspace: Workspace) -> None:
    reader: Any = {"roles": ["reader"], "ids": {"user": "ada"}}
    plan = act(workspace, "plan", "SELECT * FROM Notes", **{"as": reader})
    assert plan["estimate"] is None
    examples = act(workspace, "examples", **{"as": reader})["examples"]
    assert "U#bob" not in repr(examples)


def test_a_role_with_every_right_runs_statements(workspace: Workspace) -> None:
    keeper: Any = {"roles": ["keeper"], "ids": {}}
    statement = "SELECT * FROM Notes WHERE pk = 'U#ada'"
    assert len(act(workspace, "run", statement, **{"as": keeper})["raw"]) == 7


# Completion and examples.


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("sel", "SELECT "),
        ("SELECT * FROM ", "Notes"),
        ('SELECT * FROM "Notes"."By', 'ByOwner"'),
        ("SELECT * FROM Notes WHERE tit", "title"),
        ("SELECT * FROM Notes WHERE ful", "fullName"),
        ("SELECT * FROM Notes WHERE pk = '", "U#"),
        ("SELECT * FROM Notes WHERE begins_with(sk, '", "N#"),
        ("SELECT * FROM Notes WHERE sk = '", "PROFILE'"),
        ("SELECT * FROM Notes WHERE begi", "begins_with("),
    ],
)
def test_completion_knows_the_declaration(workspace: Workspace, text: str, offered: str) -> None:
    found = act(workspace, "complete", text)
    assert offered in [each["text"] for each in found["candidates"]]


def test_completion_says_which_field_an_attribute_is(workspace: Workspace) -> None:
    [found] = act(workspace, "complete", "SELECT * FROM Notes WHERE ful")["candidates"]
    assert (found["kind"], found["detail"]) == ("attribute", "Profile.name")


def test_examples_run(workspace: Workspace) -> None:
    examples = act(workspace, "examples")["examples"]
    assert {"one Note", "through ByOwner", "by an attribute: a scan"} <= {
        each["title"] for each in examples
    }
    for each in examples:
        plan = act(workspace, "plan", each["statement"])
        if not plan["writes"]:
            assert act(workspace, "run", each["statement"])["raw"], each
    assert "hunter2" not in repr(examples)
