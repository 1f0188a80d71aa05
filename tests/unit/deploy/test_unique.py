"""Guards of unique fields: planned, made, compared with items and repaired, on a live database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from keyfold import Entity, Key, Table, attr, part
from keyfold.deploy import Event, UniqueReport, apply, plan, verify
from keyfold.engine import Engine
from keyfold.errors import AccessDeniedException, KeyfoldError, UniqueTaken
from keyfold.store import Store, StoreSettings

plain = Table("Members", key=Key("pk"))


class Person(Entity, table=plain, key="M#{name}", kind="Member"):
    """A member before any field was unique."""

    name: str
    email: str | None = None


members = Table("Members", key=Key("pk"))


class Member(Entity, table=members, key="M#{name}", unique="email"):
    name: str
    email: str | None = None


class Live:
    """A database in which a writer runs just before the nth call of an operation."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.before: dict[str, list[Callable[[], object]]] = {}
        self.calls: list[str] = []

    def execute(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(operation)
        waiting = self.before.get(operation)
        if waiting:
            waiting.pop(0)()
        return self.engine.execute(operation, request)

    def items(self) -> dict[str, Any]:
        found = self.engine.execute("Scan", {"TableName": "Members"})["Items"]
        return {item["pk"]["S"]: item for item in found}

    def guards(self) -> dict[str, str]:
        return {
            key.removeprefix("keyfold#unique#"): item["keyfold_owner"]["M"]["pk"]["S"]
            for key, item in self.items().items()
            if "keyfold_owner" in item
        }

    def put(self, **item: str) -> None:
        values = {name: {"S": value} for name, value in item.items()}
        self.engine.execute("PutItem", {"TableName": "Members", "Item": values})

    def delete(self, key: str) -> None:
        self.engine.execute("DeleteItem", {"TableName": "Members", "Key": {"pk": {"S": key}}})


@pytest.fixture
def live() -> Iterator[Live]:
    with Engine.open(":memory:", upkeep_seconds=None) as engine:
        yield Live(engine)


def old(live: Live) -> Store:
    return Store(live.engine, StoreSettings([plain]))


def new(live: Live) -> Store:
    return Store(live.engine, StoreSettings([members]))


def fill(live: Live, *emails: str | None) -> None:
    """Create the table and its items, before the email is unique."""
    old(live).create_table(plain)
    for number, email in enumerate(emails):
        old(live).run(Person(name=str(number), email=email).put())


def check(live: Live, *, repair: bool = False) -> UniqueReport:
    (report,) = verify(live, [members], repair=repair, sleep=no_sleep)
    return report


def no_sleep(seconds: float) -> None:
    raise AssertionError(seconds)


def lines(report: UniqueReport) -> list[str]:
    return [str(problem) for problem in report.problems]


# Plan and apply.


def test_a_table_that_keyfold_creates_is_complete(live: Live) -> None:
    new(live).create_table(members)
    assert plan(live, [members])[0].is_as_declared
    new(live).drop_table(members)
    (report,) = apply(live, [members])
    assert report.is_as_declared
    assert plan(live, [members])[0].is_as_declared


def test_plan_sees_a_unique_field_that_the_data_does_not_carry(live: Live) -> None:
    fill(live, "a@x", None)
    live.calls.clear()
    (planned,) = plan(live, [members])
    assert [step.text for step in planned.unique] == [
        "make the guards of Member.email, which is unique"
    ]
    assert not planned.is_as_declared
    # Cheap: no scan.
    assert set(live.calls) == {
        "DescribeTable", "DescribeTimeToLive", "ListTagsOfResource", "GetItem",
    }  # fmt: skip


def test_apply_makes_the_guards(live: Live) -> None:
    fill(live, "a@x", None, "b@x")
    events: list[Event] = []
    (report,) = apply(live, [members], on_event=events.append)
    assert report.is_as_declared
    assert report.unique is not None
    assert (report.unique.values, report.unique.repaired) == (2, {"missing guard": 2})
    assert live.guards() == {"Member.email#S#a@x": "M#0", "Member.email#S#b@x": "M#2"}
    assert [event.kind for event in events] == ["begin", "wait", "done"]
    with pytest.raises(UniqueTaken):
        new(live).run(Member(name="3", email="a@x").create())
    new(live).run(Member.delete(name="0"))
    new(live).run(Member(name="3", email="a@x").create())
    assert check(live).is_good


def test_apply_makes_more_guards_than_one_transaction_takes(live: Live) -> None:
    fill(live, *(f"{number}@x" for number in range(130)))
    (report,) = apply(live, [members])
    assert report.is_as_declared
    assert len(live.guards()) == 130
    assert live.calls.count("TransactWriteItems") == 3
    assert check(live).is_good


def test_duplicates_are_listed_and_nothing_is_changed(live: Live) -> None:
    fill(live, "a@x", "b@x", "a@x")
    before = live.items()
    (report,) = apply(live, [members])
    assert report.unique is not None
    assert lines(report.unique) == ["Member.email 'a@x': pk='M#0' and pk='M#2' have it."]
    assert not report.is_as_declared
    assert live.items() == before
    # Resolved by an ordinary update, apply does the rest.
    new(live).run(Member.update(name="2").set(Member.f.email, "c@x"))
    assert apply(live, [members])[0].is_as_declared
    assert sorted(live.guards()) == [f"Member.email#S#{name}@x" for name in "abc"]


def test_a_second_unique_field_is_made_alone(live: Live) -> None:
    fill(live, "a@x")
    apply(live, [members])
    both = Table("Members", key=Key("pk"))

    class Member(Entity, table=both, key="M#{name}", unique=("email", "label")):
        name: str = part()
        email: str | None = None
        label: str = attr("name")

    assert Member
    (planned,) = plan(live, [both])
    assert [step.name for step in planned.unique] == ["Member.name"]
    assert apply(live, [both])[0].is_as_declared
    assert live.guards() == {"Member.email#S#a@x": "M#0", "Member.name#S#0": "M#0"}


def test_writers_go_on_while_guards_are_made(live: Live) -> None:
    fill(live, "a@x", "b@x", "c@x", "d@x")
    writer = new(live)

    def write() -> None:
        writer.run(Member.update(name="0").set(Member.f.email, "e@x"))
        writer.run(Member.delete(name="1"))
        writer.run(Member(name="9", email="b@x").create())

    live.before["TransactWriteItems"] = [write]
    (report,) = apply(live, [members])
    assert report.is_as_declared
    assert live.guards() == {
        "Member.email#S#b@x": "M#9",
        "Member.email#S#c@x": "M#2",
        "Member.email#S#d@x": "M#3",
        "Member.email#S#e@x": "M#0",
    }
    assert check(live).is_good


def test_a_duplicate_that_appears_before_its_guard_is_made_is_found(live: Live) -> None:
    fill(live, "a@x")
    live.before["TransactGetItems"] = [
        lambda: new(live).run(Member(name="9", email="a@x").create())
    ]
    (report,) = apply(live, [members])
    # 9 took the value before it was guarded for 0, so both have it.
    assert not report.is_as_declared
    assert lines(apply(live, [members])[0].unique or check(live)) == [
        "Member.email 'a@x': pk='M#0' and pk='M#9' have it."
    ]


def test_an_interrupted_apply_is_completed_by_the_next(live: Live) -> None:
    fill(live, *(f"{number}@x" for number in range(60)))

    def fail() -> None:
        raise KeyboardInterrupt

    live.before["TransactWriteItems"] = [lambda: None, fail]
    with pytest.raises(KeyboardInterrupt):
        apply(live, [members])
    assert not plan(live, [members])[0].is_as_declared
    assert apply(live, [members])[0].is_as_declared
    assert len(live.guards()) == 60


# Guards of the former format.


def former_guard(live: Live, owner: str, field: str, value: str) -> None:
    live.put(pk=f"keyfold#unique#{owner}#{field}#S#{value}", guards=f"{owner}.{field}")


def test_guards_of_the_former_format_are_adopted(live: Live) -> None:
    fill(live, "a@x", "b@x")
    former_guard(live, "Member", "email", "a@x")
    former_guard(live, "Member", "email", "b@x")
    former_guard(live, "Member", "email", "left@x")
    former_guard(live, "Other", "email", "a@x")
    seen: list[list[str]] = []
    live.before["DeleteItem"] = [lambda: seen.append(sorted(live.guards()))]
    (report,) = apply(live, [members])
    assert report.unique is not None
    assert report.unique.repaired == {"missing guard": 2, "former format": 3}
    # The new guards were all there before the first of the old ones was deleted.
    assert seen == [["Member.email#S#a@x", "Member.email#S#b@x"]]
    left = [key for key, item in live.items().items() if "guards" in item]
    # Another program's, perhaps: it is not declared here.
    assert left == ["keyfold#unique#Other#email#S#a@x"]


def test_guards_of_the_former_format_stay_while_there_are_duplicates(live: Live) -> None:
    fill(live, "a@x", "a@x")
    former_guard(live, "Member", "email", "a@x")
    before = live.items()
    assert not apply(live, [members])[0].is_as_declared
    assert live.items() == before
    report = check(live, repair=True)
    assert report.found == {"duplicate": 1, "former format": 1}
    assert not report.repaired
    assert live.items() == before


# Verify.


@pytest.fixture
def kept(live: Live) -> Live:
    """A table whose guards are as they should be."""
    new(live).create_table(members)
    for name in "abc":
        new(live).run(Member(name=name, email=f"{name}@x").create())
    assert check(live).is_good
    assert check(live).values == 3
    return live


def break_guard(live: Live, value: str, owner: str) -> None:
    item = {
        "pk": {"S": f"keyfold#unique#Member.email#S#{value}"},
        "keyfold_unique": {"S": "Member.email"},
        "keyfold_owner": {"M": {"pk": {"S": owner}}},
    }
    live.engine.execute("PutItem", {"TableName": "Members", "Item": item})


BREAKAGES: list[tuple[Callable[[Live], object], str]] = [
    (
        lambda live: live.delete("keyfold#unique#Member.email#S#a@x"),
        "Member.email 'a@x': pk='M#a' has it, but it has no guard.",
    ),
    (
        lambda live: break_guard(live, "z@x", "M#a"),
        "Member.email 'z@x': its guard belongs to pk='M#a', which does not have it.",
    ),
    (
        lambda live: break_guard(live, "z@x", "M#gone"),
        "Member.email 'z@x': its guard belongs to pk='M#gone', which does not have it.",
    ),
    (
        lambda live: break_guard(live, "a@x", "M#b"),
        "Member.email 'a@x': pk='M#a' has it, but its guard belongs to pk='M#b'.",
    ),
    (
        lambda live: former_guard(live, "Member", "email", "a@x"),
        (
            "Member.email keyfold#unique#Member#email#S#a@x: the guard is in a former format, "
            "without an owner."
        ),
    ),
]


@pytest.mark.parametrize(("damage", "line"), BREAKAGES)
def test_a_certain_problem_is_found_and_repaired(
    kept: Live, damage: Callable[[Live], object], line: str
) -> None:
    before = kept.items()
    damage(kept)
    damaged = kept.items()
    assert lines(check(kept)) == [line]
    assert kept.items() == damaged
    report = check(kept, repair=True)
    assert (lines(report), report.is_good) == ([line], True)
    assert report.problems[0].is_repaired
    assert kept.items() == before
    assert check(kept).problems == ()


def test_duplicates_and_unreadable_items_are_left_alone(kept: Live) -> None:
    kept.put(pk="M#d", name="d", email="a@x")
    kept.put(pk="keyfold#unique#odd")
    before = kept.items()
    report = check(kept, repair=True)
    assert lines(report) == [
        "Member.email 'a@x': pk='M#a' and pk='M#d' have it.",
        "keyfold#unique#odd: the item has the key of a guard, but is not a guard.",
    ]
    assert not report.is_good
    assert kept.items() == before


def test_what_a_writer_changes_during_the_scan_is_no_problem(kept: Live) -> None:
    writer = new(kept)

    def write() -> None:
        writer.run(Member.update(name="a").set(Member.f.email, "new@x"))
        writer.run(Member.delete(name="b"))

    kept.before["TransactGetItems"] = [write]
    kept.delete("keyfold#unique#Member.email#S#a@x")
    assert check(kept, repair=True).is_good
    assert kept.guards() == {"Member.email#S#new@x": "M#a", "Member.email#S#c@x": "M#c"}


def test_a_repair_that_is_overtaken_is_done_again(kept: Live) -> None:
    kept.delete("keyfold#unique#Member.email#S#a@x")
    kept.delete("keyfold#unique#Member.email#S#b@x")
    move = Member.update(name="a").set(Member.f.email, "new@x")
    kept.before["TransactWriteItems"] = [lambda: new(kept).run(move)]
    report = check(kept, repair=True)
    assert report.is_good
    assert kept.guards() == {
        "Member.email#S#b@x": "M#b",
        "Member.email#S#c@x": "M#c",
        "Member.email#S#new@x": "M#a",
    }


def test_a_report_is_json(kept: Live) -> None:
    kept.delete("keyfold#unique#Member.email#S#a@x")
    document = check(kept).to_json()
    assert document == {
        "table": "Members",
        "values": 3,
        "found": {"missing guard": 1},
        "repaired": {},
        "problems": [
            {
                "kind": "missing guard",
                "name": "Member.email",
                "value": "'a@x'",
                "items": [{"pk": {"S": "M#a"}}],
                "owner": None,
                "repaired": False,
            }
        ],
        "ok": False,
    }


def test_a_table_without_unique_fields_is_not_scanned(live: Live) -> None:
    old(live).create_table(plain)
    live.calls.clear()
    (report,) = verify(live, [plain])
    assert (report.is_good, report.values, live.calls) == (True, 0, ["GetItem"])


def test_a_missing_table_is_an_error(live: Live) -> None:
    with pytest.raises(KeyfoldError):
        check(live)


# Fields that are no longer unique.


def test_guards_of_a_field_that_is_no_longer_unique_are_reported_and_removed(live: Live) -> None:
    new(live).create_table(members)
    for number in range(30):
        new(live).run(Member(name=str(number), email=f"{number}@x").create())
    text = "remove the guards Member.email, which no unique field has"
    (planned,) = plan(live, [plain])
    assert [step.text for step in planned.withheld] == [text]
    assert not planned.is_as_declared
    (report,) = verify(live, [plain], repair=True)
    assert not report.is_good
    (line,) = lines(report)
    assert line == (
        "Member.email: there are guards of this name, but no unique field has it. "
        "`keyfold apply --allow-removal` removes them."
    )
    assert not apply(live, [plain])[0].is_as_declared
    assert len(live.guards()) == 30
    events: list[Event] = []
    (applied,) = apply(live, [plain], allow_removal=True, on_event=events.append)
    assert applied.is_as_declared
    assert [(event.kind, event.text) for event in events] == [
        ("begin", text),
        ("wait", "61 items read"),
        ("done", text),
    ]
    # Neither guards nor the marker are left.
    assert sorted(live.items()) == sorted(f"M#{number}" for number in range(30))
    assert verify(live, [plain])[0].is_good


def test_a_field_that_becomes_unique_again_gets_new_guards(live: Live) -> None:
    new(live).create_table(members)
    new(live).run(Member(name="a", email="a@x").create())
    apply(live, [plain], allow_removal=True)
    old(live).run(Person(name="b", email="b@x").put())
    (planned,) = plan(live, [members])
    assert [step.name for step in planned.unique] == ["Member.email"]
    assert apply(live, [members])[0].is_as_declared
    assert live.guards() == {"Member.email#S#a@x": "M#a", "Member.email#S#b@x": "M#b"}


def test_an_interrupted_removal_is_continued(live: Live) -> None:
    new(live).create_table(members)
    new(live).run(Member(name="a", email="a@x").create())

    def interrupt() -> None:
        raise KeyboardInterrupt

    live.before["BatchWriteItem"] = [interrupt]
    with pytest.raises(KeyboardInterrupt):
        apply(live, [plain], allow_removal=True)
    assert len(live.guards()) == 1
    assert [step.name for step in plan(live, [members])[0].unique] == ["Member.email"]
    assert len(plan(live, [plain])[0].withheld) == 1
    apply(live, [plain], allow_removal=True)
    assert sorted(live.items()) == ["M#a"]


def test_guards_that_are_declared_stay(live: Live) -> None:
    both = Table("Members", key=Key("pk"))

    class Named(Entity, table=both, key="M#{name}", kind="Member", unique=("email", "nick")):
        name: str
        email: str | None = None
        nick: str | None = None

    store = Store(live.engine, StoreSettings([both]))
    store.create_table(both)
    store.run(Named(name="a", email="a@x", nick="al").create())
    assert apply(live, [members], allow_removal=True)[0].is_as_declared
    assert live.guards() == {"Member.email#S#a@x": "M#a"}
    assert check(live).is_good
    with pytest.raises(UniqueTaken):
        new(live).run(Member(name="b", email="a@x").create())


def test_planning_a_table_without_unique_fields_needs_no_right_to_read_it(live: Live) -> None:
    old(live).create_table(plain)

    def refuse() -> None:
        raise AccessDeniedException("not authorized")

    live.before["GetItem"] = [refuse]
    assert plan(live, [plain])[0].is_as_declared
    live.before["GetItem"] = [refuse]
    with pytest.raises(AccessDeniedException):
        plan(live, [members])
