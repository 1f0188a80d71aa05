"""Several templates of one entity for one index: every write keeps the right one, on both stores."""

# Some classes are only declared, not used.
# pyright: reportUnusedClass=false

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest

from keyfold.errors import (
    ConditionFailed,
    DeclarationInvalid,
    FieldUnknown,
    IndexPartsUnknown,
    PatternFailed,
    QueryInvalid,
)
from keyfold.model import Collection, Entity, Index, Key, Table, attr, part
from keyfold.policy import READ, Role
from tests.unit.store.store_kinds import AnyStore, OpenStore

by_state = Index("ByState", key=Key("gsi1pk", "gsi1sk"))
tasks = Table("ChosenTasks", key=Key("pk", "sk"), indexes=[by_state])
tasks.add_role(Role("worker", tenant="team", can={"Task": READ}))


class Task(
    Entity,
    table=tasks,
    key=("TEAM#{team}", "TASK#{number:03}"),
    indexes={
        by_state: [
            ("{team}#DONE", "{done}"),
            ("{team}#OWNER#{owner}", "DUE#{due}"),
            ("{team}#OWNER#{owner}", "SOME#{number:03}"),
            ("{team}#FREE", "{number:03}"),
        ]
    },
):
    team: str = part()
    number: int = part()
    owner: str | None = None
    due: str | None = None
    done: str | None = None
    title: str = ""


def index_key(store: AnyStore, number: int = 1) -> tuple[str, str] | None:
    key = {"pk": {"S": "TEAM#a"}, "sk": {"S": f"TASK#{number:03}"}}
    item = store.execute("GetItem", {"TableName": "ChosenTasks", "Key": key})["Item"]
    if "gsi1pk" not in item:
        assert "gsi1sk" not in item
        return None
    return item["gsi1pk"]["S"], item["gsi1sk"]["S"]


def task(**fields: Any) -> Task:
    return Task(team="a", number=1, **fields)


@pytest.fixture
def store(open_store: OpenStore) -> AnyStore:
    return open_store(tasks)


CHOICES: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({}, ("a#FREE", "001")),
    ({"due": "mon"}, ("a#FREE", "001")),
    ({"owner": "ada"}, ("a#OWNER#ada", "SOME#001")),
    ({"owner": "ada", "due": "mon"}, ("a#OWNER#ada", "DUE#mon")),
    ({"owner": "ada", "due": "mon", "done": "tue"}, ("a#DONE", "tue")),
    ({"done": "tue"}, ("a#DONE", "tue")),
]


@pytest.mark.parametrize(("fields", "key"), CHOICES)
def test_an_item_has_the_first_key_whose_fields_have_values(
    store: AnyStore, fields: dict[str, Any], key: tuple[str, str]
) -> None:
    store.run(task(**fields).put())
    assert index_key(store) == key
    assert store.run(Task.get(team="a", number=1)) == task(**fields)


# Queries.


@pytest.fixture
def filled(store: AnyStore) -> AnyStore:
    for number, fields in enumerate(
        [
            {},
            {"owner": "ada"},
            {"owner": "ada", "due": "mon"},
            {"owner": "ada", "due": "tue"},
            {"owner": "bob", "due": "mon"},
            {"owner": "bob", "done": "wed"},
            {"done": "fri"},
        ]
    ):
        store.run(Task(team="a", number=number, **fields).put())
    return store


def find(store: AnyStore, query: Any) -> list[int]:
    return [each.number for each in store.run(query)]


def test_a_query_is_for_the_template_that_its_fields_fit(filled: AnyStore) -> None:
    ada = {"team": "a", "owner": "ada"}
    # A number is in two templates, and with an owner in one of them.
    assert find(filled, Task.query(by_state, **ada, number=1)) == [1]
    assert find(filled, Task.query(by_state, **ada, due="mon")) == [2]
    # A field that is None rules out the templates that need it.
    assert find(filled, Task.query(by_state, **ada, due=None)) == [1]
    assert find(filled, Task.query(by_state, team="a", done=None)) == [0]
    assert find(filled, Task.query(by_state, team="a", done="fri")) == [6]
    assert find(filled, Task.query(by_state, team="a", number=0)) == [0]
    assert find(filled, Task.query(by_state, **ada, number=None).since("tue")) == [3]
    assert find(filled, Task.query(by_state, **ada, number=None).descending()) == [3, 2]


def test_templates_with_the_same_partition_are_queried_together(filled: AnyStore) -> None:
    assert find(filled, Task.query(by_state, team="a", owner="ada")) == [2, 3, 1]
    with pytest.raises(QueryInvalid, match="no part is left"):
        Task.query(by_state, team="a", owner="ada").since("mon")


