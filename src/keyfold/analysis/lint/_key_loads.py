"""How much the hottest partition key of each kind takes at the peak, by the workload.

The units of a pattern's runs are attributed to the partition keys that its calls touch. How large
a share of them the hottest key gets depends on how many keys there are, and on the skew of their
use; keys of a kind whose number is unknown are left out. The workload's `keys` of a pattern say
how many its calls use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import log

from keyfold.analysis.lint._key_facts import (
    EntityKey,
    count_choices,
    is_choice,
    is_time,
    list_keys,
)
from keyfold.analysis.lint._rules import Design
from keyfold.analysis.samples import name_entity
from keyfold.analysis.scratch import RecordedCall
from keyfold.api import TableKeyNames
from keyfold.model import Table
from keyfold.model._key_parts import KeyPart
from keyfold.policy.accesses import read_accesses
from keyfold.values import AttributeValue, Item

# A kind of partition keys: the index (None for the table), and how the key is declared.
KeyKind = tuple[str | None, str]
# Terms of the harmonic sum that are added one by one; the rest is an integral.
_SUMMED = 1_000


@dataclass(slots=True)
class KeyLoad:
    """The units a second that the hottest key of a kind takes at the peak, and why."""

    key: EntityKey
    # The units a second of each pattern.
    readers: dict[str, float] = field(default_factory=dict[str, float])
    writers: dict[str, float] = field(default_factory=dict[str, float])
    # The entities whose items are created there.
    created: set[str] = field(default_factory=set[str])

    @property
    def reads(self) -> float:
        """The read units of all patterns."""
        return sum(self.readers.values())

    @property
    def writes(self) -> float:
        """The write units of all patterns."""
        return sum(self.writers.values())


@dataclass(frozen=True, slots=True)
class _Touch:
    """Units that a call consumes in one partition."""

    index: str | None
    partition: tuple[AttributeValue, ...]
    sort_key: AttributeValue | None
    units: float
    is_read: bool
    created: str | None = None


def find_loads(design: Design) -> Mapping[KeyKind, KeyLoad]:
    """Return the load of the hottest key of each kind; empty if no pattern has a rate."""
    keys = list(list_keys(design.table))
    counts = _count_keys(design, keys)
    loads: dict[KeyKind, KeyLoad] = {}
    for name, profile in design.profile.patterns.items():
        use = design.workload.patterns[name]
        rate = use.peak or use.rate
        if rate is None or not profile.runs:
            continue
        for run in profile.runs:
            for call in run.calls:
                for touch in _find_touches(design.table, call):
                    key = _find_key(keys, touch)
                    if key is None:
                        continue
                    kind = kind_of(key)
                    count = counts.get(kind) if _is_closed(key) else use.keys or counts.get(kind)
                    if count is None:
                        continue
                    share = _hottest_share(count, use.skew or 0.0)
                    units = touch.units * rate.per_second * share / len(profile.runs)
                    load = loads.setdefault(kind, KeyLoad(key))
                    _add(load, name, touch, units)
    return loads


def kind_of(key: EntityKey) -> KeyKind:
    """Return the kind of an entity's partition keys."""
    return None if key.index is None else key.index.name, key.partition_text


def _add(load: KeyLoad, pattern: str, touch: _Touch, units: float) -> None:
    patterns = load.readers if touch.is_read else load.writers
    patterns[pattern] = patterns.get(pattern, 0.0) + units
    if touch.created is not None:
        load.created.add(touch.created)


def _find_touches(table: Table, call: RecordedCall) -> Iterator[_Touch]:
    if call.is_read:
        names = TableKeyNames(
            table.key.names[0],
            next(iter(table.key.sort), None),
            {index.name: index.key.partition for index in table.indexes},
        )
        accesses = read_accesses(call.operation, dict(call.request), lambda _: names)
        units = call.table_units if call.index is None else sum(call.index_units.values())
        for each in accesses:
            if each.partition is not None:
                share = units / len(accesses)
                yield _Touch(each.index_name, each.partition, each.sort_key, share, is_read=True)
        return
    for before, after in call.changes:
        item = after or before
        if item is None:
            continue
        created = name_entity(table, item) if before is None else None
        partition, sort = (item[table.key.names[0]],), item.get(table.key.names[-1])
        units = call.table_units / len(call.changes)
        yield _Touch(None, partition, sort, units, is_read=False, created=created)
    for index in table.indexes:
        entries = [*_find_entries(call, index.key.partition, index.key.names)]
        for partition in entries:
            units = call.index_units.get(index.name, 0.0) / len(entries)
            yield _Touch(index.name, partition, None, units, is_read=False)


