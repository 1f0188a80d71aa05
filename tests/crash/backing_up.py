"""A process that backs up, restores, exports and imports until it is killed.

    python -m tests.crash.backing_up FILE BUCKETS RUN

It says a line for each commit, so that whoever listens can kill it in the middle of anything,
and one for each thing that was acknowledged. Another thread of it writes pairs of items that
are equal at every moment.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from keyfold.engine import Engine

TABLE = "Pairs"
ITEMS = 500
PAIRS = 4
BUCKET = "orders"
ARN = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"

DEFINITION: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-n",
            "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def prepare(path: Path, buckets: Path) -> None:
    """Make the table, and the files to import."""
    (buckets / BUCKET / "source").mkdir(parents=True)
    items = [{"pk": {"S": f"item-{number}"}, "n": {"N": str(number)}} for number in range(ITEMS)]
    text = "".join(json.dumps({"Item": item}) + "\n" for item in items)
    (buckets / BUCKET / "source" / "items.json").write_text(text)
    with Engine.open(path, durability="process", upkeep_seconds=None) as engine:
        engine.execute("CreateTable", {"TableName": TABLE, **DEFINITION})
        recovery = {"PointInTimeRecoveryEnabled": True}
        engine.execute(
            "UpdateContinuousBackups",
            {"TableName": TABLE, "PointInTimeRecoverySpecification": recovery},
        )
        for start in range(0, ITEMS, 25):
            puts = [{"PutRequest": {"Item": item}} for item in items[start : start + 25]]
            engine.execute("BatchWriteItem", {"RequestItems": {TABLE: puts}})


def write_pairs(engine: Engine) -> None:
    for number in count():
        pair = number % PAIRS
        writes = [
            {
                "Put": {
                    "TableName": TABLE,
                    "Item": {"pk": {"S": f"{side}-{pair}"}, "n": {"N": str(number)}},
                }
            }
            for side in ("left", "right")
        ]
        engine.execute("TransactWriteItems", {"TransactItems": writes})


def work_through(engine: Engine, run: str) -> None:
    for number in count():
        name = f"{run}-{number}"
        backup = engine.execute("CreateBackup", {"TableName": TABLE, "BackupName": f"b{name}"})
        arn = backup["BackupDetails"]["BackupArn"]
        say("backup", arn)
        restore = {"BackupArn": arn, "TargetTableName": f"Restored-{name}"}
        engine.execute("RestoreTableFromBackup", restore)
        say("table", f"Restored-{name}")
        rewind = {"SourceTableName": TABLE, "TargetTableName": f"Rewound-{name}"}
        engine.execute("RestoreTableToPointInTime", {**rewind, "UseLatestRestorableTime": True})
        say("table", f"Rewound-{name}")
        export = {"TableArn": ARN, "S3Bucket": BUCKET, "S3Prefix": "exports"}
        begun = engine.execute("ExportTableToPointInTime", export)
        say("export", begun["ExportDescription"]["ExportArn"])
        source = {
            "S3BucketSource": {"S3Bucket": BUCKET, "S3KeyPrefix": "source/"},
            "InputFormat": "DYNAMODB_JSON",
            "TableCreationParameters": {"TableName": f"Imported-{name}", **DEFINITION},
        }
        engine.execute("ImportTable", source)
        say("table", f"Imported-{name}")


def say(kind: str, name: str = "") -> None:
    os.write(1, f"{kind} {name}\n".encode())


def tell_commits(engine: Engine) -> None:
    """Say a line after each commit, but for those of the pairs."""
    storage = engine._storage
    write = storage.write

    def write_and_tell(work: Callable[[Any], Any]) -> Any:
        result = write(work)
        if threading.current_thread() is threading.main_thread():
            say("commit")
        return result

    storage.write = write_and_tell


def main() -> None:
    path, buckets, run = sys.argv[1:]
    with Engine.open(path, durability="process", upkeep_seconds=None, buckets=buckets) as engine:
        threading.Thread(target=write_pairs, args=(engine,), daemon=True).start()
        tell_commits(engine)
        work_through(engine, run)


if __name__ == "__main__":
    main()