def test_fields_that_fit_no_template_or_several_are_refused() -> None:
    with pytest.raises(QueryInvalid, match=r"several of its templates fit: \{team\}#DONE and .*"):
        Task.query(by_state, team="a")
    with pytest.raises(QueryInvalid, match=r"none of its templates fits; got team, due\."):
        Task.query(by_state, team="a", due="mon")
    with pytest.raises(QueryInvalid, match="none of its templates fits; got nothing"):
        Task.query(by_state)
    with pytest.raises(FieldUnknown, match="unknown field 'title'; known fields: team, done, "):
        Task.query(by_state, team="a", title="x")


def test_queries_are_pickled_and_explained() -> None:
    query = Task.query(by_state, team="a", owner="ada", number=None)
    other = pickle.loads(pickle.dumps(query))
    assert other.since("mon").to_dynamodb() == query.since("mon").to_dynamodb()

    def due(team: str, owner: str) -> Any:
        return Task.query(by_state, team=team, owner=owner, number=None)

    [step] = Table("Own", key=Key("pk")).pattern("due")(due).explain().steps
    assert step.key == "gsi1pk = '{team}#OWNER#{owner}' and gsi1sk begins with 'DUE#'"


class Owned(Collection):
    tasks: list[Task]


def test_a_collection_in_the_index(filled: AnyStore) -> None:
    found = filled.run(Owned.get(by_state, team="a", owner="ada"))
    assert found is not None
    assert [each.number for each in found.tasks] == [2, 3, 1]


# Updates.


def test_an_update_moves_an_item_to_another_template(store: AnyStore) -> None:
    store.run(task(owner="ada").put())
    update = Task.update(team="a", number=1)
    store.run(update.set(Task.f.due, "mon").knowing(owner="ada", done=None))
    assert index_key(store) == ("a#OWNER#ada", "DUE#mon")
    # All fields of the first template are known, so nothing else has to be.
    store.run(update.set(Task.f.done, "tue"))
    assert index_key(store) == ("a#DONE", "tue")
    store.run(update.set(Task.f.done, None).knowing(owner="ada", due="mon"))
    assert index_key(store) == ("a#OWNER#ada", "DUE#mon")
    store.run(update.remove(Task.f.owner).knowing(done=None))
    assert index_key(store) == ("a#FREE", "001")


def test_an_update_must_know_what_decides() -> None:
    update = Task.update(team="a", number=1)
    for request, missing in (
        (update.set(Task.f.owner, "ada"), ("done",)),
        (update.set(Task.f.owner, "ada").knowing(done=None), ("due",)),
        (update.remove(Task.f.done), ("owner", "due")),
        (update.set(Task.f.due, None).knowing(done=None), ("owner",)),
    ):
        with pytest.raises(IndexPartsUnknown) as caught:
            request.to_dynamodb()
        assert caught.value.fields == missing

    def give(number: int, owner: str) -> Any:
        return Task.update(team="a", number=number).set(Task.f.owner, owner)

    with pytest.raises(PatternFailed, match="is also built from done"):
        Table("Own", key=Key("pk")).pattern("give")(give).explain()


def test_what_is_known_wrongly_fails_the_update(store: AnyStore) -> None:
    store.run(task(owner="ada", due="mon").put())
    update = Task.update(team="a", number=1).set(Task.f.owner, "bob")
    with pytest.raises(ConditionFailed):
        store.run(update.knowing(done=None, due=None))
    assert index_key(store) == ("a#OWNER#ada", "DUE#mon")


def test_an_instance_knows_what_decides(store: AnyStore) -> None:
    stored = store.run(task(owner="ada", due="mon").put())
    store.run(stored.update().set(Task.f.owner, "bob"))
    assert index_key(store) == ("a#OWNER#bob", "DUE#mon")
    # What it saw no longer holds.
    store.run(Task.update(team="a", number=1).set(Task.f.done, "tue"))
    with pytest.raises(ConditionFailed):
        store.run(stored.update().set(Task.f.owner, "eve"))


def test_a_change_whose_result_is_unknown_is_refused() -> None:
    with pytest.raises(Exception, match="must be known in advance"):
        Task.update(team="a", number=1).set_if_absent(Task.f.owner, "ada")


