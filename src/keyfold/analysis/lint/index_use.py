"""Rules about how patterns use indexes: I01 to I04, I06, I09 and I11."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from keyfold.analysis.lint._explained import (
    AnyPattern,
    explain_all,
    field_of,
    find_steps,
    find_updates,
)
from keyfold.analysis.lint._findings import Severity
from keyfold.analysis.lint._rules import Design, DesignProblem, rule
from keyfold.analysis.profiles import MeasuredRun
from keyfold.analysis.scratch import RecordedCall
from keyfold.analysis.sizes import project
from keyfold.api import TableKeyNames
from keyfold.capacity import EntryChange, find_index_write
from keyfold.errors import MissingKeyPart, PatternFailed, PatternUnexplained, QueryInvalid
from keyfold.expressions import SetTo
from keyfold.model import Index, Query, Request, Scan, Table
from keyfold.model._index_reads import check_readable
from keyfold.model._requests import DerivedRequest
from keyfold.policy.accesses import read_accesses
from keyfold.values import item_size_bytes

# An index is worth narrowing if patterns read at most this share of its bytes.
_LITTLE = 0.5
# Fetching one item after a lookup is what a keys-only index is for; fetching several is not.
_SEVERAL = 2
# A filter is judged by at least this many items.
_FEWEST_READ = 4


@rule(
    "I01",
    "Index used by no pattern",
    severity=Severity.WARNING,
    fix="Remove it, or declare the pattern that reads it.",
    source="AR",
)
def unused_index(design: Design) -> Iterator[DesignProblem]:
    """An index costs a write for every item that it has, and its storage, read or not."""
    table = design.table
    if not table.patterns or any(not _is_known(design, each) for each in table.patterns.values()):
        return
    used = {step.index for _, steps in explain_all(design) for step in steps}
    used |= {call.index for _, call in _list_reads(design)}
    for index in table.indexes:
        if index.name not in used:
            yield DesignProblem(index, "No pattern reads it.")


def _is_known(design: Design, pattern: AnyPattern) -> bool:
    """Return whether it is known which indexes a pattern reads."""
    is_measured = bool(design.profile.patterns[pattern.name].runs)
    return is_measured or find_steps(pattern) is not None


def _list_reads(design: Design) -> Iterator[tuple[str, RecordedCall]]:
    """Yield the reads of all runs, with the names of their patterns."""
    for name, profile in design.profile.patterns.items():
        for run in profile.runs:
            for call in run.calls:
                if call.is_read:
                    yield name, call


@rule(
    "I02",
    "Projects all where patterns read little",
    severity=Severity.NOTE,
    fix='Project what is read, as in project=["name", "status"] or project="keys".',
    source="ME7",
)
def wide_projection(design: Design) -> Iterator[DesignProblem]:
    """Each change of an item is written to the index too, although nobody reads there what changed."""
    for index in design.table.indexes:
        if index.project != "all":
            continue
        read = _attributes_read(design, index)
        if not read:
            continue
        entries = [
            entry
            for item in design.profile.items
            if (entry := project(design.table, index, item)) is not None
        ]
        kept = read.union(design.table.key.names, index.key.names)
        whole = sum(map(item_size_bytes, entries))
        narrow = sum(
            item_size_bytes({name: each[name] for name in each if name in kept}) for each in entries
        )
        if entries and narrow <= _LITTLE * whole:
            share = f"{narrow / whole:.0%} of its bytes"
            fact = f"It projects all, and patterns read {share}: {', '.join(sorted(read))}"
            yield DesignProblem(index, f"{fact}.")


def _attributes_read(design: Design, index: Index) -> set[str] | None:
    """Return the attributes that patterns read of an index; None if one reads whole items."""
    found: set[str] = set()
    measured: set[str] = set()
    for name, call in _list_reads(design):
        if call.index != index.name:
            continue
        measured.add(name)
        for access in read_accesses(
            call.operation, dict(call.request), lambda _: _key_names(design.table)
        ):
            if access.attributes is None:
                return None
            found |= access.attributes
    for pattern, steps in explain_all(design):
        reads = any(step.index == index.name for step in steps)
        if reads and pattern.name not in measured:
            return None
    return found


def _key_names(table: Table) -> TableKeyNames:
    indexes = {index.name: index.key.partition for index in table.indexes}
    return TableKeyNames(table.key.names[0], next(iter(table.key.sort), None), indexes)


@rule(
    "I03",
    "Projection lacks what is returned",
    severity=Severity.WARNING,
    fix="Project the attributes that the pattern returns, or all of them.",
    source="ME7",
)
def narrow_projection(design: Design) -> Iterator[DesignProblem]:
    """Each item that the index finds has to be read from the table as well."""
    indexes = {index.name: index for index in design.table.indexes}
    for name, pattern in design.table.patterns.items():
        refused = _find_unreadable(pattern)
        if refused is not None:
            yield DesignProblem(pattern, f"It cannot run: {refused}.")
            continue
        runs = design.profile.patterns[name].runs
        fetched = [each for run in runs for each in _find_fetches(run, indexes)]
        if fetched:
            index, count = max(fetched, key=lambda each: each[1])
            fact = f"It reads {count} items of index {index}, then gets each from the table"
            yield DesignProblem(pattern, f"{fact}.")


def _find_unreadable(pattern: AnyPattern) -> str | None:
    """Return why the index of a pattern's first query does not hold what it returns."""
    try:
        request: Request[Any] = pattern.placeholder_request()
    except (PatternFailed, PatternUnexplained):
        return None
    while isinstance(request, DerivedRequest):
        request = request.source
    if not isinstance(request, Query | Scan):
        return None
    try:
        check_readable(cast("Query[Any] | Scan[Any]", request))
    except QueryInvalid as error:
        return error.fact
    return None


