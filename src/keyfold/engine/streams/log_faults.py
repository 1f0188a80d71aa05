"""Checks of a log of changes: that it is consistent, and that it matches the table's rows."""

from __future__ import annotations

from hashlib import blake2b

import orjson

from keyfold.engine.storage import RowChange, StorageReader
from keyfold.engine.streams.change_log import LogBody, read_log
from keyfold.engine.tables.catalog import read_body
from keyfold.engine.tables.table import EngineTable, build_table

_BATCH_CHANGES = 1_000
_BATCH_BYTES = 1 << 24
_DIGEST_BYTES = 16


def find_log_faults(name: str, reader: StorageReader) -> list[str]:
    """Return the problems of a log, read as of one point in time.

    Sequence numbers must be consecutive and times must not decrease. The old image of a change
    must be the new image of the row's previous change. While the log is open, the new image of a
    row's last change must be the row's value.
    """
    log = read_log(reader, int(name))
    table = None if "closed_at" in log else _table_of(reader, log)
    if table is None and "closed_at" not in log:
        return [f"is open, but table {log['table']} does not use it"]
    facts: list[str] = []
    # The newest image of every row in the log, as a digest: images may be long.
    newest: dict[bytes, bytes] = {}
    after, last = reader.log_span(log["number"])
    previous_at = float("-inf")
    while after < last:
        batch = reader.read_changes(
            log["number"], after=after, limit=_BATCH_CHANGES, max_bytes=_BATCH_BYTES
        )
        if not batch:
            facts.append(f"has no changes after {after}, but should have them until {last}")
            break
        for change in batch:
            subject = f"change {change.sequence}"
            if change.sequence != after + 1:
                facts.append(f"{subject} does not follow {after}")
            if change.at < previous_at:
                facts.append(f"{subject} is older than the previous change")
            facts += [f"{subject} {fact}" for fact in _find_faults(table, change)]
            if newest.get(change.key, _digest(change.old)) != _digest(change.old):
                facts.append(
                    f"{subject} has an old image that differs from the row's previous change"
                )
            newest[change.key] = _digest(change.new)
            after, previous_at = change.sequence, change.at
    if table is not None:
        for key, digest in newest.items():
            row = reader.get(table.rows, key)
            if _digest(None if row is None else row[0]) != digest:
                facts.append(f"its last change of row {key.hex()} does not match the row")
    return facts


def _table_of(reader: StorageReader, log: LogBody) -> EngineTable | None:
    body = read_body(reader, log["table"])
    if body is None or body["id"] != log["table_id"] or body.get("log") != log["number"]:
        return None
    return build_table(body)


def _find_faults(table: EngineTable | None, change: RowChange) -> list[str]:
    facts: list[str] = []
    if change.old == change.new:
        facts.append("changed nothing")
    for image in (change.old, change.new):
        if image is not None:
            item = orjson.loads(image)
            if table is not None and table.encode_key(item) != change.key:
                facts.append("has an image with another key")
    if change.is_expiry and change.new is not None:
        facts.append("is an expiry, but has a new image")
    return facts


def _digest(image: bytes | None) -> bytes:
    return b"" if image is None else blake2b(image, digest_size=_DIGEST_BYTES).digest()
