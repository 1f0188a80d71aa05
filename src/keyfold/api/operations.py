"""The operations of DynamoDB's API: one row for each, with all facts that other packages need.

To add an operation, add its row here and its module in `engine/operations`. To get a set of
operations, select it by a column: `names_where(lambda each: each.is_metered)`.
`tests/unit/api/test_operations.py` compares the rows with the API's published model, and with all
code that handles operations by name.

The rows are named tuples: a frozen dataclass takes seven times as long to define, which would slow
down every program that imports a client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

Effect = Literal["read", "write", "statements"]
"""Whether an operation changes anything; `statements` does if one of them is not a SELECT."""

Subject = Literal[
    "account",
    "backups",
    "bulk operations",
    "global tables",
    "insights",
    "items",
    "kinesis",
    "policies",
    "streams",
    "tables",
    "tags",
]
"""What an operation reads or changes."""

Grant = Literal["rights", "shows items", "moves items", "harmless", "administration"]
"""What a role needs in order to call an operation.

- `rights`: the rights for each of its accesses; it is never granted by name.
- `shows items`: a grant by name, and the right to read everything, because it shows items of any
  partition.
- `moves items`: a grant by name, and all rights, because it reads or writes items of any
  partition, or decides who may.
- `harmless`: a grant by name; it reveals nothing about items, not even their number.
- `administration`: a grant by name; it creates, changes, removes or describes tables.
"""

Run = Literal["inline", "group commit", "thread"]
"""How an event loop runs an operation on an engine.

- `inline`: on the loop itself; a read of a few items takes microseconds.
- `group commit`: writes of a few items that are waiting at the same time share a commit.
- `thread`: in a thread, because it may take longer.
"""

Repeatable = Literal["yes", "no", "by request"]
"""Whether an operation is idempotent: running it twice has the same effect as running it once."""

Validation = Literal["former", "current", "enveloped"]
"""Which of DynamoDB's two validations finds the faults of requests.

- `former`: the one that all operations had until June 2026.
- `current`: the one that replaces it, operation by operation. Some of its texts differ.
- `enveloped`: the same, with `1 validation error detected: ` before each text.
"""


class ExpressionParameters(NamedTuple):
    """The expression parameters of an operation, in the order in which the service lists them."""

    legacy: tuple[str, ...] = ()
    """The legacy parameters that expressions replace."""
    expressions: tuple[str, ...] = ()
    with_values: tuple[str, ...] = ()
    """The expressions that can use values, in the order of the error for unneeded values."""


_CONDITION = ExpressionParameters(
    ("Expected", "ConditionalOperator"), ("ConditionExpression",), ("ConditionExpression",)
)
_UPDATE = ExpressionParameters(
    ("AttributeUpdates", "Expected", "ConditionalOperator"),
    ("UpdateExpression", "ConditionExpression"),
    ("UpdateExpression", "ConditionExpression"),
)
_PROJECTION = ExpressionParameters(("AttributesToGet",), ("ProjectionExpression",))
_QUERY = ExpressionParameters(
    ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
    ("FilterExpression", "KeyConditionExpression"),
)
_SCAN = ExpressionParameters(
    ("AttributesToGet", "ScanFilter", "ConditionalOperator"),
    ("ProjectionExpression", "FilterExpression"),
    ("FilterExpression",),
)
_SEARCH = ExpressionParameters(
    (),
    ("ProjectionExpression", "SearchConditionExpression"),
    ("SearchConditionExpression",),
)
_NONE = ExpressionParameters()

_PARTIQL = ("PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate")


class Operation(NamedTuple):
    """One operation of the API."""

    name: str
    subject: Subject
    effect: Effect
    grant: Grant = "administration"
    run: Run = "thread"
    repeatable: Repeatable = "no"
    resources: tuple[str, ...] = ("TableName",)
    """The parameters with the names or ARNs of the tables that a request refers to."""
    actions: tuple[str, ...] = ()
    """The IAM actions of its accesses; empty if the only action is the operation's name."""
    is_metered: bool = False
    """Whether it consumes capacity, and reports it on request."""
    is_transaction: bool = False
    """Whether its members are written atomically, or read at one instant."""
    takes_token: bool = False
    """Whether a ClientRequestToken makes it idempotent."""
    takes_consistency: bool = False
    """Whether it is eventually consistent unless ConsistentRead is set."""
    item: Literal["Item", "Key", ""] = ""
    """The parameter that holds the item or key, if there is one."""
    members: str = ""
    """The parameter that holds its members: those of a batch, a transaction, or statements."""
    unprocessed: str = ""
    """The response field with the members that were not processed."""
    listed: str = ""
    """The response field with the list of tables, or of resources that belong to tables."""
    parameters: ExpressionParameters = _NONE
    is_stream: bool = False
    """Whether it belongs to DynamoDB Streams, which has its own service name and endpoints."""
    creates_from_data: bool = False
    """Whether it creates a table from data that is not in any request."""
    has_body: bool = True
    """Whether the response has a body, which may be an empty object."""
    validation: Validation = "former"
    """Which validation finds the faults of a request that do not depend on a table."""

    @property
    def target(self) -> str:
        """The value of the X-Amz-Target header."""
        service = "DynamoDBStreams_20120810" if self.is_stream else "DynamoDB_20120810"
        return f"{service}.{self.name}"

    @property
    def iam_actions(self) -> tuple[str, ...]:
        """The IAM actions that a request may need, without the `dynamodb:` prefix."""
        return self.actions or (self.name,)

    @property
    def is_read(self) -> bool:
        """Whether it never changes anything."""
        return self.effect == "read"

    @property
    def has_statements(self) -> bool:
        """Whether it runs PartiQL statements."""
        return self.effect == "statements"

    @property
    def returns_items(self) -> bool:
        """Whether its response has attribute values: items, parts of them, or images."""
        return self.subject == "items" or self.name == "GetRecords"

    @property
    def is_batch(self) -> bool:
        """Whether its members are processed one by one, and some may be left unprocessed."""
        return self.unprocessed != ""


