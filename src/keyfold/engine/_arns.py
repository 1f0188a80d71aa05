"""ARNs of what is made from tables, or done to them: backups, exports, imports and the like."""

from __future__ import annotations

import re
import zlib
from typing import Literal

from keyfold.engine._context import EngineContext
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
    """Return the table and the id that an ARN names; None for something else's."""
    found = _ARN.fullmatch(arn)
    if found is None or found["part"] != part:
        return None
    return found["table"], found["id"]


def take_id(services: EngineContext, reader: StorageReader, record: str, now: float) -> str:
    """Return an id that no record of this kind has: milliseconds and eight digits.

    Ids sort as the moments at which they were taken.
    """
    digits = zlib.crc32(services.new_id().encode())
    while True:
        id_ = f"{int(now * 1_000):014d}-{digits:08x}"
        if reader.get_record(record, id_) is None:
            return id_
        digits = (digits + 1) % (1 << 32)