def _find_fetches(run: MeasuredRun, indexes: dict[str, Index]) -> Iterator[tuple[str, int]]:
    """Yield the indexes of which several items were got from the table next, with their number."""
    for one, other in zip(run.calls, run.calls[1:], strict=False):
        if one.index is None or indexes[one.index].project == "all":
            continue
        is_fetch = other.is_read and other.operation in ("GetItem", "BatchGetItem")
        if is_fetch and other.index is None and other.returned >= _SEVERAL:
            yield one.index, other.returned


@rule(
    "I04",
    "Index key that changes",
    severity=Severity.NOTE,
    fix="Leave fields that change often out of the index's key, or count the two writes in.",
    source="ME8",
)
def changing_key(design: Design) -> Iterator[DesignProblem]:
    """A change of an index's key deletes an entry and puts another: two writes."""
    for index in design.table.indexes:
        changes = [*_find_moves(design, index), *_find_declared_moves(design, index)]
        if changes:
            patterns = dict.fromkeys(repr(pattern) for pattern, _ in changes)
            names = dict.fromkeys(name for _, name in changes)
            verb = "moves" if len(patterns) == 1 else "move"
            fact = f"{', '.join(patterns)} {verb} entries, by {', '.join(names)}"
            yield DesignProblem(index, f"{fact}.")


def _find_moves(design: Design, index: Index) -> Iterator[tuple[str, str]]:
    """Yield the patterns whose runs change the key of an entry, with the attributes changed."""
    for pattern, profile in design.profile.patterns.items():
        for call in (call for run in profile.runs for call in run.calls):
            for before, after in call.changes:
                written = find_index_write(before, after, index.key.names)
                if written.change is EntryChange.MOVED and before is not None and after is not None:
                    for name in index.key.names:
                        if before[name] != after[name]:
                            yield pattern, name


def _find_declared_moves(design: Design, index: Index) -> Iterator[tuple[str, str]]:
    """Yield the patterns that set a field of the key of all entries, with the attributes changed."""
    for pattern, update in find_updates(design):
        names = {field_of(update, each) for each in update.actions if isinstance(each, SetTo)}
        # What was None before had no entry: it gets one.
        optional = {each.name for each in update.schema.fields.values() if each.accepts_none}
        for part in update.schema.index_keys.get(index.name, ()):
            if not names.isdisjoint({*part.fields} - optional):
                yield pattern.name, part.attribute


@rule(
    "I06",
    "Skipped part of a multi-attribute key",
    severity=Severity.ERROR,
    fix="Pass all parts of the partition key, and those of the sort key from the left.",
    source="ME5",
)
def skipped_part(design: Design) -> Iterator[DesignProblem]:
    """A query takes the attributes of a key from the left, and a range of the last one only."""
    wide = [each for each in design.table.indexes if len(each.key.names) > _SEVERAL]
    owners = {f"{design.table.name}.{index.name}": index for index in wide} | {
        f"{name} by {index.name}": index for index in wide for name in design.table.entities
    }
    for pattern in design.table.patterns.values():
        error = _find_cause(pattern)
        if isinstance(error, MissingKeyPart) and error.owner in owners:
            index, given = owners[error.owner], ", ".join(error.given) or "nothing"
            fact = f"It cannot run: {index.name} needs {error.part!r} before; it passes {given}"
            yield DesignProblem(pattern, f"{fact}.")


@rule(
    "I09",
    "Filter that drops half or more",
    severity=Severity.WARNING,
    fix="Make the index sparse: give only the wanted items its key, or put the field into the key.",
    source="ME6",
)
def dropping_filter(design: Design) -> Iterator[DesignProblem]:
    """Items that a filter drops are read and paid for, as those that it keeps."""
    if design.profile.sample.source == "generated":
        return  # what a filter keeps of generated items says nothing
    for name, pattern in design.table.patterns.items():
        calls = [
            call
            for each, call in _list_reads(design)
            if each == name and call.index is not None and "FilterExpression" in call.request
        ]
        read, kept = sum(each.scanned for each in calls), sum(each.returned for each in calls)
        if read >= _FEWEST_READ and kept <= _LITTLE * read:
            fact = f"Its filter keeps {kept:,} of {read:,} items of index {calls[0].index}"
            yield DesignProblem(pattern, f"{fact}.")


@rule(
    "I11",
    "Strong read of a global index",
    severity=Severity.ERROR,
    fix="Read the table, or a local index, or live with the lag: leave out consistent().",
    source="DV",
)
def strong_index_read(design: Design) -> Iterator[DesignProblem]:
    """A global index lags behind the table, and DynamoDB refuses strongly consistent reads of it."""
    for pattern in design.table.patterns.values():
        error = _find_cause(pattern)
        if isinstance(error, QueryInvalid) and "cannot be read consistently" in error.fact:
            yield DesignProblem(pattern, f"It cannot run: {error.fact}.")


def _find_cause(pattern: AnyPattern) -> BaseException | None:
    """Return the error of a pattern that cannot run."""
    try:
        pattern.explain()
    except (PatternFailed, PatternUnexplained) as error:
        return error.__cause__
    return None
