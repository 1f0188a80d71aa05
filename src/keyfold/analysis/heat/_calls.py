"""Planned calls: what the calls of a pattern use, with the keys of many callers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from keyfold.analysis.heat._distributions import ONE_BY_ONE
from keyfold.analysis.heat._populations import KeyPopulations, KeyRole, find_role
from keyfold.analysis.profiles import MeasuredRun
from keyfold.analysis.scratch import RecordedCall
from keyfold.capacity import KeyUse, UnitKind, read_units
from keyfold.engine import TrafficRecord
from keyfold.model import Table
from keyfold.values import Item


class PlannedRequest(NamedTuple):
    """One request of a call, and what it uses.

    `others` says for each use whether its key stands for many; () if none does.
    """

    kind: UnitKind
    operation: str
    uses: tuple[KeyUse, ...]
    others: tuple[bool, ...] = ()

    def list_uses(self) -> Iterator[tuple[KeyUse, bool]]:
        """Yield each use, and whether its key stands for many."""
        return zip(self.uses, self.others or (False,) * len(self.uses), strict=True)


class PlannedCall(NamedTuple):
    """A call of a pattern with certain keys: the requests that it makes."""

    pattern: str
    requests: tuple[PlannedRequest, ...]


class CallPlanner:
    """Plans the calls of one pattern: those that it made on the sample, with other keys.

    A caller has a rank: the number of its keys. Keys of the sample come first.
    """

    def __init__(
        self, populations: KeyPopulations, runs: Sequence[MeasuredRun], keys: float | None
    ) -> None:
        """Plan runs; `keys` is how many different keys the workload says there are."""
        self._populations, self._given = populations, keys
        self._runs = [
            tuple(
                PlannedRequest(each.kind, each.operation, _scale(call, each))
                for call in run.calls
                for each in call.traffic
            )
            for run in runs
        ]
        # The keys that the runs use, by their role, in the order of the runs.
        self._known: dict[KeyRole, list[Item]] = {}
        for run in self._runs:
            for request in run:
                for use in request.uses:
                    self._note(use)
        self.keys = max([1.0, *(self._count(role) for role in self._known)])

    def _note(self, use: KeyUse) -> None:
        if use.key is not None:
            known = self._known.setdefault(self._populations.role_of(use.name, use.key), [])
            if use.key not in known:
                known.append(use.key)

    def _count(self, role: KeyRole) -> float:
        if self._given is not None and not self._populations.is_fixed(role):
            return self._given
        return self._populations.count(role)

    def plan(self, rank: int, *, for_others: bool = False) -> tuple[PlannedRequest, ...]:
        """Return the requests of a caller of a rank, who may stand for many others."""
        run = self._runs[rank % len(self._runs)]
        return tuple(
            each._replace(
                uses=tuple(self._replace_key(use, rank) for use in each.uses),
                others=tuple(for_others and self._varies(use) for use in each.uses),
            )
            for each in run
        )

    def _varies(self, use: KeyUse) -> bool:
        """Return whether there are so many keys that one stands for others."""
        if use.key is None:
            return False
        return self._count(self._populations.role_of(use.name, use.key)) > ONE_BY_ONE

    def _replace_key(self, use: KeyUse, rank: int) -> KeyUse:
        if use.key is None:
            return use
        role = self._populations.role_of(use.name, use.key)
        known = self._known[role]
        number = rank % max(1, round(self._count(role)))
        if number < len(known):
            return use._replace(key=known[number])
        return use._replace(key=_add_suffix(known[number % len(known)], f"~{number}"))


def _scale(call: RecordedCall, record: TrafficRecord) -> tuple[KeyUse, ...]:
    """Return the uses of a record; a scan uses as much as the table is expected to have."""
    if call.operation != "Scan":
        return record.uses
    return tuple(use._replace(units=call.units) for use in record.uses)


def _add_suffix(key: Item, suffix: str) -> Item:
    """Return a key with another partition key: the text of its first attribute, with a suffix."""
    first, *_ = key
    ((_, data),) = key[first].items()
    return {**key, first: {"S": f"{data}{suffix}"}}


def shard_call(table: Table, call: PlannedCall, shards: Mapping[KeyRole, int]) -> list[PlannedCall]:
    """Return a call as it is for each shard of its keys; itself if they are not sharded."""
    counts = [
        shards.get(find_role(table, use.name, use.key), 1)
        for request in call.requests
        for use in request.uses
    ]
    return [
        call._replace(
            requests=tuple(
                each
                for request in call.requests
                for each in _shard_request(table, request, shards, number)
            )
        )
        for number in range(max(counts, default=1))
    ]


def _shard_request(
    table: Table, request: PlannedRequest, shards: Mapping[KeyRole, int], number: int
) -> Iterator[PlannedRequest]:
    """Yield the requests of one shard: a query of a sharded key asks all of them."""

    def in_shard(use: KeyUse, place: int) -> KeyUse:
        count = shards.get(find_role(table, use.name, use.key), 1)
        if use.key is None or count == 1:
            return use
        return use._replace(key=_add_suffix(use.key, f"#{place % count}"))

    first = request.uses[0]
    count = shards.get(find_role(table, first.name, first.key), 1)
    if request.operation != "Query" or count == 1:
        yield request._replace(uses=tuple(in_shard(use, number) for use in request.uses))
        return
    least = read_units(0, is_consistent=False)
    part = first._replace(units=max(least, first.units / count))
    for place in range(count):
        yield request._replace(uses=(in_shard(part, place),), others=request.others[:1])