def test_random_changes_keep_the_key_of_a_put(store: AnyStore) -> None:
    draws = random.Random(7)
    held: dict[str, Any] = {"owner": None, "due": None, "done": None}
    store.run(task().put())
    for _ in range(60):
        changed = {
            name: draws.choice([each for each in (None, "x", "y") if each != held[name]])
            for name in held
            if draws.random() < 0.5
        } or {"owner": draws.random().hex()}
        before = store.run(Task.get(team="a", number=1))
        assert before is not None
        if draws.random() < 0.5:
            update = Task.update(team="a", number=1).knowing(
                **{name: held[name] for name in held if name not in changed}
            )
            for name, value in changed.items():
                update = update.set(Task.f[name], value)
            store.run(update)
        else:
            store.run(before.change(**changed))
        held |= changed
        expected = task(**held)
        assert store.run(Task.get(team="a", number=1)) == expected
        item = expected.put().to_dynamodb()["Item"]
        assert index_key(store) == (item["gsi1pk"]["S"], item["gsi1sk"]["S"])


# Shared attributes.

by_owner = Index("ByOwner", key=Key("who", "due"))
notes = Table("ChosenNotes", key=Key("pk"), indexes=[by_owner])


class Note(
    Entity,
    table=notes,
    key="NOTE#{code}",
    indexes={by_owner: [("OWNER#{owner}", "{due}"), ("FREE", "{due}")]},
):
    code: str
    owner: str | None = None
    due: str | None = attr("due", default=None)


@pytest.mark.indexes
def test_a_field_that_all_templates_share_is_changed_alone(open_store: OpenStore) -> None:
    store = open_store(notes)
    store.run(Note(code="a", owner="ada", due="mon").put())
    # The partition does not depend on it, so nothing has to be known.
    store.run(Note.update(code="a").set(Note.f.due, "tue"))
    store.run(Note.update(code="a").set(Note.f.due, "wed"))
    found = store.run_until(Note.query(by_owner, owner="ada", due="wed"), len)
    assert [each.code for each in found] == ["a"]
    store.run(Note.update(code="a").remove(Note.f.owner))
    assert len(store.run_until(Note.query(by_owner, due="wed"), len)) == 1
    store.run(Note.update(code="a").remove(Note.f.due))
    store.run_until(Note.query(by_owner), lambda found: len(found) == 0)


# Policies.


def test_the_layout_has_an_entry_for_each_template() -> None:
    entries = tasks.layout.indexes["ByState"].entries
    assert [each.texts for each in entries] == [
        ("{team}#DONE",),
        ("{team}#OWNER#{owner}",),
        ("{team}#FREE",),
    ]


def test_a_tenant_may_query_its_own_partitions_of_each_template(filled: AnyStore) -> None:
    filled.run(Task(team="b", number=1, owner="ada").put())
    worker = filled.as_principal("worker", team="a")
    assert find(worker, Task.query(by_state, team="a", owner="ada")) == [2, 3, 1]
    assert find(worker, Task.query(by_state, team="a", done=None)) == [0]
    with pytest.raises(PermissionError):
        worker.run(Task.query(by_state, team="b", done=None))


# Declarations.


def problems_of(*templates: Any, stored: str = "rank") -> list[str]:
    index = Index("Ind", key=Key("ipk", "isk"))
    table = Table("Own", key=Key("pk"), indexes=[index])
    with pytest.raises(DeclarationInvalid) as caught:

        class Bad(Entity, table=table, key="A#{code}", indexes={index: list(templates)}):
            code: str
            owner: str | None = None
            due: str | None = None
            rank: str | None = attr(stored, default=None)
            made: str = ""

    return list(caught.value.problems)


def test_templates_that_are_never_used_are_refused() -> None:
    assert problems_of(("M#{made}", "A"), ("O#{owner}", "B")) == [
        (
            "Bad by Ind: 'O#{owner} and B' is never used: whenever its fields have values, those of "
            "'M#{made} and A' have values, and that comes first."
        )
    ]
    [problem] = problems_of(("O#{owner}", "A"), ("D#{due}", "{owner}"))
    assert "is never used" in problem


def test_templates_that_one_query_would_mix_are_refused() -> None:
    [problem] = problems_of(("X#{owner}", "{due}"), ("X#{code}", "{made}"))
    assert problem == (
        "Bad by Ind: a query for 'X#{owner} and {due}' could return items of 'X#{code} and {made}'. "
        "Begin their partition keys, or their sort keys, with different texts."
    )


def test_other_wrong_templates_are_refused() -> None:
    assert problems_of(("O#{owner}", "A"), ("D#{due}",)) == [
        "Bad: Ind has 2 key attributes (ipk, isk), but 1 templates are declared."
    ]
    [problem, *_] = problems_of(("O#{owner}", "{rank}"), ("D#{due}", "X#{due}"), stored="isk")
    assert problem == (
        "Bad by Ind: 'isk' is the stored name of a field, so all templates must have that field "
        "there. Give the field another name with attr()."
    )
