"""Reads items for the room: queries and scans with the rights of the principal, in bounded pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from keyfold.errors import AccessDenied
from keyfold.model import Index, Table
from keyfold.policy import Area, PrincipalGuard, find_readable, make_guards
from keyfold.studio._actions import StudioCall
from keyfold.studio._problems import StudioProblem
from keyfold.studio.rooms.overview import key_types
from keyfold.values import Item, restore_binaries

SortOperator = Literal["=", "begins_with"]
# The greatest values of key attributes. No sort key is longer, and hardly any partition key.
_LAST: Item = {
    "S": {"S": "\U0010ffff" * 256},
    "N": {"N": "9" * 38 + "E+88"},
    "B": {"B": b"\xff" * 1_024},
}


@dataclass(frozen=True, slots=True)
class BandRange:
    """A partition of a table or index, or those of its items whose sort key a condition selects."""

    partition: Item
    sort: tuple[SortOperator, str] | None = None


@dataclass(frozen=True, slots=True)
class ReadItems:
    """Items that were read, and the key after which to go on; None if there are no more."""

    items: list[Item]
    last: Item | None
    # Whether attributes are hidden from the principal, or not projected into the index.
    is_partial: bool


class BandReader:
    """Reads the table or one of its indexes for a call."""

    def __init__(self, call: StudioCall, through: str | None) -> None:
        self.call = call
        self.table: Table = call.table
        self.index: Index | None = find_index(call.table, through)
        self.key = call.table.key if self.index is None else self.index.key
        self.types = key_types(call.table)
        # The attributes of an item's position, in its index and in the table.
        self.position_names = tuple(dict.fromkeys((*self.key.names, *call.table.key.names)))
        self._is_partial = self.index is not None and self.index.project != "all"

    @property
    def units(self) -> float:
        """The read units of the call so far."""
        return self.call.recorder.count_units()[0]

    def query(
        self,
        wanted: BandRange,
        *,
        limit: int,
        start: Item | None = None,
        is_backward: bool = False,
    ) -> ReadItems:
        """Read items of a partition, in the order of their sort keys; raises AccessDenied."""
        names: dict[str, str] = {}
        values: Item = {}
        conditions: list[str] = []
        for number, name in enumerate(self.key.partition):
            names[f"#p{number}"] = name
            values[f":p{number}"] = wanted.partition[name]
            conditions.append(f"#p{number} = :p{number}")
        if wanted.sort is not None:
            operator, text = wanted.sort
            names["#s"] = self.key.sort[0]
            values[":s"] = {self.types.get(self.key.sort[0], "S"): text}
            conditions.append("#s = :s" if operator == "=" else "begins_with(#s, :s)")
        request: dict[str, Any] = {
            "KeyConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": not is_backward,
        }
        areas = self._find_areas(wanted.partition)
        return self._read("Query", request, areas, limit, start)

    def scan(self, *, limit: int, start: Item | None = None) -> ReadItems:
        """Read items of all partitions; raises AccessDenied."""
        return self._read("Scan", {}, [*self.table.layout.areas.values()], limit, start)

    def get(self, key: Item) -> Item | None:
        """Return an item, without what is hidden from the principal; raises AccessDenied."""
        request: dict[str, Any] = {"TableName": self.table.name, "Key": key}
        readable = self._find_readable(key)
        if readable is not None:
            request |= _project(sorted({*readable, *self.table.key.names}))
        return self.call.store.execute("GetItem", request).get("Item")

    def get_several(self, keys: Sequence[Item], attributes: Sequence[str] = ()) -> list[Item]:
        """Return those of up to 100 items that there are, whole or some attributes of each."""
        if not keys:
            return []
        wanted: dict[str, Any] = {"Keys": [*keys]}
        if attributes:
            wanted |= _project(attributes)
        request = {"RequestItems": {self.table.name: wanted}}
        response = self.call.store.execute("BatchGetItem", request)
        return response["Responses"].get(self.table.name, [])

    def find_hidden(self, key: Item, names: Sequence[str]) -> frozenset[str]:
        """Return those of an item's attributes that are hidden from the principal."""
        guard = find_guard(self.call)
        readable = None if guard is None else find_readable(guard, key, names)
        return frozenset() if readable is None else frozenset(names) - readable

    def position_of(self, item: Item) -> Item:
        """Return the key that a read starts after, to begin with the next item."""
        return {name: item[name] for name in self.position_names}

    def end_of(self, item: Item) -> Item | None:
        """Return a position after all items of an item's partition; None if there is none.

        A scan that starts there skips the rest of the partition: keys need not exist.
        """
        after = [name for name in self.position_names if name not in self.key.partition]
        if not after:
            return None
        last: Item = {name: item[name] for name in self.key.partition}
        return last | {name: _LAST[self.types.get(name, "S")] for name in after}

    def _read(
        self,
        operation: str,
        request: dict[str, Any],
        areas: Sequence[Area],
        limit: int,
        start: Item | None,
    ) -> ReadItems:
        request |= {"TableName": self.table.name, "Limit": limit}
        if self.index is not None:
            request["IndexName"] = self.index.name
        if start is not None:
            request["ExclusiveStartKey"] = start
        is_partial = self._is_partial
        try:
            response = self.call.store.execute(operation, request)
        except AccessDenied:
            open_names = self._find_open_names(areas)
            if open_names is None:
                raise
            response = self.call.store.execute(operation, _with_names(request, open_names))
            is_partial = True
        return ReadItems(response["Items"], response.get("LastEvaluatedKey"), is_partial)

    def _find_areas(self, partition: Item) -> list[Area]:
        """Return the areas that a partition can be in, which say what is declared there."""
        layout = self.table.layout
        if self.index is not None:
            return [layout.areas[each] for each in layout.indexes[self.index.name].areas]
        text = partition[self.key.partition[0]].get("S", "")
        areas = layout.areas.values()
        return [each for each in areas if any(one.matches(text) for one in each.templates)]

    def _find_open_names(self, areas: Sequence[Area]) -> list[str] | None:
        """Return the attributes that no role hides; None if none of the roles hides any."""
        guard = find_guard(self.call)
        roles = [] if guard is None else [each.role for each in guard.guards]
        hidden = frozenset[str]().union(
            *(names for each in roles for names in each.hidden.values())
        )
        declared = frozenset[str]().union(*(each.attributes for each in areas))
        return sorted(declared - hidden) if hidden and declared else None

    def _find_readable(self, key: Item) -> frozenset[str] | None:
        """Return the attributes of an item that a principal may get; None if it may get all."""
        guard = find_guard(self.call)
        if guard is None:
            return None
        names = frozenset[str]().union(
            *(each.attributes for each in self.table.layout.areas.values())
        )
        readable = find_readable(guard, key, names)
        return None if readable is None or readable == names else readable


