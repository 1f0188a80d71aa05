"""Rules about access patterns: what they read, and how often. P01 to P06, P09 and P13.

Those about what patterns write are in `pattern_writes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from keyfold.analysis.cost import forecast_cost, read_prices
from keyfold.analysis.lint._explained import (
    AnyPattern,
    Steps,
    explain_all,
    find_gets,
    find_read,
    find_schemas,
    find_steps,
    find_writes,
    is_strong,
    writes_entity,
)
from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.samples import name_entity
from keyfold.keys import Ulid
from keyfold.keys._annotations import find_type
from keyfold.model._expected_use import Volume
from keyfold.model._fields import TimeOfCreation
from keyfold.model._paged_reads import Count, First, Query
from keyfold.model._schemas import EntitySchema
from keyfold.model._updates import Update

# Items in a page that people look at: a query that reads more than that should say how many.
_PAGE_ITEMS = 100
# A read is wasteful if it reads at least twice as many items as it returns, and not just a few.
_WASTE_FACTOR = 2
_WASTE_ITEMS = 5
_MANY_REQUESTS = 5
# Strong reads are a habit if most patterns make them, and not just one or two.
_HABIT = 3
_DOMINANT_SHARE = 0.4
# Of one or two patterns, one is always most of the bill.
_FEW_PATTERNS = 3


@rule(
    "P01",
    "Scan",
    severity=Severity.WARNING,
    fix="Query by a key, of an index if necessary; for a rare job, ignore the rule and say so.",
    source="ME16",
)
def scan(design: Design) -> Iterator[DesignProblem]:
    """A scan reads and pays for every item of the table or index, so it grows with the data."""
    for pattern, steps in explain_all(design):
        for step in steps:
            if step.scans:
                read = "the table" if step.index is None else f"index {step.index}"
                yield DesignProblem(pattern, f"It scans {read}.")


@rule(
    "P02",
    "Unbounded query",
    severity=Severity.WARNING,
    fix="Give the query a limit and take a cursor, or declare how many items a partition has.",
    source="ME17",
)
def unbounded_query(design: Design) -> Iterator[DesignProblem]:
    """A query without a limit costs more with every item that its partition gets, up to 1 MB a page."""
    for pattern, steps in explain_all(design):
        for step in steps:
            read = find_read(step)
            if not isinstance(read, Query) or read.page_limit is not None or _is_narrow(read):
                continue
            schemas = find_schemas(step) or ()
            expected = _expected_items(design, pattern, read, schemas)
            whole = "counts" if isinstance(step.request, Count) else "reads"
            if expected is None:
                growing = next((name for each in schemas if (name := _grows(read, each))), None)
                if growing is not None:
                    fact = f"It {whole} a partition that grows with time, by {growing}"
                    yield DesignProblem(pattern, f"{fact}, without a limit.")
            elif expected > _PAGE_ITEMS:
                fact = f"It {whole} a partition of {expected:,.0f} items"
                yield DesignProblem(pattern, f"{fact}, without a limit.")


def _is_narrow(query: Query[Any]) -> bool:
    """Return whether a query is for one item, or for a range that its caller ends."""
    keys = query.keys
    if keys.open_part is None or keys.is_limited:
        limits = None if keys.range is None else str(keys.range)
        return limits is None or ">=" not in limits
    return False


def _expected_items(
    design: Design, pattern: AnyPattern, query: Query[Any], schemas: tuple[EntitySchema, ...]
) -> float | None:
    """Return how many items a query is expected to read; None if that is unknown."""
    profile = design.profile.patterns[pattern.name]
    if design.profile.sample.source == "database" and profile.runs:
        return profile.items_read
    if query.index is not None:
        return None
    counts = [design.workload.volumes[each.name].per_partition for each in schemas]
    known = [each for each in counts if each is not None]
    return sum(known) if known else None


def _grows(query: Query[Any], schema: EntitySchema) -> str | None:
    """Return the field of time, or of an id with a time, that the entity's sort key begins with."""
    if schema.ttl_field is not None and schema.ttl_field.is_required:
        return None  # its items go again
    parts = schema.keys if query.index is None else schema.index_keys.get(query.index.name, ())
    first = (query.table.key if query.index is None else query.index.key).partition
    names = [name for part in parts[len(first) :] for name in part.fields]
    name = next((each for each in names if each not in query.keys.known), None)
    if name is None:
        return None
    field = schema.fields[name]
    if field.accepts_none and not field.has_mark(TimeOfCreation):
        return None  # items leave a sparse index when they lose the field
    kind = find_type(field.annotation)
    is_time = isinstance(kind, type) and issubclass(kind, Ulid | datetime | date)
    return f"{schema.name}.{name}" if is_time else None


