"""Checking a log of changes: against itself, and against the rows that it tells of."""

from __future__ import annotations

from hashlib import blake2b

import orjson

from keyfold.engine._catalog import read_body
from keyfold.engine._changes import LogBody, read_log
from keyfold.engine._tables import EngineTable, build_table
from keyfold.engine.storage import RowChange, StorageReader

_BATCH_CHANGES = 1_000
_BATCH_BYTES = 1 << 24
_DIGEST_BYTES = 16


def find_log_faults(name: str, reader: StorageReader) -> list[str]:
    """Return what does not hold of a log, all as of one moment.

    Numbers follow each other and times do not go back. What a change found is what the one
    before had left. While the log is open, what the last one left is what the row holds.
    """
    log = read_log(reader, int(name))
    table = None if "closed_at" in log else _table_of(reader, log)
    if table is None and "closed_at" not in log:
        return [f"is open, and table {log['table']} does not use it"]
    facts: list[str] = []
    # The newest image of every row that the log tells of, by its digest: images may be long.
    newest: dict[bytes, bytes] = {}
    after, last = reader.log_span(log["number"])
    moment = float("-inf")
    while after < last:
        batch = reader.read_changes(
            log["number"], after=after, limit=_BATCH_CHANGES, max_bytes=_BATCH_BYTES
        )
        if not batch:
            facts.append(f"lacks the changes after {after}")
            break
        for change in batch:
            subject = f"change {change.sequence}"
            if change.sequence != after + 1:
                facts.append(f"{subject} does not follow {after}")
            if change.at < moment:
                facts.append(f"{subject} is older than the one before")
            facts += [f"{subject} {fact}" for fact in _find_faults(table, change)]
            if newest.get(change.key, _digest(change.old)) != _digest(change.old):
                facts.append(f"{subject} found another item than the one before had left")
            newest[change.key] = _digest(change.new)
            after, moment = change.sequence, change.at
    if table is not None:
        for key, digest in newest.items():
            row = reader.get(table.rows, key)
            if _digest(None if row is None else row[0]) != digest:
                facts.append(f"did not leave row {key.hex()} as it is")
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
        facts.append("is an expiry that left an item")
    return facts


def _digest(image: bytes | None) -> bytes:
    return b"" if image is None else blake2b(image, digest_size=_DIGEST_BYTES).digest()
