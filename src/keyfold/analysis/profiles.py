"""Profiles of patterns: the calls that each makes, and the units that they consume, by measuring.

Every pattern runs on a scratch table with sample data, with several arguments; its writes are
undone after each run. So index entries that move, unique values and transactions cost what they
cost in the engine, for the items that are there before and after.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from keyfold.analysis.arguments import ArgumentFinder, Arguments
from keyfold.analysis.samples import SampleData, fill, find_sample, name_entity
from keyfold.analysis.scratch import RecordedCall, ScratchTable
from keyfold.analysis.sizes import TableSizes, estimate_sizes
from keyfold.analysis.spreading import spread
from keyfold.analysis.workload import PatternUse, Workload
from keyfold.capacity import read_units
from keyfold.errors import AlreadyExists, KeyfoldError, TransactionFailed
from keyfold.model import Collection, Entity, Pattern, Table
from keyfold.model._schemas import ItemMismatch
from keyfold.store import Store
from keyfold.values import Item, item_size_bytes

# Enough for a mean within two per cent, if the sizes of items differ a lot.
_RUNS = 400
# After so many runs that failed or found nothing, no better arguments are expected.
_FRUITLESS = 60


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run of a pattern: its arguments, and the calls that it made."""

    arguments: Mapping[str, Any]
    calls: tuple[RecordedCall, ...]
    # How many entities it returned.
    returned: int


@dataclass(frozen=True, slots=True)
class PatternProfile:
    """What a pattern does: its runs on sample data; none if `problem` says why it could not run."""

    pattern: str
    runs: tuple[MeasuredRun, ...]
    problem: str | None = None
    # Whether it ran on the table's examples, since the database lacks items for it.
    is_on_examples: bool = False

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """The calls of its first run, which is the most telling one."""
        return self.runs[0].calls if self.runs else ()

    @property
    def read_units(self) -> float:
        """The mean of the read units of a run, of table and indexes."""
        return self._mean(lambda call: call.units if call.is_read else 0.0)

    @property
    def write_units(self) -> float:
        """The mean of the write units of a run, of table and indexes."""
        return self._mean(lambda call: 0.0 if call.is_read else call.units)

    @property
    def items_read(self) -> float:
        """The mean number of items that a run reads."""
        return self._mean(lambda call: call.scanned if call.is_read else 0.0)

    @property
    def items_returned(self) -> float:
        """The mean number of entities that a run returns."""
        return sum(run.returned for run in self.runs) / max(1, len(self.runs))

    @property
    def scans(self) -> bool:
        """Whether it scans the table or an index, so that its units grow with it."""
        return any(call.operation == "Scan" for call in self.calls)

    def units_of(self, index: str | None, *, is_read: bool) -> float:
        """Return the mean of the read or write units of the table (None) or of one index."""

        def units(call: RecordedCall) -> float:
            if call.is_read is not is_read:
                return 0.0
            return call.table_units if index is None else call.index_units.get(index, 0.0)

        return self._mean(units)

    def _mean(self, measure: Callable[[RecordedCall], float]) -> float:
        total = sum(measure(call) for run in self.runs for call in run.calls)
        return total / max(1, len(self.runs))


@dataclass(frozen=True, slots=True)
class TableProfile:
    """The profiles of a table's patterns, and what was assumed to make them."""

    table: Table
    sample: SampleData
    workload: Workload
    patterns: Mapping[str, PatternProfile]
    sizes: TableSizes
    assumptions: tuple[str, ...]
    # The items that the patterns ran on.
    items: tuple[Item, ...]
    # The patterns as they ran: scans read the sample, not what the table is expected to have.
    measured: Mapping[str, PatternProfile]


def profile_table(table: Table, sample: SampleData, workload: Workload) -> TableProfile:
    """Run every pattern of a table on sample data, and return what each does.

    Patterns that cannot run on the items of a database run on the table's examples, if it has any.
    """
    table.check()
    with fill_scratch(table, sample, workload) as (scratch, assumptions):
        patterns = _profile_all(scratch, workload, table.patterns)
        items = tuple(scratch.scan())
    sizes = estimate_sizes(table, sample, workload, items)
    failed = [name for name, each in patterns.items() if each.problem]
    if failed and sample.source == "database" and table.example_entities():
        with fill_scratch(table, find_sample(table), workload) as (scratch, _):
            found = _profile_all(scratch, workload, failed)
        patterns |= {
            name: replace(each, is_on_examples=True)
            for name, each in found.items()
            if not each.problem
        }
    notes = (
        *sample.assumptions,
        *assumptions,
        *sizes.assumptions,
        *_list_unmeasured(patterns),
    )
    scaled = {name: _scale_scans(each, sizes) for name, each in patterns.items()}
    return TableProfile(table, sample, workload, scaled, sizes, notes, items, patterns)


