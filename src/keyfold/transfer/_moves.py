"""Copying a table, dumping it into a file, and loading it from one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from keyfold.errors import OptionInvalid, TableMissing
from keyfold.model import Table
from keyfold.store import Executor
from keyfold.transfer._calls import CallEnvironment, Caller, describe_table, list_tables
from keyfold.transfer._checkpoints import Checkpoint, locked
from keyfold.transfer._csv import CsvSource, CsvTarget, is_csv
from keyfold.transfer._entities import Classifier
from keyfold.transfer._files import ExportTarget, LinesTarget
from keyfold.transfer._job import Move, Summary
from keyfold.transfer._lines import open_lines_source
from keyfold.transfer._making import ensure_declared, ensure_like, has_table, read_ttl
from keyfold.transfer._progress import ProgressMeter, Watch, ignore
from keyfold.transfer._sources import ItemSource, TableSource
from keyfold.transfer._targets import TableTarget, Target

Form = Literal["lines", "export", "csv"]
_MOST_SEGMENTS = 1_000
# Those that read, and those that write, whose capacity is counted apart.
_Callers = tuple[list[Caller], list[Caller]]


@dataclass(frozen=True, slots=True)
class TableLocation:
    """A table in a database; `url` is what messages and checkpoints call the database."""

    executor: Executor
    url: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a job is done.

    `rejects` is the side file for what is not taken, and `checkpoint` the file by which the same
    job, started again, goes on; without one it cannot. It is kept after each page of a scan, which
    has `page_items` at most, or as many as the service gives. `read_rate` and `write_rate` are capacity
    units a second. `merges` lets a table hold items already, `creates` lets it be made, and
    `verifies` compares source and target in the end. `watch` is called after each batch.
    `keeps` leaves the checkpoint when the job is done, for one that is part of a larger one: done
    again, it is verified again and nothing more.
    """

    rejects: Path
    checkpoint: Path | None = None
    segments: int = 4
    page_items: int | None = None
    read_rate: float | None = None
    write_rate: float | None = None
    merges: bool = False
    creates: bool = False
    verifies: bool = True
    keeps: bool = False
    watch: Watch = ignore
    surroundings: CallEnvironment = field(default_factory=CallEnvironment)

    def __post_init__(self) -> None:
        if not 1 <= self.segments <= _MOST_SEGMENTS:
            raise OptionInvalid("segments", self.segments, f"Give 1 to {_MOST_SEGMENTS}.")
        for name in ("read_rate", "write_rate"):
            rate = getattr(self, name)
            if rate is not None and not rate > 0:
                raise OptionInvalid(name, rate, "Give capacity units a second, more than none.")


def copy_table(
    source: TableLocation, target: TableLocation, options: Options, *, declared: Table | None = None
) -> Summary:
    """Copy a table's items into another, be that in the same database or not.

    With a declaration, items that do not fit it go to the side file. A table that is not there
    is made, if the options say so: by the declaration, or like the source. Raises TableMissing,
    TargetNotEmpty, CheckpointUnusable, FileTaken.
    """
    reader = Caller(source.executor, options.surroundings, options.read_rate)
    writer = Caller(target.executor, options.surroundings, options.write_rate)
    described = describe_table(reader, source.url, source.table)
    ttl = read_ttl(reader, source.table)
    job = {"command": "copy", "declared": _describe(declared)}
    with locked(options.checkpoint):
        read = open_source(reader, source, options)
        if options.creates:
            like = {**described, "TableName": target.table}
            if declared is not None:
                ensure_declared(writer, options.surroundings, declared, target.table)
            else:
                ensure_like(writer, options.surroundings, like, ttl)
        checker = Caller(target.executor, options.surroundings, options.read_rate)
        written = _open_target(writer, checker, target, options)
        callers = ([reader, checker], [writer])
        return _move(read, written, options, declared, ttl, job, callers, target.table)


def dump_table(
    source: TableLocation,
    path: Path,
    options: Options,
    *,
    form: Form = "lines",
    declared: Table | None = None,
    entity: str | None = None,
) -> Summary:
    """Write a table's items into a file, or a folder, which appears whole or not at all.

    `form` is `"lines"` of DynamoDB's JSON, compressed if the name ends in `.gz`; `"export"`, the
    layout of DynamoDB's exports to S3; or `"csv"`, which needs a declaration. With `entity`, the
    others are left out, and CSV is one file. Raises TableMissing, FileTaken, CheckpointUnusable.
    """
    reader = Caller(source.executor, options.surroundings, options.read_rate)
    described = describe_table(reader, source.url, source.table)
    job = {"command": "dump", "declared": _describe(declared), "entity": entity}
    with locked(options.checkpoint):
        read = open_source(reader, source, options)
        target: Target
        match form:
            case "lines":
                target = LinesTarget(path, is_compressed=path.suffix == ".gz")
            case "export":
                arn = described.get("TableArn", source.table)
                target = ExportTarget(path, table_arn=arn)
            case "csv":
                table = _need_declaration(declared, path)
                target = CsvTarget(path, table, entity)
        ttl = read_ttl(reader, source.table)
        callers: _Callers = ([reader], [])
        _check_entity(declared, entity)
        return _move(read, target, options, declared, ttl, job, callers, source.table, entity)


