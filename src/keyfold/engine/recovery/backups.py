"""On-demand backups: the rows of a table at one point in time, kept in the same file.

A backup is a separate row set, and a record whose status is CREATING until the copy is complete.
The rows come from a snapshot taken when the backup was requested, and are copied in short
transactions, so that writers are not blocked. A process that dies meanwhile leaves a record whose
lease runs out; upkeep then removes it with its rows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, NotRequired, TypedDict, cast

import orjson

from keyfold.engine.arns import part_arn, read_arn, take_id
from keyfold.engine.context import EngineContext
from keyfold.engine.leases import extended_lease, has_expired
from keyfold.engine.metadata import parse_record
from keyfold.engine.recovery.copy_job import (
    RowsBody,
    create_copy,
    from_rows,
    read_batch,
    row_writer,
    to_rows,
)
from keyfold.engine.recovery.restore_job import is_being_restored
from keyfold.engine.storage import Snapshot, Storage, StorageReader, StorageWriter
from keyfold.engine.tables.catalog import read_body, take_number
from keyfold.engine.tables.extras import to_vector_definition
from keyfold.engine.tables.table import EngineTable, TableBody, Unreadable, build_table
from keyfold.errors import (
    BackupInUseException,
    BackupNotFoundException,
    KeyfoldError,
    TableInUseException,
    TableNotFoundException,
)

BACKUP_RECORD = "backup"
SYSTEM_BACKUP_DAYS = 35
DAY_SECONDS = 86_400

_IN_USE = (
    "There is another ongoing conflicting backup control plane operation on the table. "
    "The backup is either being created, deleted or restored to a table."
)


class BackupBody(TypedDict):
    """A backup as stored in the file."""

    id: str
    name: str
    type: str
    status: str
    created_at: float
    expires_at: NotRequired[float]
    # The definition of the table at that time, and the row set with its rows.
    table: TableBody
    rows: RowsBody
    items: int
    size_bytes: int
    # When the lease of the process that creates it ends, by the machine's clock.
    taken_until: float


_REQUIRED_FIELDS = frozenset(BackupBody.__annotations__) - {"expires_at"}


def create_backup(context: EngineContext, name: str, table_name: str) -> BackupBody:
    """Back up a table as of now; return the finished backup."""
    with context.storage.hold_snapshot() as snapshot:
        table = snapshot.read(lambda reader: require_source(reader, table_name))
        backup = context.storage.write(lambda writer: _begin(context, writer, name, table))
        try:
            _copy(context.storage, snapshot, backup)
        except BaseException:
            # If the disk is failing, this fails too, and upkeep removes the backup later.
            with suppress(KeyfoldError):
                context.storage.write(lambda writer: drop_backup(writer, backup))
            raise
    return backup


def require_source(reader: StorageReader, name: str, shown: str | None = None) -> TableBody:
    """Return the body of a table to back up, restore from or export; `shown` names it in errors.

    Raises TableNotFoundException, or TableInUseException while it is being created.
    """
    body = read_body(reader, name)
    if body is None:
        raise TableNotFoundException(f"Table not found: {shown or name}")
    if body["status"] == "CREATING":
        raise TableInUseException(f"Table is being created: {name}")
    return body


def _begin(
    context: EngineContext, writer: StorageWriter, name: str, table: TableBody
) -> BackupBody:
    for each in list_backups(writer):
        if each["status"] == "CREATING" and each["table"]["id"] == table["id"]:
            raise BackupInUseException(_IN_USE)
    now = context.clock()
    backup = BackupBody(
        id=take_id(context, writer, BACKUP_RECORD, now),
        name=name,
        type="USER",
        status="CREATING",
        created_at=now,
        table=table,
        rows=create_copy(writer, take_number(writer)),
        items=0,
        size_bytes=0,
        taken_until=extended_lease(),
    )
    _write(writer, backup)
    return backup


def _copy(storage: Storage, snapshot: Snapshot, backup: BackupBody) -> None:
    source, target = build_table(backup["table"]).rows, to_rows(backup["rows"])
    low: bytes | None = b""
    while low is not None:
        start = low
        rows, low = snapshot.read(lambda reader: read_batch(reader, source, start))  # noqa: B023 - run at once
        is_last = low is None

        def work(writer: StorageWriter) -> None:
            write_row = row_writer(writer, target)
            for row in rows:  # noqa: B023 - run at once
                write_row(*row)
            _write(writer, backup)

        backup["items"] += len(rows)
        backup["size_bytes"] += sum(size for _, _, size in rows)
        backup["taken_until"] = extended_lease()
        if is_last:
            backup["status"] = "AVAILABLE"
        storage.write(work)


def create_system_backup(context: EngineContext, writer: StorageWriter, table: TableBody) -> None:
    """Keep the rows of a table that is being deleted, as the service does where it can.

    The backup takes over the table's row set without copying it, so this takes no time.
    """
    now = context.clock()
    rows = build_table(table).rows
    items, size_bytes, _ = writer.count_rows(rows)
    backup = BackupBody(
        id=take_id(context, writer, BACKUP_RECORD, now),
        name=f"{table['name']}$DeletedTableBackup",
        type="SYSTEM",
        status="AVAILABLE",
        created_at=now,
        expires_at=now + SYSTEM_BACKUP_DAYS * DAY_SECONDS,
        table=table,
        rows=from_rows(rows),
        items=items,
        size_bytes=size_bytes,
        taken_until=0.0,
    )
    _write(writer, backup)


def _write(writer: StorageWriter, backup: BackupBody) -> None:
    writer.set_record(BACKUP_RECORD, backup["id"], orjson.dumps(backup))


def to_backup_table(backup: BackupBody) -> EngineTable:
    """Return a table over the rows of a backup, for reading them.

    A copy has no index columns; the rows of a deleted table still have theirs.
    """
    table = build_table(backup["table"])
    rows = to_rows(backup["rows"])
    encoders = table.encoders if rows.columns else ()
    return replace(table, rows=rows, encoders=encoders)


def list_backups(reader: StorageReader) -> list[BackupBody]:
    """Return every readable backup, in order of creation, including those being created."""
    backups: list[BackupBody] = []
    for id_, record in reader.list_records(BACKUP_RECORD):
        # `verify` reports damaged records; the others stay usable.
        with suppress(Unreadable):
            backups.append(parse_backup(id_, record))
    return backups


def parse_backup(id_: str, record: bytes) -> BackupBody:
    """Return a backup from its record. Raises Unreadable."""
    return cast(BackupBody, parse_record(BACKUP_RECORD, id_, record, _REQUIRED_FIELDS))


def require_backup(reader: StorageReader, arn: str) -> BackupBody:
    """Return the backup that an ARN names. Raises BackupNotFoundException."""
    named = read_arn(arn, "backup")
    record = None if named is None else reader.get_record(BACKUP_RECORD, named[1])
    if record is not None and named is not None:
        backup = parse_backup(named[1], record)
        if backup["table"]["name"] == named[0]:
            return backup
    raise BackupNotFoundException(f"Backup not found: {arn}")


def require_available(backup: BackupBody) -> BackupBody:
    """Return the backup. Raises BackupInUseException while it is being created."""
    if backup["status"] != "AVAILABLE":
        raise BackupInUseException(_IN_USE)
    return backup


def require_idle_backup(reader: StorageReader, arn: str) -> BackupBody:
    """Return a backup that is neither being created nor restored.

    Raises BackupNotFoundException or BackupInUseException.
    """
    backup = require_available(require_backup(reader, arn))
    if is_being_restored(reader, backup["rows"]):
        raise BackupInUseException(_IN_USE)
    return backup


def drop_backup(writer: StorageWriter, backup: BackupBody) -> None:
    """Delete a backup and its rows, unless another process did."""
    if writer.get_record(BACKUP_RECORD, backup["id"]) is not None:
        writer.drop_rows(to_rows(backup["rows"]))
        writer.set_record(BACKUP_RECORD, backup["id"], None)


def find_stale_backups(storage: Storage, now: float) -> list[BackupBody]:
    """Return unfinished backups whose process died, and expired backups."""

    def is_stale(backup: BackupBody) -> bool:
        if backup["status"] == "CREATING":
            return has_expired(backup["taken_until"])
        return backup.get("expires_at", now + 1) <= now

    return [each for each in storage.read(list_backups) if is_stale(each)]


def drop_stale_backups(storage: Storage, now: float) -> None:
    """Delete backups that killed processes left unfinished, and expired system backups."""
    for backup in find_stale_backups(storage, now):

        def work(writer: StorageWriter) -> None:
            # A restore in progress still reads the rows.
            if not is_being_restored(writer, backup["rows"]):  # noqa: B023 - run at once
                drop_backup(writer, backup)  # noqa: B023 - run at once

        storage.write(work)


def backup_arn(context: EngineContext, backup: BackupBody) -> str:
    """Return a backup's ARN."""
    return part_arn(context.table_arn(backup["table"]["name"]), "backup", backup["id"])


