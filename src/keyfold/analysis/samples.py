"""Sample data of a table: what tools measure patterns on, and show.

It comes from a database, from the table's example entities, or is generated from the declaration.
`fill` writes it to a scratch table, multiplied and padded until it has the counts and sizes that
the workload expects of each partition.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from pydantic import BaseModel, ValidationError

from keyfold.analysis.scratch import ScratchTable
from keyfold.analysis.spreading import spread
from keyfold.analysis.variants import vary_fields
from keyfold.analysis.workload import Workload
from keyfold.errors import KeyfoldError
from keyfold.model import Entity, Table
from keyfold.model._pattern_arguments import sample_for
from keyfold.model._samples import samples_of
from keyfold.model._schemas import EntitySchema, ItemMismatch
from keyfold.store import Executor
from keyfold.store._guards import expiry_in, guard_item
from keyfold.store._own_items import is_own_item, is_request_record
from keyfold.values import Item, item_size_bytes

# An attribute that makes an item as large as the workload expects.
PADDING = "keyfold_padding"

_MOST_PER_PARTITION = 2_000
_MOST_SAMPLED = 20_000


@dataclass(frozen=True, slots=True)
class SampleData:
    """Items of a table, with where they come from."""

    table: Table
    items: tuple[Item, ...]
    # "database", "examples" or "generated".
    source: str
    # Sentences about what was assumed.
    assumptions: tuple[str, ...] = ()
    # How many items of each entity the source has, if it was counted: a database's.
    counted: Mapping[str, int] | None = None

    def by_entity(self) -> dict[str, list[Item]]:
        """Return the items of each entity, by its name."""
        found: dict[str, list[Item]] = defaultdict(list)
        for item in self.items:
            name = name_entity(self.table, item)
            if name is not None:
                found[name].append(item)
        return found

    def live_at(self) -> float:
        """Return a time at which none of the items has expired: now, or before."""
        name = self.table.ttl
        times = [
            float(item[name]["N"]) - 1
            for item in self.items
            if name is not None and "N" in item.get(name, {})
        ]
        return min([time.time(), *times])

    def mean_bytes(self) -> dict[str, float]:
        """Return the mean size of the items of each entity."""
        return {
            name: sum(map(item_size_bytes, items)) / len(items)
            for name, items in self.by_entity().items()
        }


def name_entity(table: Table, item: Item) -> str | None:
    """Return the name of an item's entity; None for Keyfold's own items and others of no entity."""
    if table.may_read_own_items and is_own_item(table, item):
        return None
    for schema in table.entities.values():
        if schema is not table.fallback and schema.fits(item):
            return schema.name
    return None if table.fallback is None else table.fallback.name


def fallback_last(table: Table) -> list[EntitySchema]:
    """Return the entities of a table; the one that fits what no other fits is the last."""
    return sorted(table.entities.values(), key=lambda each: each is table.fallback)


def find_sample(table: Table) -> SampleData:
    """Return the table's example entities, and generated ones for entities without example."""
    examples = table.example_entities()
    missing = [
        schema
        for schema in table.entities.values()
        if not any(isinstance(each, schema.entity) for each in examples)
    ]
    generated = [each for schema in missing if (each := generate(schema)) is not None]
    items = [*_encode_all(examples), *_encode_all(generated)]
    assumptions: list[str] = []
    if generated:
        names = ", ".join(type(each).__name__ for each in generated)
        assumptions.append(f"Sizes of {names} are those of generated items; declare examples.")
    left_out = [each.name for each in missing if each.entity not in map(type, generated)]
    if left_out:
        assumptions.append(f"No sample could be generated of {', '.join(left_out)}.")
    source = "examples" if examples else "generated"
    return SampleData(table, tuple(items), source, tuple(assumptions))


def sample_database(table: Table, executor: Executor, *, most: int = _MOST_SAMPLED) -> SampleData:
    """Return about `most` items of a database, as whole partitions of all sizes.

    The whole table is read, since only then are the partitions known.
    """
    partition = table.key.names[0]
    partitions: dict[str, list[Item]] = defaultdict(list)
    counted: dict[str, int] = dict.fromkeys(table.entities, 0)
    for item in scan(executor, table.name):
        if is_request_record(table, item):
            # It is of requests, not of data, and gone within a day.
            continue
        partitions[repr(item[partition])].append(item)
        name = name_entity(table, item)
        if name is not None:
            counted[name] += 1
    chosen: list[Item] = []
    for items in spread(sorted(partitions.values(), key=_bytes_of)):
        if len(chosen) >= most:
            break
        chosen += items
    total = sum(map(len, partitions.values()))
    note = f"Measured on {len(chosen)} of {total} items of the database."
    return SampleData(table, tuple(chosen), "database", (note,), counted)