@rule(
    "P03",
    "Reads much more than it returns",
    severity=Severity.WARNING,
    fix="Store what is read together under keys of its own, or in a sparse index.",
    source="ME18",
)
def reads_more_than_it_returns(design: Design) -> Iterator[DesignProblem]:
    """Items that are read and then left out cost as much as those that are returned."""
    for pattern, steps in explain_all(design):
        reading = [step for step in steps if find_read(step) is not None or find_gets(step)]
        if len(reading) != 1 or find_read(reading[0]) is None or reading[0].scans:
            continue  # P01 is about scans; what several reads return is not known by read
        step = reading[0]
        message = _find_waste(design, pattern, find_schemas(step))
        if message is None and isinstance(step.request, First):
            query = step.request.query
            if step.filters and isinstance(query, Query) and query.keys.open_part is not None:
                message = "It reads item by item until a filter lets one through."
        if message is not None and not isinstance(step.request, Count):
            yield DesignProblem(pattern, message)


def _find_waste(
    design: Design, pattern: AnyPattern, wanted: tuple[EntitySchema, ...] | None
) -> str | None:
    """Return a sentence about what the runs of a pattern read and did not return, if it is much."""
    profile = design.profile.patterns[pattern.name]
    runs = [run for run in profile.runs if run.returned]
    if not runs:
        return None
    read = profile.items_read
    returned = profile.items_returned
    others: dict[str, int] = {}
    names = None if wanted is None else {each.name for each in wanted}
    for run in runs:
        for call in run.calls:
            for item in call.items if call.is_read else ():
                name = name_entity(design.table, item)
                if names is not None and name is not None and name not in names:
                    others[name] = others.get(name, 0) + 1
    foreign = sum(others.values()) / len(runs)
    # Which items a filter lets through is known of real data only.
    is_real = design.profile.sample.source == "database"
    extra = read - returned if is_real else foreign
    if extra < _WASTE_ITEMS or returned + extra < _WASTE_FACTOR * returned:
        return None
    listed = ", ".join(sorted(others))
    why = f": its keys also find {listed}" if foreign > extra / 2 else ": it filters"
    return f"It reads {returned + extra:,.0f} items to return {returned:,.0f}{why}."


@rule(
    "P04",
    "No declared rate or size",
    severity=Severity.NOTE,
    fix='Declare rate="…" and expect(items=…), or write them into workload.toml.',
    source="ME2",
)
def undeclared_use(design: Design) -> Iterator[DesignProblem]:
    """Without rates and sizes, neither cost nor hot keys can be forecast."""
    table, workload = design.table, design.workload
    volumes = workload.volumes if design.data is None else dict[str, Volume]()
    missing = {
        "pattern": [name for name, use in workload.patterns.items() if use.rate is None],
        "entity": [name for name, volume in volumes.items() if volume.items is None],
    }
    facts = {"pattern": ("patterns", "rate"), "entity": ("entities", "number of items")}
    for kind, names in missing.items():
        every = len(table.patterns if kind == "pattern" else table.entities)
        plural, fact = facts[kind]
        if names and len(names) == every:
            yield DesignProblem(table, f"No {kind} has a known {fact}.")
        elif names:
            listed = ", ".join(names)
            message = f"{len(names)} of {every} {plural} have no known {fact}: {listed}."
            yield DesignProblem(table, message)


