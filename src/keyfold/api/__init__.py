"""DynamoDB's API as data: its operations, and the shapes of their requests.

`operations` has one row for each operation, with all the facts about it that the rest of Keyfold
needs. `shapes` checks requests against the API's model. Neither knows about tables or items: the
engine, the server, the client, policies and `keyfold.testing` build on them.
"""

from __future__ import annotations

from keyfold.api.key_names import TableKeyNames
from keyfold.api.operations import (
    EXPRESSION_PARAMETERS,
    MEMBERS,
    OPERATIONS,
    WRITE_MEMBERS,
    ExpressionParameters,
    Grant,
    Operation,
    TransactionMember,
    find_operation,
    names_where,
)
from keyfold.api.write_checks import ProposedWrite, WriteCheck

__all__ = [
    "EXPRESSION_PARAMETERS",
    "MEMBERS",
    "OPERATIONS",
    "WRITE_MEMBERS",
    "ExpressionParameters",
    "Grant",
    "Operation",
    "ProposedWrite",
    "TableKeyNames",
    "TransactionMember",
    "WriteCheck",
    "find_operation",
    "names_where",
]