_ROWS = (
    # Items.
    Operation(
        "BatchGetItem",
        "items",
        "read",
        "rights",
        resources=("RequestItems",),
        is_metered=True,
        takes_consistency=True,
        members="RequestItems",
        unprocessed="UnprocessedKeys",
        parameters=_PROJECTION,
        validation="current",
    ),
    Operation(
        "BatchWriteItem",
        "items",
        "write",
        "rights",
        "group commit",
        repeatable="yes",
        resources=("RequestItems",),
        is_metered=True,
        members="RequestItems",
        unprocessed="UnprocessedItems",
    ),
    Operation(
        "DeleteItem",
        "items",
        "write",
        "rights",
        "group commit",
        repeatable="yes",
        is_metered=True,
        item="Key",
        parameters=_CONDITION,
        validation="enveloped",
    ),
    Operation(
        "GetItem",
        "items",
        "read",
        "rights",
        "inline",
        is_metered=True,
        takes_consistency=True,
        item="Key",
        parameters=_PROJECTION,
        validation="current",
    ),
    Operation(
        "PutItem",
        "items",
        "write",
        "rights",
        "group commit",
        repeatable="yes",
        is_metered=True,
        item="Item",
        parameters=_CONDITION,
        validation="enveloped",
    ),
    Operation(
        "Query",
        "items",
        "read",
        "rights",
        "inline",
        is_metered=True,
        takes_consistency=True,
        parameters=_QUERY,
        validation="current",
    ),
    Operation(
        "Scan",
        "items",
        "read",
        "rights",
        is_metered=True,
        takes_consistency=True,
        parameters=_SCAN,
    ),
    Operation("SearchVectors", "items", "read", "rights", is_metered=True, parameters=_SEARCH),
    Operation(
        "TransactGetItems",
        "items",
        "read",
        "rights",
        "inline",
        resources=("TransactItems",),
        actions=("GetItem",),
        is_metered=True,
        is_transaction=True,
        members="TransactItems",
    ),
    Operation(
        "TransactWriteItems",
        "items",
        "write",
        "rights",
        "group commit",
        repeatable="yes",
        resources=("TransactItems",),
        actions=("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem"),
        is_metered=True,
        is_transaction=True,
        takes_token=True,
        members="TransactItems",
    ),
    Operation(
        "UpdateItem",
        "items",
        "write",
        "rights",
        "group commit",
        repeatable="by request",
        is_metered=True,
        item="Key",
        parameters=_UPDATE,
        validation="enveloped",
    ),
    # PartiQL.
    Operation(
        "BatchExecuteStatement",
        "items",
        "statements",
        "moves items",
        resources=("Statements",),
        actions=_PARTIQL,
        is_metered=True,
        members="Statements",
    ),
    Operation(
        "ExecuteStatement",
        "items",
        "statements",
        "moves items",
        repeatable="by request",
        resources=("Statement",),
        actions=_PARTIQL,
        is_metered=True,
    ),
    Operation(
        "ExecuteTransaction",
        "items",
        "statements",
        "moves items",
        repeatable="yes",
        resources=("TransactStatements",),
        actions=_PARTIQL,
        is_metered=True,
        is_transaction=True,
        takes_token=True,
        members="TransactStatements",
    ),
    # Tables.
    Operation(
        "CreateTable",
        "tables",
        "write",
        repeatable="yes",
        resources=("TableName", "GlobalTableSourceArn"),
    ),
    Operation("DeleteTable", "tables", "write", repeatable="yes"),
    Operation("DescribeTable", "tables", "read"),
    Operation("DescribeTimeToLive", "tables", "read", "harmless"),
    Operation("ListTables", "tables", "read", resources=(), listed="TableNames"),
    Operation("UpdateTable", "tables", "write"),
    Operation("UpdateTimeToLive", "tables", "write"),
    Operation("ListTagsOfResource", "tags", "read", "harmless", resources=("ResourceArn",)),
    Operation(
        "TagResource",
        "tags",
        "write",
        repeatable="yes",
        resources=("ResourceArn",),
        has_body=False,
    ),
    Operation(
        "UntagResource",
        "tags",
        "write",
        repeatable="yes",
        resources=("ResourceArn",),
        has_body=False,
    ),
    Operation(
        "DeleteResourcePolicy", "policies", "write", "moves items", resources=("ResourceArn",)
    ),
    Operation("GetResourcePolicy", "policies", "read", resources=("ResourceArn",)),
    Operation("PutResourcePolicy", "policies", "write", "moves items", resources=("ResourceArn",)),
    Operation("DescribeEndpoints", "account", "read", "harmless", resources=()),
    Operation("DescribeLimits", "account", "read", "harmless", resources=()),
    # Streams.
    Operation(
        "DescribeStream",
        "streams",
        "read",
        "shows items",
        resources=("StreamArn",),
        is_stream=True,
    ),
    Operation(
        "GetRecords",
        "streams",
        "read",
        "shows items",
        # An iterator starts with the ARN of its stream.
        resources=("ShardIterator",),
        is_stream=True,
    ),
    Operation(
        "GetShardIterator",
        "streams",
        "read",
        "shows items",
        resources=("StreamArn",),
        is_stream=True,
    ),
    Operation("ListStreams", "streams", "read", "shows items", listed="Streams", is_stream=True),
    # Kinesis. The StreamArn of these is that of a Kinesis stream, to which no access is checked.
    Operation("DescribeKinesisStreamingDestination", "kinesis", "read"),
    Operation("DisableKinesisStreamingDestination", "kinesis", "write", "shows items"),
    Operation("EnableKinesisStreamingDestination", "kinesis", "write", "shows items"),
    Operation("UpdateKinesisStreamingDestination", "kinesis", "write", "shows items"),
    # Backups, exports and imports.
    Operation("CreateBackup", "backups", "write", "moves items"),
    Operation("DeleteBackup", "backups", "write", resources=("BackupArn",)),
    Operation("DescribeBackup", "backups", "read", resources=("BackupArn",)),
    Operation("DescribeContinuousBackups", "backups", "read"),
    Operation("DescribeExport", "backups", "read", resources=("ExportArn",)),
    Operation("DescribeImport", "backups", "read", resources=("ImportArn",)),
    Operation(
        "ExportTableToPointInTime", "backups", "write", "moves items", resources=("TableArn",)
    ),
    Operation(
        "ImportTable",
        "backups",
        "write",
        "moves items",
        resources=("TableCreationParameters.TableName",),
        creates_from_data=True,
    ),
    Operation("ListBackups", "backups", "read", listed="BackupSummaries"),
    Operation("ListExports", "backups", "read", resources=("TableArn",), listed="ExportSummaries"),
    Operation(
        "ListImports", "backups", "read", resources=("TableArn",), listed="ImportSummaryList"
    ),
    Operation(
        "RestoreTableFromBackup",
        "backups",
        "write",
        "moves items",
        resources=("BackupArn", "TargetTableName"),
        creates_from_data=True,
    ),
    Operation(
        "RestoreTableToPointInTime",
        "backups",
        "write",
        "moves items",
        resources=("SourceTableName", "SourceTableArn", "TargetTableName"),
        creates_from_data=True,
    ),
    Operation("UpdateContinuousBackups", "backups", "write"),
    # Bulk operations.
    Operation("CancelBulkOperation", "bulk operations", "write", resources=("BulkOperationArn",)),
    Operation("DescribeBulkOperation", "bulk operations", "read", resources=("BulkOperationArn",)),
    Operation(
        "ListBulkOperations",
        "bulk operations",
        "read",
        resources=(),
        listed="BulkOperationsSummaryList",
    ),
    Operation("StartBulkPutItems", "bulk operations", "write", "moves items"),
    # Contributor insights.
    Operation("DescribeContributorInsights", "insights", "read"),
    Operation("ListContributorInsights", "insights", "read", listed="ContributorInsightsSummaries"),
    Operation("UpdateContributorInsights", "insights", "write"),
    # Global tables and auto scaling.
    Operation(
        "CreateGlobalTable",
        "global tables",
        "write",
        "moves items",
        resources=("GlobalTableName",),
    ),
    Operation("DescribeGlobalTable", "global tables", "read", resources=("GlobalTableName",)),
    Operation(
        "DescribeGlobalTableSettings", "global tables", "read", resources=("GlobalTableName",)
    ),
    Operation("DescribeTableReplicaAutoScaling", "global tables", "read"),
    Operation("ListGlobalTables", "global tables", "read", resources=(), listed="GlobalTables"),
    Operation(
        "UpdateGlobalTable",
        "global tables",
        "write",
        "moves items",
        resources=("GlobalTableName",),
    ),
    Operation(
        "UpdateGlobalTableSettings", "global tables", "write", resources=("GlobalTableName",)
    ),
    Operation("UpdateTableReplicaAutoScaling", "global tables", "write"),
)

