"""ARNs of backups, bulk operations, exports and imports."""

from __future__ import annotations

import re
import zlib
from typing import Literal

from keyfold.engine.context import EngineContext
from keyfold.engine.storage import StorageReader

Part = Literal["backup", "bulk-operation", "export", "import"]

_ARN = re.compile(
    r"arn:[a-z0-9-]+:dynamodb:[a-z0-9-]*:[0-9]*:"
    r"table/(?P<table>[a-zA-Z0-9_.-]{3,255})/(?P<part>backup|bulk-operation|export|import)/"
    r"(?P<id>[0-9]{14}-[0-9a-f]{8})"
)


def part_arn(table_arn: str, part: Part, id_: str) -> str:
    """Return the ARN of a backup, a bulk operation, an export or an import."""
    return f"{table_arn}/{part}/{id_}"


def read_arn(arn: str, part: Part) -> tuple[str, str] | None:
    """Return the table name and the id in an ARN; None if it is not the ARN of a `part`."""
    found = _ARN.fullmatch(arn)
    if found is None or found["part"] != part:
        return None
    return found["table"], found["id"]


def take_id(context: EngineContext, reader: StorageReader, record: str, now: float) -> str:
    """Return an id unused by records of this kind: the time in milliseconds and 8 hex digits.

    Ids sort by creation time.
    """
    digits = zlib.crc32(context.new_id().encode())
    while True:
        id_ = f"{int(now * 1_000):014d}-{digits:08x}"
        if reader.get_record(record, id_) is None:
            return id_
        digits = (digits + 1) % (1 << 32)
