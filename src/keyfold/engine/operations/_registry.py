"""Operations by the names that clients use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyfold.engine._responses import Rendering
from keyfold.engine._services import Services
from keyfold.engine.operations.batch_get_item import batch_get_item
from keyfold.engine.operations.batch_write_item import batch_write_item
from keyfold.engine.operations.create_global_table import create_global_table
from keyfold.engine.operations.create_table import create_table
from keyfold.engine.operations.delete_item import delete_item
from keyfold.engine.operations.delete_resource_policy import delete_resource_policy
from keyfold.engine.operations.delete_table import delete_table
from keyfold.engine.operations.describe_contributor_insights import describe_contributor_insights
from keyfold.engine.operations.describe_endpoints import describe_endpoints
from keyfold.engine.operations.describe_global_table import describe_global_table
from keyfold.engine.operations.describe_global_table_settings import describe_global_table_settings
from keyfold.engine.operations.describe_kinesis_streaming_destination import (
    describe_kinesis_streaming_destination,
)
from keyfold.engine.operations.describe_limits import describe_limits
from keyfold.engine.operations.describe_table import describe_table
from keyfold.engine.operations.describe_table_replica_auto_scaling import (
    describe_table_replica_auto_scaling,
)
from keyfold.engine.operations.describe_time_to_live import describe_time_to_live
from keyfold.engine.operations.disable_kinesis_streaming_destination import (
    disable_kinesis_streaming_destination,
)
from keyfold.engine.operations.enable_kinesis_streaming_destination import (
    enable_kinesis_streaming_destination,
)
from keyfold.engine.operations.get_item import get_item, get_item_plainly
from keyfold.engine.operations.get_resource_policy import get_resource_policy
from keyfold.engine.operations.list_contributor_insights import list_contributor_insights
from keyfold.engine.operations.list_global_tables import list_global_tables
from keyfold.engine.operations.list_tables import list_tables
from keyfold.engine.operations.list_tags_of_resource import list_tags_of_resource
from keyfold.engine.operations.put_item import put_item, put_item_plainly
from keyfold.engine.operations.put_resource_policy import put_resource_policy
from keyfold.engine.operations.query import query, query_plainly
from keyfold.engine.operations.scan import scan
from keyfold.engine.operations.search_vectors import search_vectors
from keyfold.engine.operations.tag_resource import tag_resource
from keyfold.engine.operations.transact_get_items import transact_get_items
from keyfold.engine.operations.transact_write_items import transact_write_items
from keyfold.engine.operations.untag_resource import untag_resource
from keyfold.engine.operations.update_contributor_insights import update_contributor_insights
from keyfold.engine.operations.update_global_table import update_global_table
from keyfold.engine.operations.update_global_table_settings import update_global_table_settings
from keyfold.engine.operations.update_item import update_item
from keyfold.engine.operations.update_kinesis_streaming_destination import (
    update_kinesis_streaming_destination,
)
from keyfold.engine.operations.update_table import update_table
from keyfold.engine.operations.update_table_replica_auto_scaling import (
    update_table_replica_auto_scaling,
)
from keyfold.engine.operations.update_time_to_live import update_time_to_live

Operation = Callable[[Services, dict[str, Any], Rendering], dict[str, Any]]

OPERATIONS: dict[str, Operation] = {
    "BatchGetItem": batch_get_item,
    "BatchWriteItem": batch_write_item,
    "CreateGlobalTable": create_global_table,
    "CreateTable": create_table,
    "DeleteItem": delete_item,
    "DeleteResourcePolicy": delete_resource_policy,
    "DeleteTable": delete_table,
    "DescribeContributorInsights": describe_contributor_insights,
    "DescribeEndpoints": describe_endpoints,
    "DescribeGlobalTable": describe_global_table,
    "DescribeGlobalTableSettings": describe_global_table_settings,
    "DescribeKinesisStreamingDestination": describe_kinesis_streaming_destination,
    "DescribeLimits": describe_limits,
    "DescribeTable": describe_table,
    "DescribeTableReplicaAutoScaling": describe_table_replica_auto_scaling,
    "DescribeTimeToLive": describe_time_to_live,
    "DisableKinesisStreamingDestination": disable_kinesis_streaming_destination,
    "EnableKinesisStreamingDestination": enable_kinesis_streaming_destination,
    "GetItem": get_item,
    "GetResourcePolicy": get_resource_policy,
    "ListContributorInsights": list_contributor_insights,
    "ListGlobalTables": list_global_tables,
    "ListTables": list_tables,
    "ListTagsOfResource": list_tags_of_resource,
    "PutItem": put_item,
    "PutResourcePolicy": put_resource_policy,
    "Query": query,
    "Scan": scan,
    "SearchVectors": search_vectors,
    "TagResource": tag_resource,
    "TransactGetItems": transact_get_items,
    "TransactWriteItems": transact_write_items,
    "UntagResource": untag_resource,
    "UpdateContributorInsights": update_contributor_insights,
    "UpdateGlobalTable": update_global_table,
    "UpdateGlobalTableSettings": update_global_table_settings,
    "UpdateItem": update_item,
    "UpdateKinesisStreamingDestination": update_kinesis_streaming_destination,
    "UpdateTable": update_table,
    "UpdateTableReplicaAutoScaling": update_table_replica_auto_scaling,
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