def to_backup_details(context: EngineContext, backup: BackupBody) -> dict[str, Any]:
    """Return the BackupDetails of the API."""
    details: dict[str, Any] = {
        "BackupArn": backup_arn(context, backup),
        "BackupName": backup["name"],
        "BackupSizeBytes": backup["size_bytes"],
        "BackupStatus": backup["status"],
        "BackupType": backup["type"],
        "BackupCreationDateTime": backup["created_at"],
    }
    if "expires_at" in backup:
        details["BackupExpiryDateTime"] = backup["expires_at"]
    return details


def to_backup_summary(context: EngineContext, backup: BackupBody) -> dict[str, Any]:
    """Return the BackupSummary of the API."""
    table = backup["table"]
    return {
        "TableName": table["name"],
        "TableId": table["id"],
        "TableArn": context.table_arn(table["name"]),
        **to_backup_details(context, backup),
    }


def to_backup_description(context: EngineContext, backup: BackupBody) -> dict[str, Any]:
    """Return the BackupDescription of the API."""
    table = backup["table"]
    units = ("ReadCapacityUnits", "WriteCapacityUnits")
    source: dict[str, Any] = {
        "TableName": table["name"],
        "TableId": table["id"],
        "TableArn": context.table_arn(table["name"]),
        "TableSizeBytes": backup["size_bytes"],
        "KeySchema": table["key"],
        "TableCreationDateTime": table["created_at"],
        "ProvisionedThroughput": {unit: table["throughput"][unit] for unit in units},
        "ItemCount": backup["items"],
        "BillingMode": table["billing_mode"],
    }
    if "OnDemandThroughput" in table["settings"]:
        source["OnDemandThroughput"] = table["settings"]["OnDemandThroughput"]
    return {
        "BackupDetails": to_backup_details(context, backup),
        "SourceTableDetails": source,
        "SourceTableFeatureDetails": _describe_features(table),
    }


def _describe_features(table: TableBody) -> dict[str, Any]:
    features: dict[str, Any] = {}
    for heading, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
        indexes: list[dict[str, Any]] = []
        for index in table["indexes"]:
            if index["is_global"] is not is_global:
                continue
            described: dict[str, Any] = {
                "IndexName": index["name"],
                "KeySchema": index["key"],
                "Projection": index["projection"],
            }
            if "throughput" in index:
                described["ProvisionedThroughput"] = index["throughput"]
            if "on_demand" in index:
                described["OnDemandThroughput"] = index["on_demand"]
            indexes.append(described)
        if indexes:
            features[heading] = indexes
    if table.get("vectors"):
        features["VectorIndexes"] = [
            to_vector_definition(each) for each in table.get("vectors", [])
        ]
    settings = table["settings"]
    if "stream" in table:
        view = table["stream"]["view"]
        features["StreamDescription"] = {"StreamEnabled": True, "StreamViewType": view}
    if "ttl" in table:
        attribute = table["ttl"]["attribute"]
        features["TimeToLiveDescription"] = {
            "TimeToLiveStatus": "ENABLED",
            "AttributeName": attribute,
        }
    if "SSEDescription" in settings:
        features["SSEDescription"] = settings["SSEDescription"]
    return features