def _find_entries(
    call: RecordedCall, partition: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[AttributeValue, ...]]:
    """Yield the partition of each index entry that a call writes."""
    for before, after in call.changes:
        item = next((each for each in (after, before) if _has(each, names)), None)
        if item is not None:
            yield tuple(item[name] for name in partition)


def _has(item: Item | None, names: tuple[str, ...]) -> bool:
    return item is not None and all(name in item for name in names)


def _find_key(keys: list[EntityKey], touch: _Touch) -> EntityKey | None:
    """Return the entity's key that a touched one is of; None for guards and the like."""
    for key in keys:
        if (None if key.index is None else key.index.name) != touch.index:
            continue
        parts = [*zip(key.partition, touch.partition, strict=True)]
        if key.sort and touch.sort_key is not None:
            parts.append((key.sort[0], touch.sort_key))
        if all(_fits(part, value) for part, value in parts):
            return key
    return None


def _fits(part: KeyPart, value: AttributeValue) -> bool:
    if part.template is None:
        return part.kind in value
    return "S" in value and part.template.parse(value["S"]) is not None


def _count_keys(design: Design, keys: list[EntityKey]) -> dict[KeyKind, float]:
    """Return how many partition keys of each kind are in use at a time, where that is known."""
    found: dict[KeyKind, float] = {}
    for key in keys:
        count = _count_of(design, key)
        if count is not None:
            found[kind_of(key)] = max(count, found.get(kind_of(key), 1.0))
    return found


def _is_closed(key: EntityKey) -> bool:
    """Return whether the declaration says how many partition keys are in use at a time."""
    fields = (name for name in key.partition_fields if not is_time(key, name))
    return all(is_choice(key.kind_of(name)) for name in fields)


def _count_of(design: Design, key: EntityKey) -> float | None:
    fields = [name for name in key.partition_fields if not is_time(key, name)]
    count = 1.0
    for name in fields:
        if is_choice(key.kind_of(name)):
            count *= count_choices(key.kind_of(name))
    if _is_closed(key):
        return count  # of a time, the current one is in use
    volume, name = design.workload.volumes[key.schema.name], key.schema.name
    counted = design.profile.sample.counted
    items = volume.items if counted is None else counted.get(name)
    if not items:
        return None
    sampled = design.profile.sample.by_entity().get(name, [])
    if counted is not None and sampled:
        attributes = [part.attribute for part in key.partition]
        used = {repr([item.get(each) for each in attributes]) for item in sampled}
        return items * len(used) / len(sampled)
    own = (key.schema.partition.fields, key.schema.sort)
    if key.index is None or set(key.partition_fields) == set(own[0]):
        is_single = own[1] is None or not own[1].fields
        each = 1.0 if is_single else volume.per_partition
        return None if each is None else max(1.0, items / each)
    return None


def _hottest_share(count: float, skew: float) -> float:
    """Return the share of the most used of some keys, by Zipf's law with this exponent.

    >>> _hottest_share(10, 0), round(_hottest_share(1_000_000, 1), 3)
    (0.1, 0.069)
    """
    if skew == 0:
        return 1 / count
    whole = min(int(count), _SUMMED)
    total = sum(each**-skew for each in range(1, whole + 1))
    return 1 / (total + _integral(whole, count, skew))


def _integral(low: float, high: float, skew: float) -> float:
    if high <= low:
        return 0.0
    if skew == 1:
        return log(high / low)
    return (high ** (1 - skew) - low ** (1 - skew)) / (1 - skew)