def change_workload(profile: TableProfile, workload: Workload) -> TableProfile:
    """Return a profile for other rates, numbers of items and settings, without running patterns again.

    Sizes of items, how many are in a partition, and arguments stay those of the profile.
    """
    sizes = estimate_sizes(profile.table, profile.sample, workload, profile.items)
    kept = [each for each in profile.assumptions if each not in profile.sizes.assumptions]
    scaled = {name: _scale_scans(each, sizes) for name, each in profile.measured.items()}
    notes = (*kept, *sizes.assumptions)
    return replace(profile, workload=workload, patterns=scaled, sizes=sizes, assumptions=notes)


def _profile_all(
    scratch: ScratchTable, workload: Workload, names: Iterable[str]
) -> dict[str, PatternProfile]:
    entities = list(_decode_all(scratch))
    return {
        name: profile_pattern(
            scratch, scratch.table.patterns[name], entities, workload.patterns[name]
        )
        for name in names
    }


def _list_unmeasured(patterns: Mapping[str, PatternProfile]) -> Iterator[str]:
    """Yield sentences about the patterns that could not run on the sample."""
    names = ", ".join(name for name, each in patterns.items() if each.is_on_examples)
    if names:
        yield f"Measured on the table's examples, since the database lacks items for them: {names}."
    for each in patterns.values():
        if each.problem:
            yield f"{each.pattern}: not measured: {each.problem}"


def _scale_scans(profile: PatternProfile, sizes: TableSizes) -> PatternProfile:
    """Return a profile whose scans read as much as the table or index is expected to have."""
    if not profile.scans:
        return profile

    def scale(call: RecordedCall) -> RecordedCall:
        factor = sizes.growth(call.index)
        if call.operation != "Scan" or factor == 1:
            return call
        is_consistent = bool(call.request.get("ConsistentRead"))
        units = read_units(round(sizes.total(call.index).bytes), is_consistent=is_consistent)
        scanned = round(sizes.total(call.index).items)
        if call.index is None:
            return replace(call, table_units=units, scanned=scanned)
        return replace(call, index_units={call.index: units}, scanned=scanned)

    runs = tuple(replace(run, calls=tuple(map(scale, run.calls))) for run in profile.runs)
    return replace(profile, runs=runs)


@contextmanager
def fill_scratch(
    table: Table, sample: SampleData, workload: Workload
) -> Generator[tuple[ScratchTable, tuple[str, ...]]]:
    """Open a scratch table that is filled with a sample; nothing in it has expired."""
    moment = sample.live_at()
    with ScratchTable(table, clock=lambda: moment) as scratch:
        yield scratch, fill(scratch, sample, workload)


def profile_pattern(
    scratch: ScratchTable, pattern: Pattern[..., Any], entities: Sequence[Entity], use: PatternUse
) -> PatternProfile:
    """Run a pattern with several arguments, and return the runs that succeeded."""
    try:
        finder = ArgumentFinder(pattern, use.arguments)
    except ValueError as error:
        return PatternProfile(pattern.name, (), str(error))
    runs, problem = _run_all(scratch, pattern, finder.from_entities(entities))
    if not runs and use.arguments:
        # The workload's arguments are those of other items, as when a database is sampled.
        others = ArgumentFinder(pattern, {}).from_entities(entities)
        runs, _ = _run_all(scratch, pattern, others)
    if not runs:
        runs, _ = _run_all(scratch, pattern, finder.from_pairs(entities))
    if not runs:
        runs, failure = _run_all(scratch, pattern, [finder.from_example()])
        problem = problem or failure
    # Runs that find something tell more than those that do not.
    telling = [run for run in runs if run.returned] or runs
    return PatternProfile(pattern.name, tuple(telling), None if telling else problem)