@rule(
    "P05",
    "Entity never read, or never written",
    severity=Severity.NOTE,
    fix="Declare the pattern that does; if another program does it, ignore the rule and say which.",
    source="AR",
)
def unused_entity(design: Design) -> Iterator[DesignProblem]:
    """An entity that nothing reads is stored and paid for in vain, or its pattern is missing."""
    table = design.table
    explained = {pattern.name: find_steps(pattern) for pattern in table.patterns.values()}
    if not explained or None in explained.values():
        return  # what a pattern does that cannot be explained is unknown
    read: set[str] = set()
    written: set[str] = set()
    for steps in explained.values():
        for step in steps or ():
            schemas = find_schemas(step)
            read |= {*table.entities} if schemas is None else {each.name for each in schemas}
            for write in find_writes(step):
                if writes_entity(write):
                    written.add(write.schema.name)
                if isinstance(write, Update) or not writes_entity(write):
                    # An update returns what it has changed, and a check depends on what it finds.
                    read.add(write.schema.name)
    for handler in table.handlers.values():
        read |= {each.__name__ for each in handler.entities} or {*table.entities}
    for name, schema in table.entities.items():
        if name not in read:
            yield DesignProblem(schema, "No pattern reads it.")
        # What a handler writes is known when it runs.
        if name not in written and not table.handlers:
            yield DesignProblem(schema, "No pattern writes it.")


@rule(
    "P06",
    "Habitual strong reads",
    severity=Severity.WARNING,
    fix="Read with eventual consistency where a second's lag does no harm: leave out consistent().",
    source="ME15",
)
def habitual_strong_reads(design: Design) -> Iterator[DesignProblem]:
    """A strongly consistent read costs twice the units of an eventually consistent one."""
    readers = {pattern.name: steps for pattern, steps in explain_all(design) if _only_reads(steps)}
    strong = [
        name
        for name, steps in readers.items()
        # One that follows an index, which may lag, checks what the index said.
        if all(map(is_strong, steps)) and not any(step.lags for step in steps)
    ]
    if len(strong) >= _HABIT and 2 * len(strong) > len(readers):
        fact = f"{len(strong)} of {len(readers)} patterns that read are strongly consistent"
        yield DesignProblem(design.table, f"{fact}: {', '.join(strong)}.")


def _only_reads(steps: Steps) -> bool:
    return not any(find_writes(step) for step in steps)


@rule(
    "P09",
    "Five or more requests",
    severity=Severity.WARNING,
    fix="Store together what is read together, or read with one query, a batch or a transaction.",
    source="AR",
)
def many_requests(design: Design) -> Iterator[DesignProblem]:
    """Requests that follow each other add up their latencies, and any of them can fail."""
    for pattern, steps in explain_all(design):
        if len(steps) >= _MANY_REQUESTS:
            made = ", ".join(step.operation for step in steps)
            yield DesignProblem(pattern, f"It makes {len(steps)} requests in a row: {made}.")


@rule(
    "P13",
    "One pattern is over 40 % of the bill",
    severity=Severity.NOTE,
    fix="Begin here to save: smaller items, a projection, a limit, fewer indexes, or a cache.",
    source="†",
    needs=frozenset({"rates"}),
)
def dominant_pattern(design: Design) -> Iterator[DesignProblem]:
    """What one pattern wastes is most of what the table wastes."""
    forecast = forecast_cost(design.profile, read_prices())
    called = [each for each in forecast.patterns if each.calls]
    if len(called) < _FEW_PATTERNS or not forecast.month_usd:
        return
    for each in called:
        share = each.month_usd / forecast.month_usd
        if share > _DOMINANT_SHARE:
            fact = f"It costs {share:.1%} of the month: ${each.month_usd:,.2f}"
            message = f"{fact} of ${forecast.month_usd:,.2f}."
            yield DesignProblem(design.table.patterns[each.name], message)
