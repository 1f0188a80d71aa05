"""Operations by the names that clients use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.engine.operations.batch_get_item import batch_get_item
from keyfold.engine.operations.batch_write_item import batch_write_item
from keyfold.engine.operations.create_backup import create_backup
from keyfold.engine.operations.create_table import create_table
from keyfold.engine.operations.delete_backup import delete_backup
from keyfold.engine.operations.delete_item import delete_item
from keyfold.engine.operations.delete_table import delete_table
from keyfold.engine.operations.describe_backup import describe_backup
from keyfold.engine.operations.describe_continuous_backups import describe_continuous_backups
from keyfold.engine.operations.describe_endpoints import describe_endpoints
from keyfold.engine.operations.describe_export import describe_export
from keyfold.engine.operations.describe_import import describe_import
from keyfold.engine.operations.describe_limits import describe_limits
from keyfold.engine.operations.describe_table import describe_table
from keyfold.engine.operations.describe_time_to_live import describe_time_to_live
from keyfold.engine.operations.export_table_to_point_in_time import export_table_to_point_in_time
from keyfold.engine.operations.get_item import get_item, get_item_plainly
from keyfold.engine.operations.import_table import import_table
from keyfold.engine.operations.list_backups import list_backups
from keyfold.engine.operations.list_exports import list_exports
from keyfold.engine.operations.list_imports import list_imports
from keyfold.engine.operations.list_tables import list_tables
from keyfold.engine.operations.list_tags_of_resource import list_tags_of_resource
from keyfold.engine.operations.put_item import put_item, put_item_plainly
from keyfold.engine.operations.query import query, query_plainly
from keyfold.engine.operations.restore_table_from_backup import restore_table_from_backup
from keyfold.engine.operations.restore_table_to_point_in_time import restore_table_to_point_in_time
from keyfold.engine.operations.scan import scan
from keyfold.engine.operations.tag_resource import tag_resource
from keyfold.engine.operations.transact_get_items import transact_get_items
from keyfold.engine.operations.transact_write_items import transact_write_items
from keyfold.engine.operations.untag_resource import untag_resource
from keyfold.engine.operations.update_continuous_backups import update_continuous_backups
from keyfold.engine.operations.update_item import update_item
from keyfold.engine.operations.update_table import update_table
from keyfold.engine.operations.update_time_to_live import update_time_to_live

Operation = Callable[[Services, dict[str, Any], Rendering], dict[str, Any]]

OPERATIONS: dict[str, Operation] = {
    "BatchGetItem": batch_get_item,
    "BatchWriteItem": batch_write_item,
    "CreateBackup": create_backup,
    "CreateTable": create_table,
    "DeleteBackup": delete_backup,
    "DeleteItem": delete_item,
    "DeleteTable": delete_table,
    "DescribeBackup": describe_backup,
    "DescribeContinuousBackups": describe_continuous_backups,
    "DescribeEndpoints": describe_endpoints,
    "DescribeExport": describe_export,
    "DescribeImport": describe_import,
    "DescribeLimits": describe_limits,
    "DescribeTable": describe_table,
    "DescribeTimeToLive": describe_time_to_live,
    "ExportTableToPointInTime": export_table_to_point_in_time,
    "GetItem": get_item,
    "ImportTable": import_table,
    "ListBackups": list_backups,
    "ListExports": list_exports,
    "ListImports": list_imports,
    "ListTables": list_tables,
    "ListTagsOfResource": list_tags_of_resource,
    "PutItem": put_item,
    "Query": query,
    "RestoreTableFromBackup": restore_table_from_backup,
    "RestoreTableToPointInTime": restore_table_to_point_in_time,
    "Scan": scan,
    "TagResource": tag_resource,
    "TransactGetItems": transact_get_items,
    "TransactWriteItems": transact_write_items,
    "UntagResource": untag_resource,
    "UpdateContinuousBackups": update_continuous_backups,
    "UpdateItem": update_item,
    "UpdateTable": update_table,
    "UpdateTimeToLive": update_time_to_live,
}

# Quick roads, tried before a request is even checked. Each answers only what it is sure of, and
# returns None for the rest.
QuickOperation = Callable[[Services, dict[str, Any], Rendering], dict[str, Any] | None]

QUICK_OPERATIONS: dict[str, QuickOperation] = {
    "GetItem": get_item_plainly,
    "PutItem": put_item_plainly,
    "Query": query_plainly,
}