def _run_all(
    scratch: ScratchTable, pattern: Pattern[..., Any], candidates: Iterable[Arguments]
) -> tuple[list[MeasuredRun], str]:
    """Run a pattern with each of some arguments; return the runs, and why the first one failed."""
    runs: list[MeasuredRun] = []
    problem, fruitless = "", 0
    for arguments in candidates:
        found = _try(scratch, pattern, arguments)
        if isinstance(found, str):
            problem = problem or found
        else:
            runs.append(found)
        fruitless += isinstance(found, str) or not found.returned
        if fruitless == _FRUITLESS or len(runs) - fruitless >= _RUNS:
            break
    return runs, problem


def _try(
    scratch: ScratchTable, pattern: Pattern[..., Any], arguments: Mapping[str, Any]
) -> MeasuredRun | str:
    """Run a pattern once and undo its writes; return the reason if it fails.

    An entity that is passed is taken to be new, so the sample's is removed; if the pattern then
    fails or finds nothing, it is taken to be stored.
    """
    takes_entities = any(isinstance(each, Entity) for each in arguments.values())
    found = _measure(scratch, pattern, arguments, without_passed=takes_entities)
    if not takes_entities or (isinstance(found, MeasuredRun) and found.returned):
        return found
    stored = _measure(scratch, pattern, arguments, without_passed=False)
    return found if isinstance(stored, str) else stored


def _measure(
    scratch: ScratchTable,
    pattern: Pattern[..., Any],
    arguments: Mapping[str, Any],
    *,
    without_passed: bool,
) -> MeasuredRun | str:
    try:
        if without_passed:
            _remove(scratch.store, arguments.values())
        return _run(scratch, pattern, arguments)
    except KeyfoldError as error:
        return str(error)
    except ValidationError as error:
        return f"{error.error_count()} of its values are invalid for {error.title}."
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        scratch.roll_back()


def _run(
    scratch: ScratchTable, pattern: Pattern[..., Any], arguments: Mapping[str, Any]
) -> MeasuredRun:
    scratch.take_calls()
    try:
        result = scratch.store.run(pattern(**arguments))
    except (AlreadyExists, TransactionFailed) as error:
        in_the_way = [*_find_existing(error)]
        if not in_the_way:
            raise
        # It creates what the sample has: once more, without that.
        _remove(scratch.store, in_the_way)
        scratch.take_calls()
        result = scratch.store.run(pattern(**arguments))
    return MeasuredRun(arguments, scratch.take_calls(), _count(result))


def _find_existing(error: AlreadyExists | TransactionFailed) -> Iterator[Any]:
    """Yield the stored entities that a write would have created."""
    reasons = error.reasons if isinstance(error, TransactionFailed) else (error,)
    for each in reasons:
        if isinstance(each, AlreadyExists) and each.found is not None:
            yield each.found


def _remove(store: Store, values: Iterable[Any]) -> None:
    """Delete the entities among some values."""
    for each in values:
        if isinstance(each, Entity):
            store.run(type(each).delete(**_key_of(each)))


def _key_of(entity: Entity) -> dict[str, Any]:
    return {name: getattr(entity, name) for name in type(entity).keyfold_schema().key_fields}


def _count(result: Any) -> int:
    if result is None:
        return 0
    if isinstance(result, Entity):
        return 1
    if isinstance(result, Collection):
        return sum(_count(each) for _, each in result)
    try:
        return len(result)
    except TypeError:
        return 1


def _decode_all(scratch: ScratchTable) -> Iterator[Entity]:
    """Yield the entities of a scratch table in an order that is spread over all sizes."""
    items = list(scratch.scan())
    partition = scratch.table.key.names[0]
    partition_bytes: dict[str, int] = defaultdict(int)
    for item in items:
        partition_bytes[repr(item[partition])] += item_size_bytes(item)
    items.sort(key=lambda item: (partition_bytes[repr(item[partition])], item_size_bytes(item)))
    by_entity: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        name = name_entity(scratch.table, item)
        if name is not None:
            by_entity[name].append(item)
    for name, found in by_entity.items():
        for item in spread(found):
            try:
                entity: Any = scratch.table.entities[name].decode(item)
            except (KeyfoldError, ValidationError, ItemMismatch):
                continue
            if isinstance(entity, Entity):
                yield entity
