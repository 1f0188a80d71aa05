"""Every write keeps what the declaration promises, by every way of writing, in every version.

A random declaration, three versions of a program that uses it, and random sequences of every kind of
write. After each write, the stored items are read as they are, and compared with the promises.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import ValidationError

from keyfold import Table, batch, transaction
from keyfold.deploy import apply
from keyfold.engine import Engine
from keyfold.errors import KeyfoldError
from keyfold.store import Store
from keyfold.store._settings import StoreSettings
from keyfold.testing import Clock
from keyfold.transfer import (
    Options,
    TableLocation,
    backfill_table,
    copy_table,
    dump_table,
    load_table,
)
from tests.examples import examples
from tests.property.promise_checks import (
    MemberKey,
    find_broken,
    members_of,
    read_guard,
    read_items,
)
from tests.property.promise_programs import GENERATIONS, Generation, Program, Spec, declare, specs

START = datetime(2026, 1, 1, tzinfo=UTC)
# Few of each, so that writes meet one another.
KEYS: list[MemberKey] = [(team, name) for team in ("red", "blue") for name in ("ada", "bob")]
EMAILS = [None, "a@example.com", "b@example.com"]
HANDLES = ["one", "two", "three", "four", "five", "six"]
TAGS = ["x", "y", "z", "w"]

keys = st.sampled_from(KEYS)
sides = st.sampled_from(["old", "newer"])
VALID: dict[str, st.SearchStrategy[Any]] = {
    "email": st.sampled_from(EMAILS),
    "handle": st.sampled_from(HANDLES),
    "age": st.sampled_from([18, 30, 60, 120]),
    "points": st.integers(0, 10),
    "tags": st.sets(st.sampled_from(TAGS), max_size=1),
    "notes": st.lists(st.sampled_from(["n", "m"]), max_size=3),
    "city": st.sampled_from([None, "rome", "oslo"]),
    "address": st.sampled_from([None, {"street": "x", "number": 9}, {"number": 1}]),
}
# Values that no declaration allows, or that some do not.
INVALID: dict[str, st.SearchStrategy[Any]] = {
    "handle": st.sampled_from(["", None]),
    "age": st.sampled_from([-1, 17, 121, "old"]),
    "points": st.sampled_from([-1, 11]),
    "tags": st.just({"x", "y", "z", "w"}),
    "notes": st.just(["n"] * 4),
    "address": st.sampled_from([{"number": 0}, {"number": "x"}]),
}
NOTHING: st.SearchStrategy[dict[str, Any]] = st.just({})
some_invalid = NOTHING | st.sampled_from(sorted(INVALID)).flatmap(
    lambda name: st.fixed_dictionaries({name: INVALID[name]})
)
# Field values of a whole member, and of some fields; now and then with one that is not allowed.
wholes = st.tuples(st.fixed_dictionaries(VALID), NOTHING | some_invalid).map(
    lambda pair: {**pair[0], **pair[1]}
)
changes = st.tuples(st.fixed_dictionaries({}, optional=VALID), NOTHING | some_invalid).map(
    lambda pair: {**pair[0], **pair[1]}
)
# One change of an update: the method, the field and its argument.
OPERANDS: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    **{("set", name): values for name, values in VALID.items()},
    **{("set", name): VALID[name] | values for name, values in INVALID.items()},
    ("set_if_absent", "email"): VALID["email"],
    ("set_if_absent", "points"): VALID["points"] | INVALID["points"],
    ("increment", "points"): st.sampled_from([-9, -1, 1, 9]),
    ("add", "points"): st.sampled_from([-9, -1, 1, 9]),
    ("add", "tags"): st.sets(st.sampled_from(TAGS), min_size=1, max_size=3),
    ("delete", "tags"): st.sets(st.sampled_from(TAGS), min_size=1, max_size=3),
    ("append", "notes"): st.lists(st.sampled_from(["n", "m"]), min_size=1, max_size=2),
    ("set", "address.number"): st.sampled_from([0, 1, 9]),
    ("increment", "address.number"): st.sampled_from([-1, 1, 8]),
    ("remove", "address.number"): st.none(),
    ("remove", "address"): st.none(),
    ("remove", "email"): st.none(),
    ("remove", "city"): st.none(),
    ("remove", "handle"): st.none(),
}
operations = st.sampled_from(sorted(OPERANDS)).flatmap(
    lambda each: st.tuples(st.just(each), OPERANDS[each])
)
operation_lists = st.lists(operations, min_size=1, max_size=3)


class PromiseMachine(RuleBasedStateMachine):
    """Writes members by every way there is, with two programs side by side, then with a third."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock(START)
        self.folder = TemporaryDirectory()
        self.engine = self._open_engine()
        self.dumps = 0
        # The ways of writing that have succeeded.
        self.done: set[str] = set()
        # What a program of the future has written into members, which nobody here declares.
        self.future: dict[MemberKey, str] = {}

    def _open_engine(self) -> Engine:
        return Engine.open(":memory:", upkeep_seconds=None)

    def teardown(self) -> None:
        self.engine.close()
        self.folder.cleanup()

    @initialize(spec=specs)
    def begin(self, spec: Spec) -> None:
        self.spec = spec
        self.declared: dict[Generation, tuple[Table, type[Any]]] = {
            each: declare(spec, each) for each in GENERATIONS
        }
        self.is_renamed = False
        apply(self.engine, [self.declared["old"][0]])
        self._connect()
        old = self.programs["old"]
        for (team, name), handle in zip(KEYS[:2], HANDLES, strict=False):
            first = old.member(team=team, name=name, handle=handle, age=18, city="rome")
            old.store.run(first.create())

    def _connect(self) -> None:
        """Open the stores of all programs on the engine."""
        self.programs: dict[Generation, Program] = {}
        for generation, (table, member) in self.declared.items():
            settings = StoreSettings([table], clock=self.clock, cursor_key=bytes(32))
            self.programs[generation] = Program(
                generation, table, member, Store(self.engine, settings)
            )

    def _program(self, side: Generation) -> Program:
        return self.programs["renamed" if self.is_renamed else side]

    @property
    def stored(self) -> dict[MemberKey, Any]:
        return members_of(read_items(self.engine))

    def _try(self, way: str, program: Program, make: Callable[[], Any]) -> Any:
        """Run a request; None if the declaration or the stored items forbid it."""
        self.clock.advance(timedelta(seconds=1))
        leftovers = self._find_expired()
        try:
            found = program.store.run(make())
            for key in leftovers - self._find_expired():
                # It was created anew, of nothing that the expired item had.
                self.future.pop(key, None)
            self.done.add(way)
            return found
        except (KeyfoldError, ValidationError):
            return None
        finally:
            self._forget_deleted()

    def _find_expired(self) -> set[MemberKey]:
        """Return the members that have expired, and are still stored."""
        return {key for key, item in self.stored.items() if "expires" in item}

    def _forget_deleted(self) -> None:
        self.future = {key: text for key, text in self.future.items() if key in self.stored}

    def _fields(self, program: Program, given: dict[str, Any]) -> dict[str, Any]:
        """Return field values under the names that the program has for them."""
        return {program.login if name == "handle" else name: each for name, each in given.items()}

    def _read(self, program: Program, key: MemberKey) -> Any:
        return program.store.run(program.member.get(team=key[0], name=key[1]))

    # Whole entities.

    @rule(side=sides, key=keys, given=wholes, way=st.sampled_from(["create", "put", "replace"]))
    def write_anew(self, side: Generation, key: MemberKey, given: dict[str, Any], way: str) -> None:
        program = self._program(side)

        def make() -> Any:
            whole = program.member(team=key[0], name=key[1], **self._fields(program, given))
            return getattr(whole, way)()

        if self._try(way, program, make) is not None:
            # A new entity, which nobody has read, replaces everything.
            self.future.pop(key, None)

    @rule(side=sides, key=keys, given=changes, way=st.sampled_from(["put", "replace"]))
    def write_back(self, side: Generation, key: MemberKey, given: dict[str, Any], way: str) -> None:
        program = self._program(side)
        found = self._read(program, key)
        if found is not None:
            fields = self._fields(program, given)

            def make() -> Any:
                changed = found.model_copy(update=fields)
                return changed.put() if way == "put" else changed.replace()

            self._try(f"{way} back", program, make)

    @rule(side=sides, key=keys, given=changes)
    def change(self, side: Generation, key: MemberKey, given: dict[str, Any]) -> None:
        program = self._program(side)
        found = self._read(program, key)
        if found is not None:
            self._try("change", program, lambda: found.change(**self._fields(program, given)))

    @rule(side=sides, other=sides, key=keys, mine=changes, theirs=changes)
    def change_after_another(
        self,
        side: Generation,
        other: Generation,
        key: MemberKey,
        mine: dict[str, Any],
        theirs: dict[str, Any],
    ) -> None:
        """Change what somebody else has changed since it was read."""
        program, rival = self._program(side), self._program(other)
        found = self._read(program, key)
        if found is not None:
            self._try(
                "change after another",
                rival,
                lambda: self._read(rival, key).change(**self._fields(rival, theirs)),
            )
            self._try(
                "change after another", program, lambda: found.change(**self._fields(program, mine))
            )

    # Updates.

    @rule(side=sides, key=keys, steps=operation_lists, is_read=st.booleans())
    def update(self, side: Generation, key: MemberKey, steps: list[Any], is_read: bool) -> None:
        program = self._program(side)
        found = self._read(program, key) if is_read else None

        def make() -> Any:
            update = found.update() if found else program.member.update(team=key[0], name=key[1])
            return self._apply(program, update, steps)

        self._try("update", program, make)

    def _apply(self, program: Program, update: Any, steps: list[Any]) -> Any:
        for (method, field), operand in steps:
            path = program.member.f
            for step in field.split("."):
                path = path[program.login if step == "handle" else step]
            operands = () if method == "remove" else operand if method == "append" else (operand,)
            update = getattr(update, method)(path, *operands)
        return update

    @rule(side=sides, key=keys, given=wholes, steps=operation_lists)
    def upsert(
        self, side: Generation, key: MemberKey, given: dict[str, Any], steps: list[Any]
    ) -> None:
        program = self._program(side)
        changed = {field for (_, field), _ in steps}
        fields = {name: value for name, value in given.items() if name not in changed}

        def make() -> Any:
            update = program.member.update(team=key[0], name=key[1])
            update = self._apply(program, update, steps)
            return update.or_create(**self._fields(program, fields))

        self._try("upsert", program, make)

    @rule(side=sides, key=keys, nickname=st.sampled_from([None, "nick"]))
    def use_newer_field(self, side: Generation, key: MemberKey, nickname: str | None) -> None:
        program = self._program("newer")
        found = self._read(program, key)
        if found is not None:
            self._try("use newer field", program, lambda: found.change(nickname=nickname))

    # Several at once.

    @rule(side=sides, given=st.dictionaries(keys, wholes, max_size=3), deleted=st.sets(keys))
    def transact(
        self, side: Generation, given: dict[MemberKey, dict[str, Any]], deleted: set[MemberKey]
    ) -> None:
        program = self._program(side)

        def make() -> Any:
            requests: list[Any] = []
            for (team, name), each in given.items():
                fields = self._fields(program, each)
                requests.append(program.member(team=team, name=name, **fields).create())
            requests += [
                program.member.delete(team=team, name=name)
                for team, name in sorted(deleted - given.keys())
            ]
            return transaction(*requests)

        self._try("transact", program, make)

    @rule(side=sides, given=st.dictionaries(keys, wholes, min_size=1, max_size=3))
    def write_batch(self, side: Generation, given: dict[MemberKey, dict[str, Any]]) -> None:
        program = self._program(side)

        def make() -> Any:
            return batch(
                program.member(team=team, name=name, **self._fields(program, each)).put()
                for (team, name), each in given.items()
            )

        if self._try("write batch", program, make) is not None:
            for key in given:
                self.future.pop(key, None)

    @rule(side=sides, key=keys, is_read=st.booleans())
    def delete(self, side: Generation, key: MemberKey, is_read: bool) -> None:
        program = self._program(side)
        found = self._read(program, key) if is_read else None
        self._try(
            "delete",
            program,
            lambda: found.delete() if found else program.member.delete(team=key[0], name=key[1]),
        )

    # Other programs, and tools.

    @rule(key=keys, text=st.sampled_from(["p", "q"]))
    def write_from_the_future(self, key: MemberKey, text: str) -> None:
        """A program that is newer still writes an attribute that nobody here declares."""
        if key in self.stored:
            self.engine.execute(
                "UpdateItem",
                {
                    "TableName": "Members",
                    "Key": {"pk": {"S": f"TEAM#{key[0]}"}, "sk": {"S": f"MEMBER#{key[1]}"}},
                    "UpdateExpression": "SET future = :text",
                    "ExpressionAttributeValues": {":text": {"S": text}},
                },
            )
            self.future[key] = text

    @precondition(lambda self: self.spec.has_expiry)
    @rule(key=keys)
    def expire(self, key: MemberKey) -> None:
        """A member expires, with its guards, but is not deleted yet."""
        if key not in self.stored:
            return
        owner = f"TEAM#{key[0]}", f"MEMBER#{key[1]}"
        members: list[dict[str, Any]] = []
        for item in read_items(self.engine):
            guard = read_guard(item)
            if owner in ((item["pk"]["S"], item["sk"]["S"]), guard and guard[2:]):
                update = {
                    "TableName": "Members",
                    "Key": {name: item[name] for name in ("pk", "sk")},
                    "UpdateExpression": "SET expires = :past",
                    "ExpressionAttributeValues": {":past": {"N": str(int(START.timestamp()))}},
                }
                members.append({"Update": update})
        self.engine.execute("TransactWriteItems", {"TransactItems": members})

    @rule()
    def backfill(self) -> None:
        program = self._program("newer")
        location = TableLocation(self.engine, "here", "Members")
        assert backfill_table(location, program.table, self._options()).is_good
        self.done.add("backfill")

    @rule(way=st.sampled_from(["copy", "load"]))
    def move(self, way: str) -> None:
        """Move everything to another database, and go on there."""
        program, other = self._program("old"), self._open_engine()
        apply(other, [program.table])
        source = TableLocation(self.engine, "here", "Members")
        target = TableLocation(other, "there", "Members")
        if way == "copy":
            assert copy_table(source, target, self._options(), declared=program.table).is_good
        else:
            self.dumps += 1
            file = Path(self.folder.name) / f"members-{self.dumps}.jsonl"
            assert dump_table(source, file, self._options()).is_good
            assert load_table(file, target, self._options(), declared=program.table).is_good
        self.done.add(way)
        self.engine.close()
        self.engine = other
        self._connect()

    def _options(self) -> Options:
        return Options(rejects=Path(self.folder.name) / "rejects", segments=2)

    @precondition(lambda self: not self.is_renamed)
    @rule()
    def rename(self) -> None:
        """Deploy the program whose class and field have other names."""
        self.is_renamed = True

    # What holds after each of them.

    @invariant()
    def promises_hold(self) -> None:
        if not hasattr(self, "spec"):
            return
        items = read_items(self.engine)
        assert find_broken(self.spec, self._program("newer"), items) == []

    @invariant()
    def nothing_undeclared_is_lost(self) -> None:
        if not hasattr(self, "spec"):
            return
        kept = {key: item["future"]["S"] for key, item in self.stored.items() if "future" in item}
        assert kept == self.future


