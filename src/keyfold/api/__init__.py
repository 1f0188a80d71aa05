"""What DynamoDB's API is, as data: its operations, and the shapes of their requests.

`operations` has one row for each operation, with every fact about it that anything else in
Keyfold needs. `shapes` checks a request against the API's model. Both know nothing of tables
or items: the engine, the server, the client, policies and `keyfold.testing` stand on them.
"""

from __future__ import annotations

from keyfold.api.operations import (
    EXPRESSION_PARAMETERS,
    MEMBERS,
    OPERATIONS,
    WRITE_MEMBERS,
    ExpressionParameters,
    Grant,
    Member,
    Operation,
    find_operation,
    names_where,
)

__all__ = [
    "EXPRESSION_PARAMETERS",
    "MEMBERS",
    "OPERATIONS",
    "WRITE_MEMBERS",
    "ExpressionParameters",
    "Grant",
    "Member",
    "Operation",
    "find_operation",
    "names_where",
]