def load_table(
    path: Path,
    target: TableLocation,
    options: Options,
    *,
    form: Form | None = None,
    declared: Table | None = None,
    entity: str | None = None,
) -> Summary:
    """Write the items of a file, or of a folder, into a table.

    `form` is as for `dump_table`; None finds out. With a declaration, items that do not fit it
    go to the side file, and a table that is not there can be made. `entity` says of which a file
    of CSV is. Raises SourceUnreadable, TableMissing, TargetNotEmpty, CheckpointUnusable.
    """
    writer = Caller(target.executor, options.surroundings, options.write_rate)
    job = {"command": "load", "declared": _describe(declared), "entity": entity}
    with locked(options.checkpoint):
        _check_entity(declared, entity)
        found = form or ("csv" if is_csv(path, declared.entities if declared else {}) else "lines")
        source: ItemSource
        if found == "csv":
            source = CsvSource(path, _need_declaration(declared, path), entity)
        else:
            source = open_lines_source(path)
        if options.creates and declared is not None:
            ensure_declared(writer, options.surroundings, declared, target.table)
        elif not has_table(writer, target.table):
            known = ", ".join(list_tables(writer)) or "none"
            fact = f"there is no table {target.table!r}; it has {known}"
            advice = "Name one of those, or let it be made by its declaration: --table."
            raise TableMissing(target.url, fact, advice)
        checker = Caller(target.executor, options.surroundings, options.read_rate)
        written = _open_target(writer, checker, target, options)
        ttl = read_ttl(writer, target.table)
        only = entity if found != "csv" else None
        callers = ([checker], [writer])
        return _move(source, written, options, declared, ttl, job, callers, target.table, only)


def open_source(reader: Caller, source: TableLocation, options: Options) -> TableSource:
    """Return the source that a table is."""
    return TableSource(
        reader,
        source.url,
        source.table,
        segments=options.segments,
        page_items=options.page_items,
    )


def _open_target(
    writer: Caller, checker: Caller, target: TableLocation, options: Options
) -> TableTarget:
    return TableTarget(
        writer,
        checker,
        target.url,
        target.table,
        segments=options.segments,
        is_merged=options.merges,
    )


def _move(
    source: ItemSource,
    target: Target,
    options: Options,
    declared: Table | None,
    ttl: str | None,
    job: Mapping[str, Any],
    callers: _Callers,
    table: str,
    only: str | None = None,
) -> Summary:
    if declared is not None:
        declared.check()
    checkpoint = Checkpoint(
        options.checkpoint,
        {**job, **source.describe(), **target.describe()},
        rejects=options.rejects,
        started_at=options.surroundings.now(),
    )
    state = checkpoint.state
    readers, writers = callers
    clock = options.surroundings.clock
    meter = ProgressMeter(clock, readers=readers, writers=writers, watch=options.watch)
    move = Move(
        source=source,
        target=target,
        classifier=Classifier(declared, ttl, state.started_at),
        checkpoint=checkpoint,
        meter=meter,
        threads=options.segments,
        is_merged=options.merges,
        verifies=options.verifies,
        keeps=options.keeps,
        only=only,
    )
    comparisons = move.run()
    return summarise_job(table, checkpoint, meter, comparisons=comparisons)


def summarise_job(
    table: str, checkpoint: Checkpoint, meter: ProgressMeter, *, comparisons: tuple[Any, ...] = ()
) -> Summary:
    """Return how a job has ended."""
    state = checkpoint.state
    entities: dict[str, int] = {}
    for tallies in (state.tallies.lasting, state.tallies.expired):
        for entity, tally in sorted(tallies.items()):
            entities[entity] = entities.get(entity, 0) + tally.count
    return Summary(
        table=table,
        items=state.items,
        size_bytes=state.size_bytes,
        rejects=state.rejects,
        rejects_file=str(checkpoint.rejects_path) if state.rejects else None,
        seconds=meter.seconds,
        read_units=meter.read_units,
        write_units=meter.write_units,
        is_resumed=checkpoint.is_resumed,
        comparisons=comparisons,
        entities=entities,
    )


def _describe(table: Table | None) -> str | None:
    return None if table is None else table.name


def _need_declaration(table: Table | None, path: Path) -> Table:
    if table is None:
        advice = f"{path} is CSV, which needs the table's declaration."
        raise OptionInvalid("declared", None, advice)
    return table


def _check_entity(table: Table | None, entity: str | None) -> None:
    if entity is None:
        return
    if table is None:
        raise OptionInvalid("entity", entity, "It needs the table's declaration.")
    table.check()
    if entity not in table.entities:
        known = ", ".join(table.entities)
        raise OptionInvalid("entity", entity, f"{table.name} has {known}.")