OPERATIONS: Mapping[str, Operation] = {row.name: row for row in sorted(_ROWS)}
"""Every operation, by its name."""


class TransactionMember(NamedTuple):
    """One kind of member of a transaction, such as `Put`."""

    name: str
    action: str
    """The IAM action that it requires."""
    item: Literal["Item", "Key"]
    """The parameter that holds its item or key."""
    parameters: ExpressionParameters


MEMBERS: Mapping[str, TransactionMember] = {
    member.name: member
    for member in (
        TransactionMember("ConditionCheck", "ConditionCheckItem", "Key", _CONDITION),
        TransactionMember("Put", "PutItem", "Item", _CONDITION),
        TransactionMember("Delete", "DeleteItem", "Key", _CONDITION),
        TransactionMember("Update", "UpdateItem", "Key", _UPDATE),
        TransactionMember("Get", "GetItem", "Key", _PROJECTION),
    )
}
"""The members of TransactGetItems and TransactWriteItems, by their names."""

WRITE_MEMBERS: Mapping[str, TransactionMember] = {
    name: member for name, member in MEMBERS.items() if name != "Get"
}
"""The members of TransactWriteItems, by their names."""

EXPRESSION_PARAMETERS: Mapping[str, ExpressionParameters] = {
    **{name: row.parameters for name, row in OPERATIONS.items()},
    **{name: member.parameters for name, member in MEMBERS.items()},
}
"""The expression parameters of each operation, and of each kind of transaction member."""


def names_where(holds: Callable[[Operation], bool]) -> frozenset[str]:
    """Return the names of the operations whose rows satisfy a condition.

    >>> sorted(names_where(lambda each: each.takes_token))
    ['ExecuteTransaction', 'TransactWriteItems']
    """
    return frozenset(name for name, row in OPERATIONS.items() if holds(row))


@lru_cache(maxsize=256)
def find_operation(name: str) -> Operation:
    """Return the row of an operation; for an unknown operation, a row with safe assumptions.

    A client may call operations that are newer than this table. Operations named `Describe…`,
    `Get…` or `List…` are assumed to be reads.
    """
    known = OPERATIONS.get(name)
    if known is not None:
        return known
    is_read = name.startswith(("Describe", "Get", "List"))
    return Operation(name, "tables", "read" if is_read else "write")