@pytest.mark.parametrize(
    "unique", [frozenset[str](), frozenset({"email", "handle"})], ids=["", "unique"]
)
def test_each_way_of_writing_succeeds(unique: frozenset[str]) -> None:
    """So that the random sequences below do not consist of refused writes."""
    spec = Spec(
        has_type=True,
        has_version=bool(unique),
        has_times=True,
        has_label=False,
        unique=unique,
        lowest_age=18,
        most_tags=3,
    )
    ada, bob, third, fourth = KEYS
    whole = {"email": None, "handle": "five", "age": 30, "city": "rome"}
    machine = PromiseMachine()
    machine.begin(spec)
    steps: list[Callable[[], None]] = [
        lambda: machine.write_from_the_future(ada, "p"),
        lambda: machine.write_back("old", ada, {"age": 40}, "put"),
        lambda: machine.write_back("newer", ada, {"email": "a@example.com"}, "replace"),
        lambda: machine.change("old", ada, {"handle": "six", "city": "oslo"}),
        lambda: machine.change_after_another("old", "newer", bob, {"age": 50}, {"points": 3}),
        lambda: machine.use_newer_field("newer", ada, "nick"),
        lambda: machine.update("old", ada, [(("increment", "points"), 9)], is_read=True),
        lambda: machine.upsert("old", bob, whole, [(("append", "notes"), ["n"])]),
        lambda: machine.write_batch("old", {fourth: {**whole, "handle": "three"}}),
        lambda: machine.move("copy"),
        lambda: machine.move("load"),
        machine.rename,
        machine.backfill,
        lambda: machine.transact("old", {third: whole}, {bob}),
        lambda: machine.write_anew("old", bob, {**whole, "handle": "one"}, "create"),
        lambda: machine.delete("old", bob, is_read=True),
        lambda: machine.write_anew("old", fourth, {**whole, "handle": "two"}, "put"),
    ]
    for step in steps:
        step()
        machine.promises_hold()
        machine.nothing_undeclared_is_lost()
    machine.teardown()
    expected = {
        *("create", "put", "put back", "replace back", "change", "change after another"),
        *("use newer field", "update", "copy", "load", "backfill", "transact", "delete"),
    }
    # Upserts of unique values are refused, and so are batches of those and of versions.
    assert machine.done == (expected if unique else {*expected, "upsert", "write batch"})
    assert machine.future == {ada: "p"}


def test_every_write_keeps_the_promises() -> None:
    run_state_machine_as_test(PromiseMachine, settings=examples(40, 2_000, stateful_step_count=20))
