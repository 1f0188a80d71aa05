"""The room "Changes": the tail of a stream, what a principal sees of it, and dead letters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyfold import READ, Change, Entity, Expiry, Key, Role, Table, part
from keyfold.engine import Engine
from keyfold.store import Store, StoreSettings
from keyfold.studio._actions import make_call
from keyfold.studio._bodies import StudioBody
from keyfold.studio._opening import make_workspace
from keyfold.studio._problems import StudioProblem, describe_problem
from keyfold.studio._workspace import Workspace
from keyfold.studio.rooms import changes

ACTIONS = {each.name: each for each in changes.ACTIONS}
[TAIL] = changes.STREAMS
START = 1_800_000_000.0


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


table = Table("Letters", key=Key("pk", "sk"), ttl="expires", stream="new and old")
letters = table.shard("U#{user}", name="letters")


class Letter(Entity, table=table, key=(letters, "L#{letter}")):
    user: str = part()
    letter: str = part()
    text: str = ""
    weight: int = 1
    seal: str | None = None
    expires: Expiry | None = None


class Stamp(Entity, table=table, key=("S#{stamp}", "S")):
    stamp: str = part()


table.add_role(Role("writer", tenant="user", can={letters: READ}, hidden={letters: ["seal"]}))
failing: set[str] = set()
handled: list[str] = []


@table.on_change(Letter)
def deliver(change: Change[Letter]) -> None:
    assert change.new is not None
    if change.new.letter in failing:
        raise ValueError(f"nobody lives at {change.new.text}")
    handled.append(change.new.text)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(clock: Clock) -> Iterator[Engine]:
    failing.clear()
    handled.clear()
    with Engine.open(":memory:", clock=clock, upkeep_seconds=None) as found:
        Store(found, StoreSettings([table], clock=clock)).create_table(table)
        yield found


@pytest.fixture
def workspace(engine: Engine, clock: Clock) -> Workspace:
    return make_workspace(engine, [table], clock=clock)


@pytest.fixture
def store(engine: Engine, clock: Clock) -> Store:
    return Store(engine, StoreSettings([table], clock=clock))


def open_tail(workspace: Workspace, **body: Any) -> Iterator[Any]:
    return iter(TAIL.open(make_call(workspace, StudioBody({"table": table.name, **body}))))


def tail(workspace: Workspace, **body: Any) -> Iterator[Any]:
    found = open_tail(workspace, **body)
    assert next(found)["type"] == "started"
    return found


def take(events: Iterator[Any]) -> list[dict[str, Any]]:
    """Return the changes up to the next pause."""
    found: list[dict[str, Any]] = []
    for event in events:
        if event is None:
            break
        found.append(event["change"] if event["type"] == "change" else event)
    return found


def act(workspace: Workspace, action: str, **body: Any) -> dict[str, Any]:
    call = make_call(workspace, StudioBody({"table": table.name, **body}))
    found: dict[str, Any] = ACTIONS[action].run(call)
    return found


def diff(change: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {each["name"]: (each["old"], each["new"]) for each in change["fields"]}


# The tail.


def test_the_tail_shows_what_is_written_from_now_on(workspace: Workspace, store: Store) -> None:
    store.run(Letter(user="ada", letter="1", text="before").put())
    events = tail(workspace)
    assert take(events) == []
    store.run(Letter(user="ada", letter="2", text="after").put())
    [change] = take(events)
    assert (change["kind"], change["entity"]) == ("created", "Letter")
    assert [key["text"] for key in change["keys"]] == ["U#ada", "L#2"]
    assert diff(change) == {
        "text": (None, {"S": "after"}),
        "weight": (None, {"N": "1"}),
    }


def test_a_change_has_only_the_fields_that_differ(workspace: Workspace, store: Store) -> None:
    letter = Letter(user="ada", letter="1", text="before", weight=10**30)
    store.run(letter.put())
    events = tail(workspace)
    store.run(letter.model_copy(update={"weight": 10**30 + 1}).put())
    [change] = take(events)
    assert change["kind"] == "changed"
    assert diff(change) == {"weight": ({"N": str(10**30)}, {"N": str(10**30 + 1)})}


def test_deleted_and_expired_items_are_told_apart(
    workspace: Workspace, store: Store, engine: Engine, clock: Clock
) -> None:
    store.run(Letter(user="ada", letter="1").put())
    store.run(Letter(user="ada", letter="2", expires=int(START) + 5).put())  # pyright: ignore[reportArgumentType] - pydantic converts it
    events = tail(workspace)
    store.run(Letter.delete(user="ada", letter="1"))
    assert [change["kind"] for change in take(events)] == ["removed"]
    clock.now += 600
    engine.run_upkeep()
    assert [change["kind"] for change in take(events)] == ["expired"]


def test_the_oldest_change_can_be_the_first(workspace: Workspace, store: Store) -> None:
    for number in range(3):
        store.run(Letter(user="ada", letter=str(number)).put())
    found = take(tail(workspace, **{"from": "oldest"}))
    own = [each for each in found if not each["own"]]
    assert [each["keys"][1]["text"] for each in own] == ["L#0", "L#1", "L#2"]


def test_a_lost_connection_goes_on_after_the_last_change(
    workspace: Workspace, store: Store
) -> None:
    opened = open_tail(workspace)
    started = next(opened)
    store.run(Letter(user="ada", letter="1").put())
    seen = next(opened)
    store.run(Letter(user="ada", letter="2").put())
    positions = {seen["shard"]: seen["change"]["sequence"]}
    again = tail(workspace, positions=positions, stream=started["stream"], since=started["now"])
    assert [each["keys"][1]["text"] for each in take(again)] == ["L#2"]


def test_a_connection_that_was_lost_before_any_change_misses_none(
    workspace: Workspace, store: Store, clock: Clock
) -> None:
    store.run(Letter(user="ada", letter="old").put())
    clock.now += 60
    opened = open_tail(workspace)
    started = next(opened)
    store.run(Letter(user="ada", letter="new").put())
    again = tail(workspace, positions={}, stream=started["stream"], since=started["now"])
    assert [each["keys"][1]["text"] for each in take(again)] == ["L#new"]


def test_an_item_of_no_entity_is_shown_as_it_is(workspace: Workspace) -> None:
    events = tail(workspace)
    script = "<script>alert(1)</script>"
    item = {"pk": {"S": script}, "sk": {"S": "x"}, script: {"S": script}}
    workspace.executor.execute("PutItem", {"TableName": table.name, "Item": item})
    [change] = take(events)
    assert change["entity"] is None
    assert diff(change) == {script: (None, {"S": script})}


def test_a_tail_that_slept_for_an_hour_misses_nothing(
    workspace: Workspace, store: Store, clock: Clock
) -> None:
    store.run(Letter(user="ada", letter="old").put())
    clock.now += 60
    events = tail(workspace)
    assert take(events) == []
    store.run(Letter(user="ada", letter="new").put())
    clock.now += 3_600
    assert take(events) == []
    assert [each["keys"][1]["text"] for each in take(events)] == ["L#new"]


# As a principal.

AS_ADA = {"roles": ["writer"], "ids": {"user": "ada"}}


def test_a_principal_sees_only_its_own_changes(workspace: Workspace, store: Store) -> None:
    events = tail(workspace, **{"as": AS_ADA})
    store.run(Letter(user="eve", letter="1", text="secret").put())
    store.run(Stamp(stamp="red").put())
    store.run(Letter(user="ada", letter="2", text="mine").put())
    assert [each["keys"][0]["text"] for each in take(events)] == ["U#ada"]


def test_a_principal_sees_no_hidden_attribute(workspace: Workspace, store: Store) -> None:
    letter = Letter(user="ada", letter="1", text="mine", seal="wax")
    events = tail(workspace, **{"as": AS_ADA})
    store.run(letter.put())
    store.run(letter.model_copy(update={"seal": "lead"}).put())
    store.run(letter.model_copy(update={"seal": "tin", "text": "ours"}).put())
    found = take(events)
    assert [each["kind"] for each in found] == ["created", "changed"]
    assert "wax" not in repr(found)
    assert "tin" not in repr(found)
    assert diff(found[1]) == {"text": ({"S": "mine"}, {"S": "ours"})}


@pytest.mark.parametrize("action", ["changes/enable", "changes/dead-letters", "changes/retry"])
def test_a_principal_manages_nothing(workspace: Workspace, action: str) -> None:
    with pytest.raises(PermissionError) as caught:
        act(workspace, action, **{"as": AS_ADA})
    assert describe_problem(caught.value).code == "access-denied"


# The stream.


def test_a_table_without_a_stream_says_so_and_gets_one() -> None:
    quiet = Table("Quiet", key=Key("pk"))

    class Word(Entity, table=quiet, key="W#{word}"):
        word: str = part()

    with Engine.open(":memory:") as engine:
        store = Store(engine, StoreSettings([quiet]))
        store.create_table(quiet)
        workspace = make_workspace(engine, [quiet])
        state = act(workspace, "changes/state", table="Quiet")
        assert (state["on"], state["declared"], state["canEnable"]) == (False, None, True)
        with pytest.raises(StudioProblem, match="is off"):
            tail(workspace, table="Quiet")
        assert act(workspace, "changes/enable", table="Quiet")["on"] is True
        events = tail(workspace, table="Quiet")
        store.run(Word(word="hush").put())
        assert [each["entity"] for each in take(events)] == ["Word"]


def test_a_stream_of_keys_has_no_diffs() -> None:
    brief = Table("Brief", key=Key("pk"), stream="keys")

    class Word(Entity, table=brief, key="W#{word}"):
        word: str = part()
        means: str = ""

    with Engine.open(":memory:") as engine:
        store = Store(engine, StoreSettings([brief]))
        store.create_table(brief)
        workspace = make_workspace(engine, [brief])
        events = tail(workspace, table="Brief")
        store.run(Word(word="hush", means="quiet").put())
        [change] = take(events)
    assert (change["images"], change["fields"], change["entity"]) == (False, [], "Word")


def test_the_studio_does_not_change_tables_of_a_service(engine: Engine) -> None:
    workspace = make_workspace(engine, [table], url="http://127.0.0.1:1")
    assert act(workspace, "changes/state")["canEnable"] is False
    with pytest.raises(StudioProblem, match="embedded databases only"):
        act(workspace, "changes/enable")


def test_commands_name_the_table_and_its_handlers_are_listed(workspace: Workspace) -> None:
    state = act(workspace, "changes/state")
    assert state["handlers"] == [{"name": "deliver", "entities": ["Letter"]}]
    assert "keyfold stream follow --table " in state["follow"]
    assert ":table " in state["follow"]


# Dead letters.


def follow(store: Store) -> None:
    store.follow(table, until_caught_up=True, attempts=1, setup=True, worker="one")


def test_before_a_follower_has_run_that_is_said(workspace: Workspace) -> None:
    found = act(workspace, "changes/dead-letters")
    assert (found["followers"], found["letters"]) == (None, [])


def test_a_follower_without_failures_has_no_dead_letters(
    workspace: Workspace, store: Store
) -> None:
    store.run(Letter(user="ada", letter="1", text="hello").put())
    follow(store)
    found = act(workspace, "changes/dead-letters")
    assert (found["followers"], found["letters"]) == (["default"], [])
    assert handled == ["hello"]


def test_a_dead_letter_has_its_error_and_its_change(workspace: Workspace, store: Store) -> None:
    failing.add("1")
    store.run(Letter(user="ada", letter="1", text="nowhere").put())
    store.run(Letter(user="ada", letter="1", text="nowhere else").put())
    follow(store)
    found = act(workspace, "changes/dead-letters")
    assert [each["state"] for each in found["letters"]] == ["failed", "waiting"]
    first = found["letters"][0]
    assert (first["handler"], first["attempts"]) == ("deliver", 1)
    assert first["error"] == "ValueError: nobody lives at nowhere"
    assert diff(first["change"])["text"] == (None, {"S": "nowhere"})


def test_a_retried_letter_is_delivered_by_the_next_follower(
    workspace: Workspace, store: Store
) -> None:
    failing.update(("1", "2"))
    for number in ("1", "2"):
        store.run(Letter(user="ada", letter=number, text=f"letter {number}").put())
    follow(store)
    failing.clear()
    first = act(workspace, "changes/dead-letters")["letters"][0]
    which = {name: first[name] for name in ("handler", "item", "sequence")}
    told = act(workspace, "changes/retry", **which)
    assert told["retrying"] == 1
    assert [each["state"] for each in told["letters"]] == ["retrying", "failed"]
    follow(store)
    assert handled == ["letter 1"]
    assert act(workspace, "changes/retry")["retrying"] == 1
    follow(store)
    assert act(workspace, "changes/dead-letters")["letters"] == []