def _bytes_of(items: Iterable[Item]) -> int:
    return sum(map(item_size_bytes, items))


def scan(executor: Executor, table_name: str) -> Iterator[Item]:
    """Yield every item of a table."""
    request: dict[str, Any] = {"TableName": table_name}
    while True:
        response = executor.execute("Scan", request)
        yield from response["Items"]
        if not response.get("LastEvaluatedKey"):
            return
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def generate(schema: EntitySchema) -> Entity | None:
    """Return an entity with sample values; None if its validators refuse them.

    Fields of the same name and type have the same value in all entities, so that they belong
    together.
    """
    values: dict[str, Any] = {}
    for name, info in schema.entity.__pydantic_fields__.items():
        found = samples_of(info.annotation)
        if found:
            values[name] = name if found == ["text"] else found[0]
        elif info.is_required() or name in schema.key_fields:
            values[name] = sample_for(name, info.annotation)
    try:
        made = schema.entity.model_validate(values, by_name=True, by_alias=False)
    except (ValidationError, ValueError, TypeError):
        return None
    return made if isinstance(made, Entity) else None


def _encode_all(entities: Iterable[Entity]) -> Iterator[Item]:
    for each in entities:
        yield type(each).keyfold_schema().encode(each)


def fill(scratch: ScratchTable, sample: SampleData, workload: Workload) -> tuple[str, ...]:
    """Write a sample to a scratch table; return sentences about what was assumed.

    Unique values get their guards. Items are multiplied and padded as the workload expects.
    """
    scratch.load([*sample.items])
    assumptions: list[str] = []
    padded: list[Item] = []
    for name, items in sample.by_entity().items():
        schema, volume = scratch.table.entities[name], workload.volumes[name]
        multiplied = list(items)
        if volume.per_partition is not None:
            wanted = min(round(volume.per_partition), _MOST_PER_PARTITION)
            if wanted < volume.per_partition:
                fact = f"measured with {wanted} in a partition, not {volume.per_partition:g}"
                assumptions.append(f"{name}: {fact}.")
            multiplied += _multiply(schema, items, wanted)
        if volume.bytes is not None:
            multiplied = [_pad(item, round(volume.bytes)) for item in multiplied]
        if multiplied != items:
            padded += multiplied
        padded += _make_guards(scratch.table, schema, multiplied)
    scratch.load(padded)
    scratch.keep()
    return tuple(assumptions)


def _make_guards(table: Table, schema: EntitySchema, items: list[Item]) -> Iterator[Item]:
    """Yield the guard items of the unique values of some items."""
    for item in items:
        owner = {name: item[name] for name in table.key.names}
        for field in schema.unique.values():
            value = field.value_in(item)
            if value is not None:
                yield guard_item(table, field.guard, value, owner, expiry_in(table, item))


def _multiply(schema: EntitySchema, items: list[Item], wanted: int) -> Iterator[Item]:
    """Yield further items, so that each partition of the sample has as many as wanted."""
    partition = schema.partition
    varied = schema.key_fields.difference(partition.fields) | schema.unique.keys()
    by_partition: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        by_partition[repr(item[partition.attribute])].append(item)
    if not schema.key_fields.difference(partition.fields):
        return  # a partition has one such item
    for found in by_partition.values():
        try:
            entity = schema.decode(found[0])
        except (KeyfoldError, ValidationError, ItemMismatch):
            continue
        known = {repr([item[key.attribute] for key in schema.keys]) for item in found}
        others = _variants(schema, entity, varied, known)
        yield from islice(others, max(0, wanted - len(found)))


def _variants(
    schema: EntitySchema,
    entity: BaseModel,
    varied: frozenset[str],
    known: set[str],
) -> Iterator[Item]:
    failures = 0
    for number in count(1):
        made = vary_fields(entity, varied, number)
        item = None if made is None else schema.encode(made)
        key = None if item is None else repr([item[each.attribute] for each in schema.keys])
        if item is None or key is None or key in known:
            failures += 1
            if failures > 10:  # noqa: PLR2004 - its fields have no more values
                return
            continue
        known.add(key)
        yield item


def _pad(item: Item, wanted: int) -> Item:
    """Return an item with the size that is wanted, if it is not larger already."""
    lacking = wanted - item_size_bytes(item)
    room = lacking - len(PADDING)
    if room <= 0:
        return item
    return {**item, PADDING: {"S": "x" * room}}