def find_guard(call: StudioCall) -> PrincipalGuard | None:
    """Return what decides on the accesses of a call's principal; None for the administrator."""
    if call.principal is None:
        return None
    guards = make_guards([call.table], call.principal.roles, call.principal.ids)
    return guards.get(call.table.name)


def find_index(table: Table, name: str | None) -> Index | None:
    """Return the index of a name, None for the table; raises StudioProblem."""
    if name is None:
        return None
    for index in table.indexes:
        if index.name == name:
            return index
    known = ", ".join(index.name for index in table.indexes) or "none"
    message = f"{table.name} has no index {name!r}; it has {known}."
    raise StudioProblem(404, "index-unknown", message)


def read_stored_key(given: Mapping[str, Any], names: Sequence[str], subject: str) -> Item:
    """Return key attributes that the browser sent in DynamoDB's JSON; raises StudioProblem."""
    try:
        if {*given} != {*names} or not all(
            isinstance(value, dict) and isinstance(value[kind], str)
            for value in given.values()
            for kind in [next(iter(value))]
        ):
            raise ValueError(given)
        return restore_binaries({name: given[name] for name in names})
    except (ValueError, KeyError, StopIteration, TypeError):
        wanted = ", ".join(names)
        message = (
            f"{subject} has to be an object with {wanted} in DynamoDB's JSON; got {given!r:.80}."
        )
        raise StudioProblem(400, "request-malformed", message) from None


def _project(names: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of a read that name what it returns."""
    places = {f"#a{number}": name for number, name in enumerate(names)}
    return {"ProjectionExpression": ", ".join(places), "ExpressionAttributeNames": places}


def _with_names(request: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    projected = _project(names)
    projected["ExpressionAttributeNames"] |= request.get("ExpressionAttributeNames", {})
    return {**request, **projected}
