"""Planned calls: what the calls of a pattern use, with the keys of many callers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from keyfold.analysis.heat._distributions import ONE_BY_ONE
from keyfold.analysis.heat._populations import (
    KeyPopulations,
    KeyRole,
    find_role,
    partition_names,
)
from keyfold.analysis.profiles import MeasuredRun
from keyfold.analysis.scratch import RecordedCall
from keyfold.capacity import KeyUse, UnitKind, read_units
from keyfold.engine import TrafficRecord
from keyfold.model import Table
from keyfold.values import Item


class PlannedUse(NamedTuple):
    """Units of a key, what the key is of, and whether it stands for many others.

    The role is that of the sample's key: a made-up key need not fit the template.
    """

    use: KeyUse
    role: KeyRole
    for_others: bool = False


class PlannedRequest(NamedTuple):
    """One request of a call, and what it uses."""

    kind: UnitKind
    operation: str
    uses: tuple[PlannedUse, ...]

    @classmethod
    def from_record(
        cls, table: Table, record: TrafficRecord, uses: Iterable[KeyUse]
    ) -> PlannedRequest:
        """Return a recorded request, which uses this."""
        planned = (PlannedUse(use, find_role(table, use.name, use.key)) for use in uses)
        return cls(record.kind, record.operation, tuple(planned))


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
        self._partitions = partition_names(populations.table)
        self._runs = [
            tuple(
                PlannedRequest.from_record(populations.table, each, _scale(call, each))
                for call in run.calls
                for each in call.traffic
            )
            for run in runs
        ]
        # A key of each partition that the runs use, by role, in the order of the runs.
        self._known: dict[KeyRole, list[Item]] = {}
        for run in self._runs:
            for request in run:
                for planned in request.uses:
                    self._note(planned)
        self.keys = max([1.0, *(self._count(role) for role in self._known)])

    def _note(self, planned: PlannedUse) -> None:
        key = planned.use.key
        if key is not None:
            known = self._known.setdefault(planned.role, [])
            names = self._partitions[planned.use.name]
            if not any(all(each[name] == key[name] for name in names) for each in known):
                known.append(key)

    def _count(self, role: KeyRole) -> float:
        if self._given is not None and not self._populations.is_fixed(role):
            return self._given
        return self._populations.count(role)

    def plan(self, rank: int, *, for_others: bool = False) -> tuple[PlannedRequest, ...]:
        """Return the requests of a caller of a rank, who may stand for many others."""
        run = self._runs[rank % len(self._runs)]
        return tuple(
            each._replace(
                uses=tuple(self._replace_key(use, rank, for_others=for_others) for use in each.uses)
            )
            for each in run
        )

    def _replace_key(self, planned: PlannedUse, rank: int, *, for_others: bool) -> PlannedUse:
        use, role, _ = planned
        if use.key is None:
            return planned
        known, count = self._known[role], self._count(role)
        number = rank % max(1, round(count))
        key = known[number % len(known)]
        if number >= len(known):
            key = _add_suffix(key, f"~{number}")
        # With so many keys, not all of them are simulated.
        return PlannedUse(use._replace(key=key), role, for_others and count > ONE_BY_ONE)


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


class ShardPlan(NamedTuple):
    """How keys are divided into shards: how many a role has, and how many are simulated.

    Of more than `most` shards, only so many get the calls of all, evenly spread. `first` is one of
    them, so that different calls use different shards.
    """

    shards: Mapping[KeyRole, int]
    most: int
    first: int = 0

    def choose(self, count: int) -> list[int]:
        """Return which of `count` shards are simulated."""
        chosen = min(count, self.most)
        return [(self.first + place * count // chosen) % count for place in range(chosen)]


def shard_call(call: PlannedCall, plan: ShardPlan) -> list[PlannedCall]:
    """Return a call as it is for each shard of its keys; itself if they are not sharded.

    A query asks all shards, so it is the same for each of them.
    """
    counts = [
        plan.shards.get(each.role, 1)
        for request in call.requests
        if request.operation != "Query"
        for each in request.uses
    ]
    return [
        call._replace(
            requests=tuple(
                each for request in call.requests for each in _shard_request(request, plan, shard)
            )
        )
        for shard in plan.choose(max(counts, default=1))
    ]


def _shard_request(
    request: PlannedRequest, plan: ShardPlan, shard: int
) -> Iterator[PlannedRequest]:
    """Yield the requests of one shard: a query of a sharded key asks all of them."""

    def in_shard(planned: PlannedUse, number: int) -> PlannedUse:
        use, count = planned.use, plan.shards.get(planned.role, 1)
        if use.key is None or count == 1:
            return planned
        key = _add_suffix(use.key, f"#{number % count}")
        return planned._replace(use=use._replace(key=key))

    first = request.uses[0]
    count = plan.shards.get(first.role, 1)
    if request.operation != "Query" or count == 1:
        yield request._replace(uses=tuple(in_shard(each, shard) for each in request.uses))
        return
    asked = plan.choose(count)
    least = read_units(0, is_consistent=False)
    units = max(least, first.use.units / count) * count / len(asked)
    part = first._replace(use=first.use._replace(units=units))
    for number in asked:
        yield request._replace(uses=(in_shard(part, number),))
