"""Compares the guards of unique values with items, repairs them, and makes those that are missing.

A scan takes an inventory. It is not a snapshot, because writers continue, so what it finds are
candidates. The guard and the items of each are read again in one transaction, and only what differs
then is a problem. A repair is a transaction on the condition that all of them are unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from keyfold.errors import ConditionalCheckFailedException, TransactionCanceledException
from keyfold.expressions import And, Condition, FunctionCall, Not, Path, RequestPrinter
from keyfold.model._keys import identify
from keyfold.model._tables import Table
from keyfold.model._transactions import MAX_ACTIONS
from keyfold.store._guard_actions import (
    add_condition,
    has_expired,
    or_expired,
    owner_condition,
    unchanged_condition,
    unique_state,
)
from keyfold.store._guards import FORMER_NAME, OWNER, StoredGuard, expiry_in, fill_guard, read_guard
from keyfold.store._plans import MakeCall, Plan
from keyfold.store._unique_inventory import Candidate, UniqueInventory
from keyfold.store._unique_marker import guard_names, plan_record_complete
from keyfold.store._unique_problems import ProblemKind, UniqueProblem, find_problem
from keyfold.values import Item

_MAX_RACES = 5
# How many problems a report lists; it counts all of them.
MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class UniqueReport:
    """The result of comparing a table's guards with its items.

    `values` counts the unique values that items have. `problems` lists the first thousand
    problems, `found` counts all of them by kind, and `repaired` those that were repaired.
    """

    table: str
    values: int
    problems: tuple[UniqueProblem, ...] = ()
    found: Mapping[str, int] = field(default_factory=dict[str, int])
    repaired: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def is_good(self) -> bool:
        """Whether guards and items agree now."""
        return dict(self.found) == dict(self.repaired)

    def with_problems(self, problems: Sequence[UniqueProblem]) -> UniqueReport:
        """Return the report with further problems, which are not repaired."""
        found = Counter(self.found)
        found.update(problem.kind for problem in problems)
        return replace(self, problems=(*self.problems, *problems), found=dict(found))

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "table": self.table,
            "values": self.values,
            "found": dict(self.found),
            "repaired": dict(self.repaired),
            "problems": [each.to_json() for each in self.problems],
            "ok": self.is_good,
        }


@dataclass(frozen=True, slots=True)
class UniqueAudit:
    """Compares the guards of a declared table with its items in the table called `table_name`.

    `call` makes a call with retries; `on_items` is called with the number of items read so far.
    What has expired at the time `now` does not count.
    """

    call: MakeCall
    table: Table
    table_name: str
    on_items: Callable[[int], object] = lambda _: None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def check(self, names: Collection[str] | None = None) -> Plan[UniqueReport]:
        """Compare guards and items, of all unique fields or of some; change nothing."""
        names = guard_names(self.table) if names is None else names
        with UniqueInventory(self.table, names, self.now()) as inventory:
            yield from self._take_inventory(inventory)
            problems = _Problems()
            yield from self._go_through(inventory, inventory.candidates(), problems)
            problems.add_all(_find_others(inventory))
            return problems.report(self.table_name, inventory)

    def repair(self) -> Plan[UniqueReport]:
        """Compare guards and items, and repair what has one solution."""
        names = guard_names(self.table)
        with UniqueInventory(self.table, names, self.now()) as inventory:
            yield from self._take_inventory(inventory)
            return (yield from self._repair(inventory, names))

    def complete(self, names: Collection[str]) -> Plan[UniqueReport]:
        """Make the guards of these names, and record that they are complete.

        If several items have one value, nothing is changed, and the report lists the duplicates.
        """
        with UniqueInventory(self.table, names, self.now()) as inventory:
            yield from self._take_inventory(inventory)
            # One that was resolved since the scan is repaired with the others.
            duplicates = _Problems(only="duplicate")
            yield from self._go_through(inventory, inventory.duplicates(), duplicates)
            if duplicates.found:
                return duplicates.report(self.table_name, inventory)
            return (yield from self._repair(inventory, names))

    # The inventory.

    def _take_inventory(self, inventory: UniqueInventory) -> Plan[None]:
        printer = RequestPrinter()
        projection = ", ".join(map(printer.write_name, inventory.attributes()))
        request: dict[str, Any] = {
            "TableName": self.table_name,
            "ConsistentRead": True,
            "ProjectionExpression": projection,
            "ReturnConsumedCapacity": "TOTAL",
        }
        printer.add_to(request)
        count = 0
        while True:
            page = yield from self.call("Scan", request)
            inventory.add(page["Items"])
            count += len(page["Items"])
            self.on_items(count)
            if "LastEvaluatedKey" not in page:
                return
            request = {**request, "ExclusiveStartKey": page["LastEvaluatedKey"]}

    # Problems and their repairs.

    def _repair(self, inventory: UniqueInventory, names: Collection[str]) -> Plan[UniqueReport]:
        problems = _Problems()
        yield from self._go_through(inventory, inventory.candidates(), problems, repairs=True)
        for problem in _find_others(inventory):
            # A guard in the former format is needed until all values of its field have new ones.
            if problem.is_certain and problem.name not in problems.unsolved:
                yield from self._delete_former(problem.guard)
                problems.add(replace(problem, is_repaired=True))
            else:
                problems.add(problem)
        complete = [name for name in names if name not in problems.unsolved]
        yield from plan_record_complete(self.call, self.table, self.table_name, complete)
        return problems.report(self.table_name, inventory)

    def _go_through(
        self,
        inventory: UniqueInventory,
        candidates: Iterable[Candidate],
        problems: _Problems,
        *,
        repairs: bool = False,
    ) -> Plan[None]:
        for group in _group(candidates):
            found = yield from self._examine(inventory, group)
            certain = [each for each in found if each.problem.is_certain]
            if repairs and certain and (yield from self._try_repair(certain)):
                problems.add_all(each.problem for each in found if each not in certain)
                problems.add_all(replace(each.problem, is_repaired=True) for each in certain)
            elif repairs and certain:
                # One of them has changed since it was read: each is tried on its own.
                for candidate in group:
                    problems.add_all((yield from self._repair_one(inventory, candidate)))
            else:
                problems.add_all(each.problem for each in found)

    def _repair_one(
        self, inventory: UniqueInventory, candidate: Candidate
    ) -> Plan[list[UniqueProblem]]:
        found: list[_Examined] = []
        for _ in range(_MAX_RACES):
            found = yield from self._examine(inventory, [candidate])
            if not found or not found[0].problem.is_certain:
                break
            if (yield from self._try_repair(found)):
                return [replace(found[0].problem, is_repaired=True)]
        return [each.problem for each in found]

    def _examine(
        self, inventory: UniqueInventory, candidates: Sequence[Candidate]
    ) -> Plan[list[_Examined]]:
        """Read candidates in one transaction; return those that have a problem."""
        keys = {self._identify(key): key for each in candidates for key in (each.guard, *each.keys)}
        members = [{"Get": {"TableName": self.table_name, "Key": key}} for key in keys.values()]
        request = {"TransactItems": members, "ReturnConsumedCapacity": "TOTAL"}
        response = yield from self.call("TransactGetItems", request)
        items = {
            identity: each.get("Item")
            for identity, each in zip(keys, response["Responses"], strict=True)
        }
        found: list[_Examined] = []
        again: list[Candidate] = []
        for candidate in candidates:
            guard = self._read_guard(items[self._identify(candidate.guard)], inventory.now)
            owner = None if guard is None else guard.owner
            if owner is not None and owner not in candidate.keys:
                # The guard was taken after the scan had read it: its owner has to be read, too.
                again.append(replace(candidate, keys=(*candidate.keys, owner)))
                continue
            states = [
                _ItemState(key, items[self._identify(key)], inventory) for key in candidate.keys
            ]
            holders = [
                (state.key, expiry_in(self.table, state.item or {}))
                for state in states
                if state.has(candidate.guard)
            ]
            problem = find_problem(candidate.name, candidate.guard, holders, guard)
            if problem is not None:
                found.append(_Examined(problem, tuple(states)))
        for group in _group(again):
            found += yield from self._examine(inventory, group)
        return found

    def _read_guard(self, item: Item | None, now: datetime) -> StoredGuard | None:
        """Return a guard that was read; None for one that has expired, or has no owner."""
        if item is None or has_expired(self.table, item, now):
            return None
        guard = read_guard(self.table, item)
        return None if guard is None or guard.owner is None else guard

    def _try_repair(self, found: Sequence[_Examined]) -> Plan[bool]:
        """Repair problems in one transaction; return False if something has changed since."""
        members: dict[Hashable, dict[str, Any]] = {}
        for each in found:
            for state in each.states:
                condition = state.unchanged(self.table)
                if condition is not None:
                    body: dict[str, Any] = {"TableName": self.table_name, "Key": state.key}
                    add_condition(body, condition)
                    members[self._identify(state.key)] = {"ConditionCheck": body}
            guard = self._guard_member(each.problem)
            members[self._identify(each.problem.guard)] = guard
        request = {"TransactItems": list(members.values()), "ReturnConsumedCapacity": "TOTAL"}
        try:
            yield from self.call("TransactWriteItems", request)
        except TransactionCanceledException:
            return False
        return True

    def _guard_member(self, problem: UniqueProblem) -> dict[str, Any]:
        partition = self.table.key.partition[0]
        exists = FunctionCall("attribute_exists", (Path((partition,)),))
        is_unchanged = (
            or_expired(self.table, Not(exists))
            if problem.owner is None
            else owner_condition(problem.owner)
        )
        body: dict[str, Any] = {"TableName": self.table_name}
        if problem.items:
            (owner,) = problem.items
            body["Item"] = fill_guard(
                self.table, problem.guard, problem.name, owner, problem.expiry
            )
        else:
            body["Key"] = problem.guard
        add_condition(body, is_unchanged, self.now())
        return {"Put" if problem.items else "Delete": body}

    def _delete_former(self, guard: Item) -> Plan[None]:
        body: dict[str, Any] = {"TableName": self.table_name, "Key": guard}
        has_name = FunctionCall("attribute_exists", (Path((FORMER_NAME,)),))
        has_owner = FunctionCall("attribute_exists", (Path((OWNER,)),))
        absent = FunctionCall("attribute_not_exists", (Path((self.table.key.partition[0],)),))
        add_condition(body, absent | And((has_name, Not(has_owner))))
        try:
            yield from self.call("DeleteItem", body)
        except ConditionalCheckFailedException:
            # It was replaced by a guard in the current format.
            return

    def _identify(self, key: Item) -> Hashable:
        return identify(self.table_name, key)


@dataclass(frozen=True, slots=True)
class _ItemState:
    """An item as it was read; None if it did not exist."""

    key: Item
    item: Item | None
    inventory: UniqueInventory

    def has(self, guard: Item) -> bool:
        """Return whether the item has the value of a guard."""
        if self.item is None:
            return False
        return any(key == guard for _, key in self.inventory.values_of(self.item))

    def unchanged(self, table: Table) -> Condition | None:
        """Return the condition that the item's unique values are still as they were read."""
        if self.item is None:
            return FunctionCall("attribute_not_exists", (Path((table.key.partition[0],)),))
        schema = self.inventory.schema_of(self.item)
        if schema is None or not schema.unique:
            # It has no unique fields, and would get some only as another entity.
            return None
        condition = unchanged_condition(schema, unique_state(schema, self.item))
        return schema.with_former_names(condition)


