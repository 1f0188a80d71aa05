"""The public functions that copy a table, dump it to a file, and load it from one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from keyfold.errors import OptionInvalid, TableMissing
from keyfold.model import Table
from keyfold.store import Executor
from keyfold.transfer._calls import CallEnvironment, MeteredCaller, describe_table, list_tables
from keyfold.transfer._checkpoints import Checkpoint, locked
from keyfold.transfer._csv import CsvSource, CsvTarget, is_csv
from keyfold.transfer._entities import Classifier
from keyfold.transfer._files import ExportTarget, LinesTarget
from keyfold.transfer._job import RENEWED, Summary, TransferJob
from keyfold.transfer._json_items import ItemReader
from keyfold.transfer._json_sources import JsonSource, open_json_source
from keyfold.transfer._progress import ProgressCallback, ProgressMeter, ignore_progress
from keyfold.transfer._sources import ItemSource, TableSource
from keyfold.transfer._table_creation import (
    enable_stream_like,
    ensure_declared,
    ensure_like,
    has_table,
    read_ttl,
)
from keyfold.transfer._targets import TableTarget, Target

Form = Literal["lines", "export", "csv"]
LoadForm = Literal["lines", "json", "export", "csv"]
_MAX_SEGMENTS = 1_000
# Callers that read and callers that write: their capacity is counted separately.
_Callers = tuple[list[MeteredCaller], list[MeteredCaller]]


@dataclass(frozen=True, slots=True)
class TableLocation:
    """A table in a database; messages and checkpoints name the database by `url`."""

    executor: Executor
    url: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a job.

    `rejects` is the file that rejected items are written to. `checkpoint` is the file from which
    the same job, started again, resumes; without it, a job starts over. It is saved after each
    page of a scan; a page has at most `page_items` items, by default as many as the service
    returns. `read_rate` and `write_rate` are limits in capacity units per second.

    `merges` allows a target table that already holds items, `creates` creates a missing target
    table, and `verifies` compares source and target at the end. `watch` is called after each
    batch. `keeps_checkpoint` leaves the checkpoint in place when the job is done, for a job that
    is one of several: run again, it only verifies.
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
    keeps_checkpoint: bool = False
    watch: ProgressCallback = ignore_progress
    environment: CallEnvironment = field(default_factory=CallEnvironment)

    def __post_init__(self) -> None:
        if not 1 <= self.segments <= _MAX_SEGMENTS:
            raise OptionInvalid("segments", self.segments, f"Give 1 to {_MAX_SEGMENTS}.")
        for name in ("read_rate", "write_rate"):
            rate = getattr(self, name)
            if rate is not None and not rate > 0:
                raise OptionInvalid(name, rate, "Give capacity units per second, above 0.")


def copy_table(
    source: TableLocation, target: TableLocation, options: Options, *, declared: Table | None = None
) -> Summary:
    """Copy a table's items to another table, in the same database or in another one.

    With a declaration, items that do not match it go to the rejects file, as do those whose index
    keys or computed fields contradict their fields, and those with a unique value that another item
    has; guards are made for the others. If `options.creates` is set, a missing target table is
    created: from the declaration, or with the source's schema.
    Raises TableMissing, TargetNotEmpty, CheckpointUnusable, FileTaken, and WriteRefused for a
    target that keeps values unique, if there is no declaration.
    """
    reader = MeteredCaller(source.executor, options.environment, options.read_rate)
    writer = MeteredCaller(target.executor, options.environment, options.write_rate)
    described = describe_table(reader, source.url, source.table)
    ttl = read_ttl(reader, source.table)
    description = {"command": "copy", "declared": _name_of(declared)}
    with locked(options.checkpoint):
        read = open_source(reader, source, options)
        is_made_alike = False
        if options.creates and declared is not None:
            ensure_declared(writer, declared, target.table)
        elif options.creates:
            is_made_alike = ensure_like(writer, {**described, "TableName": target.table}, ttl)
        checker = MeteredCaller(target.executor, options.environment, options.read_rate)
        written = _open_target(writer, checker, target, options, declared)
        callers = ([reader, checker], [writer])
        summary = _run_job(
            read, written, options, declared, ttl, description, callers, target.table
        )
        # A resumed job may have created the table in an earlier run.
        if is_made_alike or (summary.is_resumed and options.creates and declared is None):
            enable_stream_like(writer, described, target.table)
        return summary


def dump_table(
    source: TableLocation,
    path: Path,
    options: Options,
    *,
    form: Form = "lines",
    declared: Table | None = None,
    entity: str | None = None,
) -> Summary:
    """Write a table's items to a file or a folder, which appears only once it is complete.

    `form` is `"lines"` (DynamoDB JSON, one item per line, compressed if the name ends in `.gz`),
    `"export"` (a folder laid out like DynamoDB's exports to S3) or `"csv"`, which needs a
    declaration. `entity` limits the dump to one entity; CSV is then a single file. Raises
    TableMissing, FileTaken, CheckpointUnusable.
    """
    reader = MeteredCaller(source.executor, options.environment, options.read_rate)
    described = describe_table(reader, source.url, source.table)
    description = {"command": "dump", "declared": _name_of(declared), "entity": entity}
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
                table = _require_declaration(declared, path)
                target = CsvTarget(path, table, entity)
        ttl = read_ttl(reader, source.table)
        callers: _Callers = ([reader], [])
        _check_entity(declared, entity)
        return _run_job(
            read, target, options, declared, ttl, description, callers, source.table, entity
        )


def load_table(
    path: Path,
    target: TableLocation,
    options: Options,
    *,
    form: LoadForm | None = None,
    declared: Table | None = None,
    entity: str | None = None,
    as_is: bool = False,
) -> Summary:
    """Write the items of a file or a folder to a table.

    `form` is as for `dump_table`, or `"json"`: an array of items, or items one after another. None
    detects it by the content of each file. The items are DynamoDB JSON or plain JSON.

    With a declaration, items that do not match it go to the rejects file, as do those whose keys or
    computed fields contradict their fields, and those with a unique value that another item has;
    guards are made for the others, and a missing table can be created. Items of JSON files are
    written as their entities store them now, as a backfill would; `as_is` writes them as they are.
    `entity` names the entity of a CSV file; for other files, only its items are loaded. Raises
    SourceUnreadable, TableMissing, TargetNotEmpty, CheckpointUnusable, and WriteRefused for a table
    that keeps values unique, if there is no declaration.
    """
    writer = MeteredCaller(target.executor, options.environment, options.write_rate)
    description: dict[str, Any] = {"command": "load", "declared": _name_of(declared)}
    description |= {"entity": entity, "as_is": as_is}
    with locked(options.checkpoint):
        _check_entity(declared, entity)
        if not options.creates or declared is None:
            _require_table(writer, target)
        found = form or ("csv" if is_csv(path, declared.entities if declared else {}) else "lines")
        source: ItemSource
        if found == "csv":
            source = CsvSource(path, _require_declaration(declared, path), entity)
        else:
            source = _open_json(path, writer, target, form, declared)
        if options.creates and declared is not None:
            ensure_declared(writer, declared, target.table)
        checker = MeteredCaller(target.executor, options.environment, options.read_rate)
        written = _open_target(writer, checker, target, options, declared)
        ttl = read_ttl(writer, target.table)
        only = entity if found != "csv" else None
        callers = ([checker], [writer])
        return _run_job(
            source,
            written,
            options,
            declared,
            ttl,
            description,
            callers,
            target.table,
            only,
            renews=not as_is and found != "csv",
        )


def _require_table(caller: MeteredCaller, target: TableLocation) -> None:
    if not has_table(caller, target.table):
        known = ", ".join(list_tables(caller)) or "none"
        fact = f"there is no table {target.table!r}; it has {known}"
        advice = "Name one of those, or create it from its declaration with --table."
        raise TableMissing(target.url, fact, advice)


def _open_json(
    path: Path,
    caller: MeteredCaller,
    target: TableLocation,
    form: LoadForm | None,
    declared: Table | None,
) -> JsonSource:
    if declared is not None:
        declared.check()
        definition = declared.to_dynamodb()
    else:
        definition = describe_table(caller, target.url, target.table)
    reader = ItemReader.for_table(definition, declared)
    # An export is a folder of files of lines.
    file_form = form if form is None or form == "json" else "lines"
    return open_json_source(path, read_item=reader, form=file_form)


def open_source(reader: MeteredCaller, source: TableLocation, options: Options) -> TableSource:
    """Return a source that scans a table."""
    return TableSource(
        reader,
        source.url,
        source.table,
        segments=options.segments,
        page_items=options.page_items,
    )


def _open_target(
    writer: MeteredCaller,
    checker: MeteredCaller,
    target: TableLocation,
    options: Options,
    declared: Table | None,
) -> TableTarget:
    return TableTarget(
        writer,
        checker,
        target.url,
        target.table,
        segments=options.segments,
        is_merged=options.merges,
        declared=declared,
    )


def _run_job(
    source: ItemSource,
    target: Target,
    options: Options,
    declared: Table | None,
    ttl: str | None,
    description: Mapping[str, Any],
    callers: _Callers,
    table: str,
    only: str | None = None,
    *,
    renews: bool = False,
) -> Summary:
    if declared is not None:
        declared.check()
    checkpoint = Checkpoint(
        options.checkpoint,
        {**description, **source.describe(), **target.describe()},
        rejects=options.rejects,
        started_at=options.environment.clock(),
    )
    state = checkpoint.state
    readers, writers = callers
    monotonic = options.environment.monotonic
    meter = ProgressMeter(monotonic, readers=readers, writers=writers, watch=options.watch)
    job = TransferJob(
        source=source,
        target=target,
        classifier=Classifier(
            declared,
            ttl,
            state.started_at,
            checks_writes=isinstance(target, TableTarget),
            renews=renews,
        ),
        checkpoint=checkpoint,
        meter=meter,
        threads=options.segments,
        is_merged=options.merges,
        verifies=options.verifies,
        keeps_checkpoint=options.keeps_checkpoint,
        only=only,
    )
    comparisons = job.run()
    return summarise_job(table, checkpoint, meter, comparisons=comparisons)


def summarise_job(
    table: str, checkpoint: Checkpoint, meter: ProgressMeter, *, comparisons: tuple[Any, ...] = ()
) -> Summary:
    """Return the summary of a finished job."""
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
        renewed=state.counts.get(RENEWED, 0),
    )


def _name_of(table: Table | None) -> str | None:
    return None if table is None else table.name


def _require_declaration(table: Table | None, path: Path) -> Table:
    if table is None:
        advice = f"{path} is CSV, which needs the declaration of the table."
        raise OptionInvalid("declared", None, advice)
    return table


def _check_entity(table: Table | None, entity: str | None) -> None:
    if entity is None:
        return
    if table is None:
        raise OptionInvalid("entity", entity, "It needs the declaration of the table.")
    table.check()
    if entity not in table.entities:
        known = ", ".join(table.entities)
        raise OptionInvalid("entity", entity, f"{table.name} has {known}.")