@dataclass(frozen=True, slots=True)
class _Examined:
    """A problem, and the items from whose state it follows."""

    problem: UniqueProblem
    states: tuple[_ItemState, ...]


class _Problems:
    """Counts problems, and keeps the first of them."""

    def __init__(self, *, only: ProblemKind | None = None) -> None:
        self._only = only
        self.found: Counter[str] = Counter()
        self._repaired: Counter[str] = Counter()
        self._listed: list[UniqueProblem] = []
        # Names of guards that are not all in order.
        self.unsolved: set[str] = set()

    def add(self, problem: UniqueProblem) -> None:
        if self._only is not None and problem.kind != self._only:
            return
        self.found[problem.kind] += 1
        if problem.is_repaired:
            self._repaired[problem.kind] += 1
        else:
            self.unsolved.add(problem.name)
        if len(self._listed) < MAX_LISTED:
            self._listed.append(problem)

    def add_all(self, problems: Iterable[UniqueProblem]) -> None:
        for each in problems:
            self.add(each)

    def report(self, table: str, inventory: UniqueInventory) -> UniqueReport:
        return UniqueReport(
            table,
            inventory.count_values(),
            tuple(self._listed),
            dict(self.found),
            dict(self._repaired),
        )


def _find_others(inventory: UniqueInventory) -> Iterator[UniqueProblem]:
    for name, guard in inventory.former_guards():
        yield UniqueProblem("former format", name, guard)
    for guard in inventory.unreadable():
        yield UniqueProblem("unreadable", "", guard)


def _group(candidates: Iterable[Candidate]) -> Iterator[list[Candidate]]:
    """Yield candidates in groups that one transaction can read, and repair."""
    group: list[Candidate] = []
    size = 0
    for each in candidates:
        needed = 1 + len(each.keys)
        if size + needed > MAX_ACTIONS:
            yield group
            group, size = [], 0
        group.append(each)
        size += needed
    if group:
        yield group
